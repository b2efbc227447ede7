"""The banner at the top of a page, and the strip of facts below it, for both targets."""

from collections.abc import Sequence

from evalstats.document.escape import for_html
from evalstats.report.markup import both, typst_string


def verdict_banner(
    *, label: str, sign: str, tone: str, answer: str, why: str, meaning: str, amount: str = "", range_words: str = ""
) -> str:
    """Return the banner; all of it is text, escaped here.

    Parameters
    ----------
    label
        The answer in a word or two.
    sign
        Stands beside the colour, so that colour alone says nothing.
    tone
        "good", "caution", "bad" or "neutral".
    answer, why, meaning
        The answer in a sentence, what bears it, and what it does and does not mean.
    amount
        A number in large type; empty where none can be claimed.
    range_words
        The words below it.
    """
    number = ""
    if amount:
        number = f'<div class="es-number"><p>{for_html(amount)}</p><p>{for_html(range_words)}</p></div>'
    html = (
        f'<section class="es-verdict es-{tone}" aria-label="Verdict">'
        f'<div class="es-answer"><p class="es-label"><span aria-hidden="true">{sign}</span> {for_html(label)}</p>'
        f"<p>{for_html(answer)}</p><p>{for_html(why)}</p>"
        f'<p class="es-meaning">{for_html(meaning)}</p></div>{number}</section>'
    )
    fields = {
        "label": label,
        "sign": sign,
        "tone": tone,
        "answer": answer,
        "why": why,
        "meaning": meaning,
        "amount": amount,
        "range": range_words,
    }
    return both(html, f"#es-verdict({', '.join(f'{name}: {typst_string(text)}' for name, text in fields.items())})")


def fact_strip(facts: Sequence[tuple[str, str, str]]) -> str:
    """Return (label, value, remark) of every key fact as a strip."""
    html = "".join(
        f"<div><dt>{for_html(label)}</dt><dd>{for_html(value)}<small>{for_html(note)}</small></dd></div>"
        for label, value, note in facts
    )
    rows = "".join(
        f"({typst_string(label)}, {typst_string(value)}, {typst_string(note)}), " for label, value, note in facts
    )
    return both(f'<dl class="es-facts">{html}</dl>', f"#es-facts(({rows}))")
