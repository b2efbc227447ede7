-- What Quarto adds to Pandoc, for the embedded engine. Real Quarto never runs this file.
--
-- Three passes, each bottom-up (Pandoc's own order): number everything that can be referred to, resolve the references,
-- write the blocks. Nothing is walked from the top: a replaced block would be entered again.

local html = FORMAT:match("html") ~= nil
local typst = FORMAT == "typst"

local names = { fig = "Figure", tbl = "Table", sec = "Section" }
local numbers = {}
local titles = {}
local counts = { fig = 0, tbl = 0 }
local section = { 0, 0, 0, 0, 0, 0 }
local numbered_sections = false

local function kind_of(id)
  return id:match("^(%a+)%-")
end

local function escape_html(text)
  return (text:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }))
end

local function escape_string(text)
  return (text:gsub('[\\"]', "\\%0"))
end

local function raw(text)
  return pandoc.RawBlock(html and "html" or "typst", text)
end

-- Blocks between an opening and a closing piece of raw text.
local function wrapped(opening, blocks, closing)
  local result = pandoc.Blocks({ raw(opening) })
  result:extend(blocks)
  result:insert(raw(closing))
  return result
end

local function has_class(element, pattern)
  for _, class in ipairs(element.classes) do
    local found = class:match(pattern)
    if found then
      return found
    end
  end
end

-- Pass 0: what this form leaves out has no number -------------------------------------------------------------------

local function shown(div)
  local formats = html and { html = true } or { typst = true, pdf = true }
  local when, unless = div.attributes["when-format"], div.attributes["unless-format"]
  local matches = (not when or formats[when]) and not (unless and formats[unless]) or false
  if div.classes:includes("content-hidden") then
    return not matches
  end
  return matches
end

local present = {
  Div = function(div)
    if div.classes:includes("content-visible") or div.classes:includes("content-hidden") then
      return shown(div) and div.content or pandoc.Blocks({})
    end
  end,
}

-- Pass 1: numbers -------------------------------------------------------------------------------------------------

local function count_float(id)
  local kind = kind_of(id)
  if kind ~= "fig" and kind ~= "tbl" then
    return
  end
  if numbers[id] then
    error("the label " .. id .. " stands twice")
  end
  counts[kind] = counts[kind] + 1
  numbers[id] = tostring(counts[kind])
end

