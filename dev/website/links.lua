-- Links between sources become links between pages; Quarto does this by itself.
local endings = { md = true, qmd = true, ipynb = true }

return {
  {
    Link = function(link)
      local path, ending, place = link.target:match("^([^#:]*)%.(%a+)(#?[^#]*)$")
      if path and endings[ending] then
        link.target = path .. ".html" .. place
      end
      return link
    end,
  },
}
