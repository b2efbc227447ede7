"""The pages of methods: one each, filed under the question that it helps to answer, and what lists them.

What a method is stands in `evalstats/analysis/method_texts.md`, which `--explain` shows too; `methods.toml` says where it is
filed and when to use it; how often it is wrong is read from the stored simulations.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstats.analysis.method_texts import MethodText, known_methods
from evalstats.datasets.validation import Rate, Study, load_validation
from evalstats.document.escape import for_pandoc
from evalstats.document.numbers import share_in_percent
from evalstats.document.pandoc import bullets
from evalstats.grammar import plural
from evalstats.report.markup import cited

_HERE = Path(__file__).resolve().parent
# Names that go on differently from result to result.
_GOES_ON = ("(", "(CR2", "^", "@", " on", " by", " of")
# What a symbol means wherever the page of a method does not say otherwise.
_USUAL = {
    "n": "items",
    "z": "normal quantile of the level",
    "t": "Student's quantile of the level",
    r"\alpha": "1 less the confidence level",
}
_WORDS = re.compile(r"\\(?:text|mathrm|operatorname)\{[^{}]*\}")
# Words between symbols, not those of a subscript.
_STATED = re.compile(r"=|\\leftarrow")  # an equation stays one, whatever words are in it
_WORDS_BETWEEN = re.compile(r"(?<![_^{])\\text\{([^{}]* [^{}]*)\}")
_SUBSCRIPT = re.compile(r"_(?:\{[^{}]*\}|\\?[A-Za-z]+|\d)")
_LETTERS = "alpha|beta|delta|varepsilon|eta|theta|kappa|lambda|mu|nu|pi|rho|sigma|tau|phi|varphi|omega|Phi|Omega|ell"
_LETTER = re.compile(rf"\\(?:{_LETTERS})(?![A-Za-z])|[A-Za-z]")
_COMMAND = re.compile(rf"\\(?!(?:{_LETTERS})(?![A-Za-z]))[A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method's place and page; `rates` are pairs of a stored simulation and the method's name in it.

    `symbols` says what those of `formula` mean, apart from the usual ones; between dollar signs stands TeX.
    """

    slug: str
    names: tuple[str, ...]
    title: str
    use: str
    unless: str = ""
    formula: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict[str, str])
    checked: str = ""
    commands: tuple[str, ...]
    rates: Mapping[str, str]

    @property
    def text(self) -> MethodText:
        """What is said of it wherever it is shown."""
        return known_methods()[self.names[0]]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What every symbol of the formula means: those of its own, then the usual ones."""
        said = {each for own in self.symbols for each in symbols_in(own)}
        usual = {symbol: words for symbol, words in _USUAL.items() if symbol in symbols_in(self.formula) - said}
        return {**self.symbols, **usual}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the methods that help to answer it; `folder` holds their pages."""

    folder: str
    title: str
    methods: tuple[Method, ...]


def questions() -> tuple[Question, ...]:
    """Return all methods as they are filed."""
    with (_HERE / "methods.toml").open("rb") as file:
        read: Mapping[str, Any] = tomllib.load(file)
    return tuple(
        Question(
            folder=folder,
            title=each["title"],
            methods=tuple(_method(slug, own, each["commands"]) for slug, own in each["methods"].items()),
        )
        for folder, each in read.items()
    )


def _method(slug: str, own: Mapping[str, Any], commands: Sequence[str]) -> Method:
    taken = {"commands": commands, "rates": {}, **own}
    return Method(slug=slug, **{**taken, "names": tuple(own["names"]), "commands": tuple(taken["commands"])})


def method_pages(front: Any) -> dict[str, str]:
    """Return the pages by name; `front` makes a page's front matter of its title and further fields."""
    filed = questions()
    files = {"index.md": front("Methods", toc=False) + _INDEX + "\n".join(_all(filed)) + "\n"}
    for place, question in enumerate(filed, start=1):
        listed = [
            f"- [{for_pandoc(each.title)}]({each.slug}.md): {for_pandoc(each.text.what)}"
            for each in sorted_by_title(question)
        ]
        head = front(question.title, order=place, toc=False)
        files[f"{question.folder}/index.md"] = head + "\n".join(listed) + "\n"
        for k, each in enumerate(sorted_by_title(question), start=1):
            head = front(each.title, order=k, **{"description-meta": each.text.what})
            files[f"{question.folder}/{each.slug}.md"] = head + "\n\n".join(_parts(each)) + "\n"
    return files


_INDEX = """Every answer names its method and says why it was taken. `--explain` prints the text that stands here;
[Verdicts and defaults](../verdicts.md) says which method is taken when.

"""


def sorted_by_title(question: Question) -> list[Method]:
    """Return the methods of a question in the order of their titles."""
    return sorted(question.methods, key=lambda each: each.title.lower())


def _all(filed: Sequence[Question]) -> Iterator[str]:
    for question in filed:
        links = [f"[{for_pandoc(each.title)}]({question.folder}/{each.slug}.md)" for each in sorted_by_title(question)]
        yield f"\n## [{for_pandoc(question.title)}]({question.folder}/index.md)\n\n{' · '.join(links)}\n"


