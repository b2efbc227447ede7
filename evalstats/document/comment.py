"""A document as a comment on a pull request: at most 120 words and one table, everything else folded.

A marker that nobody sees stands first, so that whoever posts it finds the one of the last push and renews that.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from evalstats.document.escape import cut, for_markdown, inert
from evalstats.document.formats import capital, markdown_code, markdown_prose, markdown_table
from evalstats.document.model import Code, Column, Document, Figure, Table, Value, sentence
from evalstats.document.names import marked, unmarked

MOST_WORDS = 116  # a build server adds a link of its own
# Cautions are shown up to so many words of text; the rest is the table's.
_TEXT_WORDS, _LINE_WORDS, _ROWS = 95, 40, 5
_CELL_LETTERS, _CELL_WORDS, _LINE_LETTERS, _FOLDED_LINES = 48, 6, 300, 16


def marker(key: str) -> str:
    """Return the line that tells a comment from others: no more of the key than letters and plain marks.

    >>> marker("nightly / tau-bench"), marker("--> @all")
    ('<!-- evalstats: nightly / tau-bench -->', '<!-- evalstats: all -->')
    """
    plain = re.sub(r"[^A-Za-z0-9 ._/:-]+|-{2,}", "", key)[:80].strip(" -")
    return f"<!-- evalstats: {plain} -->"


def to_comment(document: Document, key: str = "") -> str:
    r"""Return GitHub-flavoured Markdown: the verdict, the number, the gate, what could undo it, and the worst items.

    >>> print(to_comment(Document(kind="compare", title="?", label="better", tone="good", headline="b|c is better")))
    <!-- evalstats: compare -->
    <BLANKLINE>
    **Better.** b\|c is better.
    """
    document = marked(document)
    banners, gates = (
        [f"**{_line(sentence(note.text))}**" for note in notes]
        for notes in (document.banners, [note for note in document.notes if note.kind == "gate"])
    )
    lead = f"**{_line(sentence(capital(document.label)))}** {_line(sentence(document.headline))}"
    number = _line(sentence(", ".join(filter(None, (document.number, document.number_words)))))
    said = [*dict.fromkeys(filter(None, (*banners, lead, number, *gates)))]
    # The first to go in are the last to be folded.
    parts: list[str] = []
    for part in sorted(said, key=[lead, *gates, *banners, number].index):
        parts += [part] if _words([*parts, part]) <= MOST_WORDS else []
    spare = [part for part in said if part not in parts]
    parts.sort(key=said.index)
    cautions = [_line(note.line) for note in document.cautions if note.kind != "gate"]
    shown = 0
    while shown < len(cautions) and _words([*parts, *cautions[: shown + 1]]) <= _TEXT_WORDS:
        shown += 1
    parts += ["\n".join(f"- {line}" for line in cautions[:shown])]
    blocks = (block.table if isinstance(block, Figure) else block for block in document.answer)
    tables = [block for block in (*blocks, document.worst) if isinstance(block, Table)]
    parts += [_beginning(table, MOST_WORDS - _words(parts)) for table in tables[:1]]
    parts += [_folded(document, [*spare, *cautions[shown:]], tables[1:])]
    return inert("\n\n".join([marker(key or document.kind), *filter(None, parts)]))


def _words(parts: Sequence[str]) -> int:
    """Count what is read as words: neither rules of a table nor addresses."""
    return len(re.findall(r"[^\s|*:-][^\s|]*", re.sub(r"\(<[^>]*>\)", "", " ".join(parts))))


def _line(text: str) -> str:
    words = cut(unmarked(text), _LINE_LETTERS).split()
    if len(words) > _LINE_WORDS:
        return for_markdown(" ".join([*words[:_LINE_WORDS], "…"]))
    return markdown_prose(text) if len(unmarked(text)) <= _LINE_LETTERS else for_markdown(" ".join(words))


def _beginning(table: Table, most_words: int) -> str:
    """Return as many of the first rows as fit, without spare columns."""
    kept = [place for place, column in enumerate(table.columns) if not column.spare]
    columns = tuple(replace(table.columns[place], title=_short(table.columns[place].title)) for place in kept)
    rows = [tuple(_cell(row[place], column) for place, column in zip(kept, columns, strict=True)) for row in table.rows]
    for n in range(min(_ROWS, len(rows)), 0, -1):
        text = markdown_table(replace(table, columns=columns, rows=tuple(rows[:n]), caption=""))
        if _words([text]) <= most_words:
            return text
    return ""


def _cell(value: Value, column: Column) -> Value:
    return _short(value) if isinstance(value, str) and column.kind != "link" else value


def _short(text: str) -> str:
    words = cut(text, _CELL_LETTERS).split()
    return " ".join(words if len(words) <= _CELL_WORDS else [*words[:_CELL_WORDS], "…"])


def _folded(document: Document, cautions: Sequence[str], tables: Sequence[Table]) -> str:
    """Return what does not fit, what the answer rests on, what to do, what was found beside it, and the command."""
    found = [section.heading for section in document.evidence if section.news]
    lines = [*cautions, *(_line(sentence(text)) for text in (document.scope, *document.actions, *found) if text)]
    again = document.section("code")
    codes = [block for block in (again.blocks if again else ()) if isinstance(block, Code) and block.language == "sh"]
    inside = ["\n".join(f"- {line}" for line in lines[:_FOLDED_LINES])]
    inside += [*(_beginning(table, MOST_WORDS) for table in tables), *map(markdown_code, codes)]
    text = "\n\n".join(part for part in inside if part)
    return f"<details><summary>More</summary>\n\n{text}\n\n</details>" if text else ""