local number = {
  Div = function(div)
    count_float(div.identifier)
  end,
  Figure = function(figure)
    count_float(figure.identifier)
  end,
  Table = function(tbl)
    count_float(tbl.identifier)
  end,
  Header = function(header)
    if header.classes:includes("unnumbered") then
      return
    end
    section[header.level] = section[header.level] + 1
    for deeper = header.level + 1, 6 do
      section[deeper] = 0
    end
    local parts = {}
    for level = 1, header.level do
      if section[level] > 0 then
        parts[#parts + 1] = tostring(section[level])
      end
    end
    if kind_of(header.identifier) == "sec" then
      numbers[header.identifier] = table.concat(parts, ".")
      titles[header.identifier] = header.content
    end
  end,
}

-- Pass 2: references ----------------------------------------------------------------------------------------------

local function reference(id)
  local kind = kind_of(id)
  if not kind or not names[kind] or not numbers[id] then
    error("the reference @" .. id .. " points to nothing in this document")
  end
  local words = pandoc.Inlines({ pandoc.Str(names[kind] .. "\u{a0}" .. numbers[id]) })
  if kind == "sec" and not numbered_sections then
    words = titles[id]:clone()
  end
  return pandoc.Link(words, "#" .. id)
end

local refer = {
  Cite = function(cite)
    local links = pandoc.Inlines({})
    for place, citation in ipairs(cite.citations) do
      if place > 1 then
        links:extend({ pandoc.Str(","), pandoc.Space() })
      end
      links:insert(reference(citation.id))
    end
    return links
  end,
  Image = function(image)
    local outside = image.src:match("^%a[%w+.-]*:") and not image.src:match("^data:") or image.src:match("^[/\\\\~]")
    if outside or image.src:match("%.%.") then
      error("the image " .. image.src .. " does not lie beside the page")
    end
  end,
}

-- Pass 3: blocks --------------------------------------------------------------------------------------------------

local function float_html(id, content, caption)
  local kind = kind_of(id)
  local words = pandoc.Inlines({
    pandoc.Span(names[kind] .. "\u{a0}" .. numbers[id] .. ":", pandoc.Attr("", { "es-caption-number" })),
    pandoc.Space(),
  })
  words:extend(caption)
  local said = wrapped("<figcaption>", { pandoc.Plain(words) }, "</figcaption>")
  local blocks = pandoc.Blocks({ raw(string.format('<figure class="quarto-float quarto-float-%s" id="%s">', kind, escape_html(id))) })
  -- A table is named before it is read, as Quarto has it.
  blocks:extend(kind == "tbl" and said or content)
  blocks:extend(kind == "tbl" and content or said)
  blocks:insert(raw("</figure>"))
  return blocks
end

local function float_typst(id, content, caption)
  local kind = kind_of(id)
  local blocks = wrapped("#figure([", content, "], caption: [")
  blocks:insert(pandoc.Plain(caption))
  local closing = '], kind: "quarto-float-%s", supplement: "%s")<%s>'
  blocks:insert(raw(string.format(closing, kind, names[kind], id)))
  return blocks
end

local function float(id, content, caption)
  return (html and float_html or float_typst)(id, content, caption)
end

local function float_div(div)
  local content = div.content:clone()
  local last = content[#content]
  if not last or (last.t ~= "Para" and last.t ~= "Plain") then
    error("the float " .. div.identifier .. " has no caption: its last paragraph")
  end
  content:remove()
  return float(div.identifier, content, last.content)
end

local callout_titles = { note = "Note", tip = "Tip", important = "Important", caution = "Caution", warning = "Warning" }

local function callout(div, kind)
  local content = div.content:clone()
  local title = pandoc.Inlines({ pandoc.Str(callout_titles[kind] or kind) })
  if div.attributes.title then
    title = pandoc.Inlines(pandoc.read(div.attributes.title, "markdown").blocks[1].content)
  elseif content[1] and content[1].t == "Header" then
    title = content[1].content
    content:remove(1)
  end
  if typst then
    local blocks = wrapped('#es-callout(kind: "' .. kind .. '", title: [', { pandoc.Plain(title) }, "], [")
    blocks:extend(content)
    blocks:insert(raw("])"))
    return blocks
  end
  local folded = div.attributes.collapse == "true"
  local element = folded and "details" or "div"
  local head = folded and "summary" or "div"
  local opening = '<%s class="callout callout-%s"><%s class="callout-header">'
  local blocks = wrapped(string.format(opening, element, kind, head), { pandoc.Plain(title) }, "</" .. head .. ">")
  blocks:insert(raw('<div class="callout-body-container">'))
  blocks:extend(content)
  blocks:insert(raw("</div></" .. element .. ">"))
  return blocks
end

local tabsets = 0

-- Tabs without a script: radio buttons, so that arrow keys move between them; in print every panel is shown.
local function tabset(div)
  tabsets = tabsets + 1
  local level
  local tabs = {}
  for _, block in ipairs(div.content) do
    if block.t == "Header" and (not level or block.level == level) then
      level = block.level
      tabs[#tabs + 1] = { title = block.content, blocks = pandoc.Blocks({}) }
    elseif #tabs > 0 then
      tabs[#tabs].blocks:insert(block)
    end
  end
  local blocks = pandoc.Blocks({})
  if typst then
    for _, tab in ipairs(tabs) do
      blocks:insert(pandoc.Para({ pandoc.Strong(tab.title) }))
      blocks:extend(tab.blocks)
    end
    return blocks
  end
  blocks:insert(raw('<div class="panel-tabset" role="group">'))
  for place, tab in ipairs(tabs) do
    local id = string.format("tabset-%d-%d", tabsets, place)
    local input = '<input type="radio" name="tabset-%d" id="%s"%s><label for="%s">'
    blocks:insert(raw(string.format(input, tabsets, id, place == 1 and " checked" or "", id)))
    blocks:insert(pandoc.Plain(tab.title))
    blocks:extend(wrapped('</label><div class="tab-panel">', tab.blocks, "</div>"))
  end
  blocks:insert(raw("</div>"))
  return blocks
end

-- What Typst would take for a sign of its own, and Pandoc does not escape: dots, hyphens, dashes, quotation marks.
local signs = { "%.%.%.", "%-[%?%d]", "\u{2013}", "\u{2014}", "\u{2018}", "\u{2019}", "\u{201c}", "\u{201d}" }

local write = {
  Str = function(str)
    for _, sign in ipairs(signs) do
      if typst and str.text:match(sign) then
        return pandoc.RawInline("typst", string.format('#"%s";', escape_string(str.text)))
      end
    end
  end,
  Div = function(div)
    local kind = kind_of(div.identifier)
    if kind == "fig" or kind == "tbl" then
      return float_div(div)
    end
    local callout_kind = has_class(div, "^callout%-(%a+)$")
    if callout_kind then
      return callout(div, callout_kind)
    end
    if div.classes:includes("panel-tabset") then
      return tabset(div)
    end
  end,
  Figure = function(figure)
    if numbers[figure.identifier] then
      return float(figure.identifier, figure.content, pandoc.utils.blocks_to_inlines(figure.caption.long))
    end
  end,
  Table = function(tbl)
    local id = tbl.identifier
    if numbers[id] then
      local caption = pandoc.utils.blocks_to_inlines(tbl.caption.long)
      tbl.caption = pandoc.Caption()
      tbl.identifier = ""
      return float(id, pandoc.Blocks({ tbl }), caption)
    end
  end,
  Code = function(code)
    -- A name that a line holds is not broken, and a full stop stays with it (the style has a box, beside which a line may end).
    -- Written out: Pandoc would take a class for a language, and looking it up costs five times what the page does.
    if html and code.attr == pandoc.Attr() and #code.text <= 26 and not code.text:match("[\128-\255]") then
      return pandoc.RawInline("html", '<code class="es-whole">' .. escape_html(code.text) .. "</code>")
    end
  end,
  Image = function(image)
    local alt = image.attributes["fig-alt"] or pandoc.utils.stringify(image.caption)
    image.attributes["fig-alt"] = nil
    if typst then
      local width = image.attributes.width or "100%"
      local call = '#image("%s", alt: "%s", width: %s)'
      return pandoc.RawInline("typst", string.format(call, escape_string(image.src), escape_string(alt), width))
    end
    image.attributes.alt = alt
    return image
  end,
  CodeBlock = function(code)
    local fold = code.attributes["code-fold"]
    code.attributes["code-fold"] = nil
    if not html or not code.classes:includes("cell-code") then
      return code
    end
    if fold == "true" or fold == "show" then
      local open = fold == "show" and " open" or ""
      return wrapped('<details class="code-fold"' .. open .. "><summary>Code</summary>", { code }, "</details>")
    end
    return code
  end,
}

return {
  {
    Meta = function(meta)
      numbered_sections = meta["number-sections"] == true
      meta.pagetitle = meta.pagetitle or meta.title and pandoc.utils.stringify(meta.title)
      return meta
    end,
  },
  present,
  number,
  refer,
  write,
}
