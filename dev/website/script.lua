-- The script of report pages, for the results that the site shows; a report of its own has it inside already.
if quarto.doc.is_format("html") and not quarto.doc.input_file:find("/reports/", 1, true) then
  quarto.doc.add_html_dependency({
    name = "evalstats",
    scripts = { { path = "../reports/_extensions/evalstats/page.js", attribs = { defer = "" } } },
  })
end

return {}