def symbols_in(tex: str) -> set[str]:
    r"""Return the letters of a formula without accents, indices and words.

    >>> sorted(symbols_in(r"\bar x \pm t_{n-1}\, s/\sqrt n + \text{rest}"))
    ['n', 's', 't', 'x']
    """
    return set(_LETTER.findall(_COMMAND.sub(" ", _SUBSCRIPT.sub(" ", _WORDS.sub(" ", tex)))))


def _with_tex(words: str) -> str:
    """Escape words for Markdown, but for what stands between dollar signs."""
    parts = (
        f"${part}$" if k % 2 else part.replace(part.strip(), for_pandoc(part))
        for k, part in enumerate(words.split("$"))
    )
    return "".join(parts)


def formula_parts(tex: str) -> Iterator[str]:
    r"""Give the parts of a formula below one another, words as a sentence: on a phone a line of all would be scrolled.

    >>> print(*formula_parts(r"m = \frac{a}{b}, \quad \text{then } m \text{ for } a"))
    $$
    m = \frac{a}{b}
    $$ then $m$ for $a$.
    """
    for part in _split_at_top(tex):
        words = _WORDS_BETWEEN.split(part)
        if len(words) > 1 and not _STATED.search(part):
            yield "".join(each if k % 2 else _inline(each) for k, each in enumerate(words) if each.strip()) + "."
        elif part.startswith(r"\text{") and part.endswith("}"):
            yield part.removeprefix(r"\text{").removesuffix("}")
        else:
            yield f"$$\n{part}\n$$"


def _inline(tex: str) -> str:
    """Set symbols inside a sentence; what TeX puts between two of them becomes a blank."""
    return " ".join(f"${each.strip(' ,')}${',' if each.rstrip().endswith(',') else ''}" for each in tex.split(r"\;"))


def _split_at_top(tex: str) -> list[str]:
    r"""Split a formula at `\quad` outside of braces."""
    parts, depth = [""], 0
    for each in re.findall(r"\\quad(?![A-Za-z])|\\[A-Za-z]+|\\.|.", tex):
        depth += {"{": 1, "}": -1}.get(each, 0)
        if each == r"\quad" and not depth:
            parts[-1] = parts[-1].rstrip(" ,")
            parts.append("")
        else:
            parts[-1] += each
    return [part.strip() for part in parts]


def _parts(method: Method) -> Iterator[str]:
    text = method.text
    yield f"*{for_pandoc(text.what[:1].upper() + text.what[1:])}.*"
    yield cited(text.how)
    if method.formula:
        yield from formula_parts(method.formula)
        if method.meanings:
            yield "; ".join(f"${symbol}$ = {_with_tex(words)}" for symbol, words in method.meanings.items()) + "\\."
    yield f"**When.** {cited(method.use)}"
    if method.unless:
        yield f"**Not when** {cited(method.unless[:1].lower() + method.unless[1:])}"
    if text.takes:
        yield f"**Takes for granted.** {cited(text.takes.rstrip('.'))}\\."
    if method.rates:
        power = any(load_validation(name).measure == "power" for name in method.rates)
        yield "## How often it finds a difference" if power else "## How often it is wrong"
        yield "\n".join(_rates(method))
        yield "All rates and how they were found: [validation](../../../gallery/validation.md)."
    yield "## Where it stands"
    yield "\n".join(_places(method))
    if text.sources:
        yield "## References"
        yield bullets([cited(source) for source in text.sources])


def _rates(method: Method) -> Iterator[str]:
    for name, row_name in method.rates.items():
        study = load_validation(name)
        rows = sorted((row for row in study.rows if row.method == row_name), key=lambda row: row.rate)
        yield f"- {for_pandoc(study.question)} {_range(study, rows)}"


def _range(study: Study, rows: Sequence[Rate]) -> str:
    """Say the lowest and the highest rate, and where they are."""
    low, high = rows[0], rows[-1]
    said = f"{_percent(low)} to {_percent(high)} over {plural(len(rows), 'case')}" if len(rows) > 1 else _percent(low)
    ends = f"{share_in_percent(study.nominal)} nominal; lowest: {low.case}; highest: {high.case}"
    return f"**{for_pandoc(said)}** ({for_pandoc(ends)})."


def _percent(row: Rate) -> str:
    return "less than 0.1%" if row.rate < 0.0005 else f"{100 * row.rate:.1f}%"


def _places(method: Method) -> Iterator[str]:
    shown = [
        f"[`{'evalstats.mixed' if name == 'mixed' else f'evalstats {name}'}`](../../reference/ask/{name}.md)"
        for name in method.commands
    ]
    if shown:
        yield f"- Shown by {', '.join(shown)}\\."
    called = [name.removeprefix("power: ") for name in method.names]
    names = [f"`{name}{' …' if name.endswith(_GOES_ON) else ''}`" for name in called]
    yield f"- Results call it {' or '.join(names)}\\."
    if method.checked:
        yield f"- Tests hold it to {for_pandoc(method.checked)}\\."
