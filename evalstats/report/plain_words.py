"""The result in plain words: folded away on the page, an appendix of the PDF."""

from collections.abc import Sequence

from evalstats.document.blocks import Block, Bullets, Heading, Paragraph
from evalstats.document.escape import for_html
from evalstats.report.markup import raw, typst_string

_TITLE = "In plain words"
_INVITES = "What was asked, how it was answered, and what would change the answer"
_WORKS = "Where the methods come from"


def told_on_page(blocks: Sequence[Block]) -> str:
    """Return an explanation for the page alone, behind a line that can be opened."""
    inside = "".join(_html(block) for block in blocks)
    fold = f'<details class="es-fold"><summary>{for_html(_INVITES)}</summary>{inside}</details>'
    return f'::: {{.content-visible when-format="html"}}\n\n## {_TITLE}\n\n{raw("html", fold)}\n\n:::'


def told_in_appendix(blocks: Sequence[Block]) -> str:
    """Return an explanation for the PDF alone."""
    inside = "\n".join(_typst(block) for block in blocks)
    return raw("typst", f"#heading(level: 1, {typst_string(f'Appendix: {_TITLE.lower()}')})\n{inside}")


def without_title_and_works(explanation: Sequence[Block]) -> Sequence[Block]:
    """Return an explanation without its title and its list of works."""
    blocks = [block for block in explanation if not (isinstance(block, Heading) and block.level == 1)]
    works = next((i for i, block in enumerate(blocks) if isinstance(block, Heading) and block.text == _WORKS), None)
    return blocks if works is None else blocks[:works]


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h3>{for_html(block.text)}</h3>"
        case Paragraph():
            return f"<p>{for_html(block.text)}</p>"
        case Bullets():
            return f"<ul>{''.join(f'<li>{for_html(item)}</li>' for item in block.items)}</ul>"
        case _:
            raise TypeError(_unknown(block))


def _typst(block: Block) -> str:
    match block:
        case Heading():
            return f"#heading(level: 2, {typst_string(block.text)})"
        case Paragraph():
            return f"#par({typst_string(block.text)})"
        case Bullets():
            return f"#list({', '.join(typst_string(item) for item in block.items)})"
        case _:
            raise TypeError(_unknown(block))


def _unknown(block: Block) -> str:
    return f"the page shows no {type(block).__name__} in an explanation"
