-- Pandoc makes the columns of a table with long cells as wide as its dashes, which is halves where nobody chose:
-- then the columns are as wide as what they hold.
function Table(t)
  local first = t.colspecs[1][2]
  for _, spec in ipairs(t.colspecs) do
    if type(spec[2]) ~= "number" or math.abs(spec[2] - first) > 0.001 then
      return nil
    end
  end
  for i, spec in ipairs(t.colspecs) do
    t.colspecs[i] = { spec[1], nil }
  end
  return t
end
