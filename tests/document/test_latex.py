"""LaTeX that pdflatex takes: ASCII and known commands alone, whatever the text; captions, labels and columns as asked for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document import latex
from evalstats.document.latex import for_latex, latex_table, to_latex
from evalstats.document.model import Column, Table
from evalstats.errors import InputError
from tests.document.pdflatex import compiled, without_known_commands
from tests.document.test_outputs import DOCUMENT, NAME

TABLE = Table(
    id="t",
    columns=(
        Column(title="Model", kind="name"),
        Column(title="ρ", kind="number"),
        Column(title="Φ & more", kind="text"),
    ),
    rows=((NAME, -1.5, "≥ ∞"), ("b", 2.0, "_x^2")),
    caption="Scores of α_1",
)
# Each of these once stopped pdflatex, or was set as another sign.
HOSTILE = (
    *(
        "∞ ρ Φ ² ± − – …",
        "Ünï çødé ĳ ı",
        "模型 Путин αΑ 😀 e\u0301 ế ő ğ",
        "\\end{document}",
        "\\input{/etc/passwd}",
        "%",
        "$x",
        "a_b^c",
    ),
    *(
        "--help",
        ",,",
        "``''",
        '"a',
        "?`!`",
        "[2em]",
        "* x",
        "~#&{}",
        "::error::x",
        "\x00\x1b\ufffe",
        "^^M",
        "\N{NO-BREAK SPACE}",
    ),
)


@given(st.text())
def test_any_text_is_ascii_and_holds_known_commands_alone(text: str) -> None:
    written = for_latex(text)
    assert written.isascii()
    assert written.isprintable()
    left = without_known_commands(written)
    assert not set("\\{}$&#%_^~\"'`") & set(left), (text, written, left)
    assert not re.search("--|,,|<<|>>", left)
    assert not written.lstrip().startswith(("[", "*", "::"))


@given(st.text(max_size=5), st.text(max_size=5))
def test_texts_that_differ_stay_different(first: str, second: str) -> None:
    one, other = (" ".join(text.split()) for text in (first, second))
    assert (for_latex(one) == for_latex(other)) == (one == other) or {one, other} & set("µμ")


def test_tables_keep_their_number_of_cells() -> None:
    rows = [line for line in to_latex(DOCUMENT).splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {3}


def test_a_caption_a_label_and_columns_are_those_asked_for() -> None:
    text = latex_table(TABLE, caption="50% of ρ", label="tab:a_1", columns=["Φ & more", "Model"])
    assert "\\caption{50\\% of $\\rho$}\n\\label{tab:a_1}\n\\begin{tabular}{ll}" in text
    assert "$\\Phi$ \\& more & Model \\\\" in text
    assert text.startswith("% Needs \\usepackage{booktabs}.")
    assert "\\caption" not in latex_table(TABLE, caption="")
    assert "\\begin{tabular}{r}" in latex_table(TABLE, columns="ρ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ["model"]}, "no column 'model' in the table 't'; closest: 'Model'; it has 'Model', 'ρ'"),
        ({"label": "tab:a}"}, "letters, digits"),
        ({"label": "tab:a", "caption": ""}, "has none; give both"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        latex_table(TABLE, **options)


def test_pdflatex_sets_every_sign_and_any_text() -> None:
    signs = [for_latex(char) for char in latex._CHARACTERS]
    letters = [for_latex(f"{letter}{mark}") for mark in latex._MARKS for letter in "aeijlnouyAEIOU"]
    tables = [latex_table(TABLE, caption=text, label="a") + latex_table(TABLE) for text in HOSTILE]
    compiled("\n\n".join([latex._GLYPH, *signs, *letters, *map(for_latex, HOSTILE), *tables, to_latex(DOCUMENT)]))
