-- A line of a narrow screen may end after the hyphens of an option, and leave "--" behind: an option in code stays whole.
local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

function Code(code)
  if not FORMAT:match("html") or code.attr ~= pandoc.Attr() or not code.text:match("%-%a") then
    return nil
  end
  local text = (" " .. code.text):gsub("[&<>]", escapes)
  local whole, found = text:gsub("(%s)(%-[%w_-]+)", '%1<span class="es-option">%2</span>')
  if found == 0 then
    return nil
  end
  return pandoc.RawInline("html", "<code>" .. whole:sub(2) .. "</code>")
end
