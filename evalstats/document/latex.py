r"""A document and its tables as LaTeX that pdflatex sets with booktabs alone: nothing but ASCII, whatever text it holds.

Signs and accents of pdflatex's own fonts are written as commands. Any other character (Cyrillic, Chinese, emoji) is an
`\evalstatschar`: XeLaTeX and LuaLaTeX set it in the font of the document, pdflatex its code, U+6A21.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from evalstats.document.escape import inert, one_line
from evalstats.document.formats import capital
from evalstats.document.model import Column, Document, Table, sentence
from evalstats.document.names import WHOLE, marked, set_names
from evalstats.errors import InputError

# A character and its command in mathematics; of letters only those that look like no Latin one.
_MATHEMATICS = r"""
−- ·\cdot ×\times ÷\div ±\pm ¬\neg ≤\le ≥\ge ≠\neq ≈\approx ≡\equiv ∼\sim ∝\propto ≪\ll ≫\gg ∞\infty √\surd ∑\sum ∏\prod ∫\int
∂\partial ∇\nabla ∈\in ∉\notin ⊂\subset ∪\cup ∩\cap ∅\emptyset ∀\forall ∃\exists ∧\wedge ∨\vee →\rightarrow ←\leftarrow
↔\leftrightarrow ↑\uparrow ↓\downarrow ⇒\Rightarrow ⇐\Leftarrow ⇔\Leftrightarrow µ\mu
α\alpha β\beta γ\gamma δ\delta ε\varepsilon ζ\zeta η\eta θ\theta ι\iota κ\kappa λ\lambda μ\mu ν\nu ξ\xi π\pi ρ\rho ς\varsigma
σ\sigma τ\tau υ\upsilon φ\varphi χ\chi ψ\psi ω\omega ϕ\phi Γ\Gamma Δ\Delta Θ\Theta Λ\Lambda Ξ\Xi Π\Pi Σ\Sigma Υ\Upsilon Φ\Phi
Ψ\Psi Ω\Omega °^{\circ} ⁰^{0} ¹^{1} ²^{2} ³^{3} ⁴^{4} ⁵^{5} ⁶^{6} ⁷^{7} ⁸^{8} ⁹^{9} ⁻^{-} ⁺^{+} ₀_{0} ₁_{1} ₂_{2} ₃_{3} ₄_{4}
₅_{5} ₆_{6} ₇_{7} ₈_{8} ₉_{9} §\mathsection ¶\mathparagraph ™^{\mathrm{TM}}
"""
# A character and its command in text.
_WORDS = r"""
\textbackslash ^textasciicircum ~textasciitilde <textless >textgreater |textbar –textendash —textemdash …dots ‘textquoteleft
’textquoteright “textquotedblleft ”textquotedblright ¿textquestiondown ¡textexclamdown ©copyright £pounds
ßss æae ÆAE œoe ŒOE øo ØO łl ŁL ıi
"""
_CHARACTERS = {
    **{char: f"\\{char}" for char in "{}$&#%_"},
    # As codes: in a document of its own language quotes may be commands, and two of them are another sign.
    **{char: rf"{{}}\char{ord(char)}{{}}" for char in "\"'`"},
    **{word[0]: f"\\{word[1:]}{{}}" for word in _WORDS.split()},
    **{word[0]: f"${word[1:]}$" for word in _MATHEMATICS.split()},
}
# Those that a font without accented letters can set over a letter, and their commands.
_MARKS = "\u0300\u0301\u0302\u0303\u0308\u0304\u0307\u030a\u030b\u030c\u0306\u0327\u0323"
_ACCENTS = dict(zip(_MARKS, "`'^~\"=.rHvucd", strict=True))
_NEEDS = r"% Needs \usepackage{booktabs}."
_GLYPH = (
    r"\providecommand{\evalstatschar}[1]"
    r'{\ifx\Umathcode\undefined\texttt{U+#1}\else\char\string"#1\relax\fi}'
)
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._/+-]*")
# Two of these are set as another sign.
_PAIRS = re.compile(r"([-,])(?=\1)")


def to_latex(document: Document) -> str:
    """Return the answer, then every table."""
    document = marked(document)
    tables = [_table(table.without_empty_columns()) for table in document.tables.values()]
    return _with_needs([*_answer(document), *tables])


def _answer(document: Document) -> list[str]:
    parts = [f"\\textbf{{{_prose(note.line)}}}" for note in document.banners]
    said = f"{sentence(document.headline)} {document.below}"
    parts.append(f"\\textbf{{{for_latex(capital(document.label))}.}} {_prose(said)}")
    if document.cautions:
        items = "\n".join(f"  \\item {_prose(note.line)}" for note in document.cautions)
        parts.append(f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}")
    return parts


def _prose(text: str) -> str:
    """Write a text with its marked names in the type of code, each in a box that no line ends in unless it is long."""

    def code(name: str) -> str:
        written = rf"\texttt{{{for_latex(name)}}}"
        return rf"\mbox{{{written}}}" if len(name) <= WHOLE else written

    return set_names(text, plain=for_latex, name=code)


def latex_table(table: Table, *, caption: str | None = None, label: str = "", columns: str | Sequence[str] = ()) -> str:
    r"""Return one table.

    Parameters
    ----------
    caption
        Instead of the table's own; "" for none.
    label
        What `\ref` finds it by.
    columns
        Titles of the columns to show, in this order; none: all that say anything.

    Raises
    ------
    InputError
        If there is no such column, or the label is none.
    """
    if label and not _LABEL.fullmatch(label):
        raise InputError(
            f"the label {label!r} holds what LaTeX may not take for one; use letters, digits and any of : . _ / + -"
        )
    if label and not (table.caption if caption is None else caption):
        raise InputError("a label refers to a caption, and this table has none; give both")
    chosen = (columns,) if isinstance(columns, str) else columns
    shown = _with_columns(table, chosen) if chosen else table.without_empty_columns()
    return _with_needs([_table(shown if caption is None else replace(shown, caption=caption), label)])


def _with_columns(table: Table, titles: Iterable[str]) -> Table:
    """Return the table with the columns of these titles, in their order; a unit behind a title may be left out."""
    known = [column.title for column in table.columns]
    units = {name.rpartition(" (")[0]: name for name in known if name.endswith(")")}
    places: list[int] = []
    for given in titles:
        title = units.get(given, given) if given not in known else given
        if title not in known:
            close = get_close_matches(title, known, n=1)
            closest = f"; closest: {close[0]!r}" if close else ""
            raise InputError(
                f"no column {title!r} in the table {table.id!r}{closest}; it has {', '.join(map(repr, known))}"
            )
        places += [place for place, name in enumerate(known) if name == title]
    return table.only(places)


def _table(table: Table, label: str = "") -> str:
    cells = ([column.title for column in table.columns], *table.written())
    lines = [f"\\caption{{{_prose(table.caption)}}}"] if table.caption else []
    lines += [f"\\label{{{label}}}"] if label else []
    lines.append(_tabular(table.columns, [[for_latex(cell) for cell in row] for row in cells]))
    return "\n".join(["\\begin{table}", "\\centering", *lines, "\\end{table}"])


def _tabular(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> str:
    head, *rows = [f"{' & '.join(row)} \\\\" for row in cells]
    align = "".join("l" if column.left else "r" for column in columns)
    lines = ["\\toprule", head, "\\midrule", *rows, "\\bottomrule"]
    return "\n".join([f"\\begin{{tabular}}{{{align}}}", *lines, "\\end{tabular}"])


def _with_needs(parts: Sequence[str]) -> str:
    """Return the parts behind what they need of a document."""
    text = "\n\n".join(parts)
    return "\n".join([_NEEDS, *([_GLYPH] if "\\evalstatschar" in text else []), text])


def for_latex(text: str) -> str:
    r"""Return text for LaTeX, in ASCII, as something that no command takes for its argument.

    >>> print(for_latex("50% of A_1, ρ = −1"), for_latex("café 模"))
    50\% of A\_1, $\rho$ = $-$1 caf\'{e} \evalstatschar{6A21}
    """
    line = one_line(text)
    written = "".join(map(_written, _PAIRS.sub("\\1\0", line)))
    # The command before it, the end of a row or a rule, would take a bracket or a star; a build server runs what begins a line.
    return f"{{}}{written}" if line.lstrip().startswith(("[", "*")) or inert(line) != line else written


def _written(char: str) -> str:
    if char == "\0":
        return "{}"
    if char in _CHARACTERS:
        return _CHARACTERS[char]
    if char.isascii():
        return char
    base, *marks = unicodedata.normalize("NFD", char)
    if len(marks) == 1 and marks[0] in _ACCENTS and base.isascii() and base.isalpha():
        letter = rf"\{base}" if base in "ij" else base  # without its dot
        return rf"\{_ACCENTS[marks[0]]}{{{letter}}}"
    return rf"\evalstatschar{{{ord(char):04X}}}"
