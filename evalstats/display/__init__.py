"""One description of a result, shown as terminal text, Markdown, HTML or LaTeX. Knows no statistic and no file."""
