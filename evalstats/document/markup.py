"""Blocks as Markdown, HTML and LaTeX. Every string is escaped here and nowhere else."""

from collections.abc import Callable, Sequence

from evalstats.document.blocks import Banner, Block, Bullets, Fold, Heading, Paragraph, Table
from evalstats.document.escape import for_html, for_latex, for_markdown, inert

_ALIGN = {"l": "left", "r": "right", "c": "center"}
_MD_ALIGN = {"l": ":---", "r": "---:", "c": ":---:"}
_TONE = {"good": "#0b6e4f", "bad": "#a4343a", "caution": "#8a5a00", "neutral": "#44546a", "plain": "inherit"}


def to_markdown(blocks: Sequence[Block]) -> str:
    r"""Return GitHub-flavoured Markdown, fit for a pull-request comment.

    Examples
    --------
    >>> print(to_markdown([Heading(text="A|B", level=2)]))
    ## A\|B
    """
    return inert("\n\n".join(_markdown(block) for block in blocks))


def to_html(blocks: Sequence[Block]) -> str:
    """Return an HTML fragment with inline styles only, as notebooks show it.

    Examples
    --------
    >>> to_html([Paragraph(text="a < b")])
    '<div class="evalstats"><p>a &lt; b</p></div>'
    """
    return f'<div class="evalstats">{"".join(_html(block) for block in blocks)}</div>'


def to_latex(blocks: Sequence[Block]) -> str:
    """Return LaTeX that needs no package but booktabs."""
    return "\n\n".join(_latex(block) for block in blocks)


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {for_markdown(block.text)}"
        case Banner():
            return f"**{for_markdown(block.label)}.** {for_markdown(block.text)}"
        case Paragraph():
            return for_markdown(block.text)
        case Bullets():
            title = f"**{for_markdown(block.title)}**\n\n" if block.title else ""
            return title + "\n".join(f"- {for_markdown(item)}" for item in block.items)
        case Table():
            return _markdown_table(block)
        case Fold():
            # GitHub reads Markdown inside <details> where a blank line stands around it.
            title = for_html(block.title)
            return f"<details><summary>{title}</summary>\n\n{to_markdown(_inside(block))}\n\n</details>"


def _inside(fold: Fold) -> Sequence[Block]:
    """Return what is folded, without a heading that would say the title again."""
    first = fold.blocks[0]
    return fold.blocks[1:] if isinstance(first, Heading) and first.text == fold.title else fold.blocks


def _markdown_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"**{for_markdown(table.caption)}**\n"] if table.caption else []
    lines.append(line([for_markdown(column) for column in table.columns]))
    lines.append(line([_MD_ALIGN[align] for align in table.align]))
    lines.extend(line([for_markdown(cell) for cell in row]) for row in table.rows)
    return "\n".join(lines)


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level + 1}>{for_html(block.text)}</h{block.level + 1}>"
        case Banner():
            style = f"border-left:4px solid {_TONE[block.tone]};padding:.4em .8em;margin:.5em 0"
            label = f'<strong style="color:{_TONE[block.tone]}">{for_html(block.label)}</strong>'
            return f'<div style="{style}">{label} {for_html(block.text)}</div>'
        case Paragraph():
            return f"<p>{for_html(block.text)}</p>"
        case Bullets():
            title = f'<p style="margin-bottom:0"><strong>{for_html(block.title)}</strong></p>' if block.title else ""
            return f"{title}<ul>{''.join(f'<li>{for_html(item)}</li>' for item in block.items)}</ul>"
        case Table():
            return _html_table(block)
        case Fold():
            inside = "".join(_html(each) for each in _inside(block))
            return f"<details open><summary>{for_html(block.title)}</summary>{inside}</details>"


def _html_table(table: Table) -> str:
    def cells(tag: str, values: Sequence[str]) -> str:
        parts = [
            f'<{tag} style="text-align:{_ALIGN[align]};padding:.2em .6em">{for_html(value)}</{tag}>'
            for value, align in zip(values, table.align, strict=True)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    caption = f'<caption style="text-align:left">{for_html(table.caption)}</caption>' if table.caption else ""
    body = "".join(cells("td", row) for row in table.rows)
    return f"<table>{caption}<thead>{cells('th', table.columns)}</thead><tbody>{body}</tbody></table>"


def _latex(block: Block) -> str:
    sections = {1: "section", 2: "subsection", 3: "subsubsection"}
    match block:
        case Heading():
            return f"\\{sections[block.level]}*{{{for_latex(block.text)}}}"
        case Banner():
            return f"\\textbf{{{for_latex(block.label)}.}} {for_latex(block.text)}"
        case Paragraph():
            return for_latex(block.text)
        case Bullets():
            items = "\n".join(f"  \\item {for_latex(item)}" for item in block.items)
            title = f"\\textbf{{{for_latex(block.title)}}}\n" if block.title else ""
            return f"{title}\\begin{{itemize}}\n{items}\n\\end{{itemize}}"
        case Table():
            return _latex_table(block)
        case Fold():
            return to_latex(block.blocks)


def _latex_table(table: Table) -> str:
    rows = "\n".join(f"{_joined(row, for_latex)} \\\\" for row in table.rows)
    caption = f"\\caption{{{for_latex(table.caption)}}}\n" if table.caption else ""
    return (
        f"\\begin{{table}}\n{caption}\\begin{{tabular}}{{{table.align}}}\n\\toprule\n{_joined(table.columns, for_latex)} \\\\\n"
        f"\\midrule\n{rows}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}"
    )


def _joined(cells: Sequence[str], escape: Callable[[str], str]) -> str:
    return " & ".join(escape(cell) for cell in cells)
