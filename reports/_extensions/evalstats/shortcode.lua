-- {{< evalstats r.json answer flips >}}: parts of a saved result in a document without a cell, by the Python of the document.

local code = [[
import sys
try:
    from evalstats.analysis.drawn import picture
    from evalstats.analysis.saved import load_result
    from evalstats.document.pandoc import to_pandoc
    from evalstats.document.quarto import Rendering
    from evalstats.errors import EvalStatsError
except ModuleNotFoundError as error:
    sys.exit(f"{error}: activate evalstats's environment, or name its Python in QUARTO_PYTHON")
base, both, path, *parts = sys.argv[1:]
into = Rendering(base, "", both == "both")
try:
    print(to_pandoc(load_result(path).document(), parts or ("answer",), picture=lambda figure: picture(figure, into)))
except EvalStatsError as error:
    sys.exit(str(error))
]]

return {
  evalstats = function(words, _, meta)
    local theme = meta and meta.theme
    local both = FORMAT:match("html") and type(theme) == "table" and theme.light and theme.dark
    -- -P: no module from the document's folder
    local arguments = pandoc.List({ "-P", "-X", "utf8", "-c", code, FORMAT, both and "both" or "one" })
    for _, word in ipairs(words) do
      arguments:insert(pandoc.utils.stringify(word))
    end
    local python = os.getenv("QUARTO_PYTHON") or "python3"
    local done, text = pcall(pandoc.pipe, python, arguments, "")
    if not done then -- Quarto goes on after an error of a shortcode
      io.stderr:write("{{< evalstats >}}: " .. python .. " could not show the result, as told above\n")
      os.exit(1)
    end
    return pandoc.read(text, "markdown").blocks
  end,
}
