-- {{< evalstats r.json answer flips >}}: parts of a saved result in a document without a cell, by the Python of the document.

local code = [[
import sys
from evalstats.analysis.result import picture
from evalstats.analysis.saved import load_result
from evalstats.document.pandoc import to_pandoc
from evalstats.errors import EvalStatsError
try:
    print(to_pandoc(load_result(sys.argv[1]).document(), sys.argv[2:] or ("answer",), picture=picture))
except EvalStatsError as error:
    sys.exit(str(error))
]]

return {
  evalstats = function(words)
    local arguments = pandoc.List({ "-P", "-X", "utf8", "-c", code }) -- -P: no module from the document's folder
    for _, word in ipairs(words) do
      arguments:insert(pandoc.utils.stringify(word))
    end
    local python = os.getenv("QUARTO_PYTHON") or "python3"
    local done, text = pcall(pandoc.pipe, python, arguments, "")
    if not done then -- Quarto goes on after an error of a shortcode
      io.stderr:write("{{< evalstats >}}: " .. python .. " could not show the result, as told above. Give a saved result (r.json); "
        .. "where evalstats is missing, activate its environment or name its Python in QUARTO_PYTHON\n")
      os.exit(1)
    end
    return pandoc.read(text, "markdown").blocks
  end,
}
