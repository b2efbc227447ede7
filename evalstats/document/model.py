"""What is said of a result, once: an answer, the evidence for it and the method, neither laid out nor escaped.

A `Document` is made by the `document.py` of an analysis. The terminal, a page, Markdown, HTML, LaTeX, `summary()` and
`explain()` are views of it. Texts are plain; every view escapes for itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

from evalstats.document.numbers import MINUS, interval_words, number, p_value, titled
from evalstats.errors import Advice, written
from evalstats.record import record

Tone = Literal["good", "bad", "caution", "neutral"]
NoteKind = Literal[
    "simulated",  # the data are not of the world
    "gate",  # a rule of a gate that the answer does not pass
    "withheld",  # the data are partial, or some were withheld
    "direction",  # which way is better is not declared
    "scale",  # scores of doubtful scale, or codes among them
    "comparability",  # runs differ in something that matters
    "average",  # another average of the same scores answers differently
    "dependence",  # items share something that no cluster declares
    "missing",  # scores are missing
    "few",  # too few items, clusters, votes or runs
    "fit",  # a model did not converge, is singular, or does not fit
    "selection",  # the best of many, looked at many times
    "plan",  # departs from what was declared
    "trust",  # manipulation, contamination
    "left_out",  # rows, models or items were set aside
    "choice",  # what was chosen without being asked
    "source",  # what a file says of itself
]
Kind = Literal["text", "name", "amount", "number", "interval", "p", "count", "verdict", "link"]
_LARGE = 20  # times the last digit: a difference of that size shows what the digit is worth
Value = str | float | int | tuple[float | None, float | None] | None


@record
class Note:
    """What a reader must know beside the answer: the consequence in `text`, what to do about it in `remedy`.

    A `caution` limits what the answer may be used for and is shown by default; the others stand with the method.

    Attributes
    ----------
    kind
        What it is about, from a closed list: "dependence", "missing", "runs", ...
    text
        The consequence, a sentence without its full stop.
    remedy
        What to do about it, with the options to give.
    caution
        Whether it limits what the answer may be used for.

    Examples
    --------
    >>> from evalstats.errors import Option
    >>> remedy = ("Add ", Option("cluster", "passage"))
    >>> Note(kind="dependence", text="Items of one passage behave alike", remedy=remedy).line
    "Items of one passage behave alike. Add cluster='passage'."
    """

    kind: NoteKind
    text: str
    remedy: Advice = ""
    caution: bool = True

    @property
    def line(self) -> str:
        """Text and remedy as one line."""
        return " ".join(sentence(part) for part in (self.text, written(self.remedy)) if part)


@record
class Text:
    """A paragraph."""

    text: str


@record
class Items:
    """Short statements, one a line."""

    items: tuple[str, ...]


@record
class Code:
    """Lines of Python, or of a shell, that give the same result."""

    code: str
    language: Literal["python", "sh"] = "python"


@record
class Column:
    """A column of a table: its title, and how its values are written.

    `name` cells may be cut where all agree; an `amount` is text that stands on the right; a `number` is multiplied by
    `scale` and written with `digits`; an `interval` is a pair of ends; `verdict` cells take the tone of their word from
    `Table.tones`, `link` cells are addresses. A `spare` column is left out where there is little room. In a `plain` one a
    difference too small for `digits` is written as 0.0, since its neighbours show what these digits are worth; elsewhere it
    gets digits of its own.
    """

    title: str
    kind: Kind = "text"
    digits: int = 1
    scale: float = 1.0
    sign: bool = False
    spare: bool = False
    plain: bool = False

    @property
    def left(self) -> bool:
        """Whether its cells are words, which stand on the left."""
        return self.kind in ("text", "name", "verdict", "link")

    def written(self, value: Value) -> str:
        """Return a value as text.

        >>> Column(title="p", kind="p").written(0.0312), Column(title="CI", kind="interval").written((1.0, -2.5))
        ('0.031', '1.0 to −2.5')
        """
        if value is None:
            return "–"
        if isinstance(value, tuple):
            return interval_words(value[0], value[1], self.scale, self.digits, sign=self.sign)
        if isinstance(value, str):
            return value
        if self.kind == "p":
            return p_value(value)
        if self.kind == "count":
            return f"{int(value):,}".replace("-", MINUS)
        shown = value * self.scale
        return number(round(shown, self.digits) if self.plain else shown, self.digits, sign=self.sign)

    def fills(self, value: Value) -> bool:
        """Whether a difference is large enough for its digits to say something of it."""
        return (
            self.kind == "number"
            and self.sign
            and isinstance(value, int | float)
            and abs(value * self.scale) >= _LARGE * 10.0**-self.digits
        )


class Measured(Protocol):
    """What has numbers in one unit, with intervals of one level: a result about one metric."""

    @property
    def conf_level(self) -> float: ...  # noqa: D102 (the level of its intervals)
    @property
    def scale(self) -> float: ...  # noqa: D102 (what numbers are multiplied by where they are shown)
    @property
    def unit(self) -> str: ...  # noqa: D102 (of differences, where scores have another)


def number_column(
    result: Measured, title: str, unit: str | None = None, *, digits: int = 1, sign: bool = False, spare: bool = False
) -> Column:
    """Return a column of a result's numbers, its unit in the title: that of differences, unless another is given."""
    unit = result.unit if unit is None else unit
    return Column(title=titled(title, unit), kind="number", scale=result.scale, digits=digits, sign=sign, spare=spare)


def interval_column(
    result: Measured,
    title: str = "",
    *,
    scale: float | None = None,
    digits: int = 1,
    sign: bool = False,
    spare: bool = False,
) -> Column:
    """Return the column of a result's intervals, titled by their level."""
    title, scale = title or f"{100 * result.conf_level:.5g}% CI", result.scale if scale is None else scale
    return Column(title=title, kind="interval", scale=scale, digits=digits, sign=sign, spare=spare)


class LateColumns(Mapping[str, Sequence[object]]):
    """The columns of a long table for its CSV, made where they are asked for.

    >>> columns = LateColumns(lambda: {"item": ["q1"]})
    >>> columns["item"], len(columns)
    (['q1'], 1)
    """

    def __init__(self, make: Callable[[], Mapping[str, Sequence[object]]]) -> None:
        self._make = make

    @cached_property
    def _columns(self) -> Mapping[str, Sequence[object]]:
        return self._make()

    def __getitem__(self, name: str) -> Sequence[object]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@record
class Table:
    """Rows of values as they are; columns say how they are written.

    Attributes
    ----------
    id
        Lower-case words joined by hyphens, the only one of its document; `to_latex("scores")` finds the table by it.
    caption
        What the table shows, in one sentence; the heading above it says what follows from that.
    tones
        Words of a `verdict` column that stand out.
    lead
        Whether the first row is the one that decides.
    most
        So many rows are shown where there is little room; 0: all.
    frame
        The rows in full for the CSV beside the table, as columns; empty: those of the table.
    """

    id: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    tones: Mapping[str, Tone] = field(default_factory=dict[str, Tone])
    lead: bool = False
    most: int = 0
    frame: Mapping[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])

    @property
    def has_links(self) -> bool:
        """Whether its rows can be opened elsewhere, which no drawing shows."""
        return any(column.kind == "link" for column in self.columns)

    def written(self, most: int | None = None) -> tuple[tuple[str, ...], ...]:
        """Return the cells of the first rows, by default of all, as text."""
        columns = [
            replace(column, plain=any(column.fills(row[place]) for row in self.rows))
            for place, column in enumerate(self.columns)
        ]
        return tuple(
            tuple(column.written(value) for column, value in zip(columns, row, strict=True)) for row in self.rows[:most]
        )

    def beginning(self, most: int) -> "tuple[Table, str]":
        """Return the table with its first rows, and how many of all these are; "" where it has no more."""
        n = len(self.rows)
        return (self, "") if n <= most else (replace(self, rows=self.rows[:most]), f"The first {most} of {n:,} rows")

    def without_empty_columns(self) -> "Table":
        """Return the table without columns in which no row says anything."""
        kept = [
            i
            for i, column in enumerate(self.columns)
            if not self.rows or any(column.written(row[i]).strip(" –") for row in self.rows)
        ]
        return self.only(kept)

    def only(self, places: Sequence[int]) -> "Table":
        """Return the table with the columns at these places, in their order."""
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=rows)


@record
class Figure:
    """A drawing as a reference: a function of `evalstats.plots` by name, the rows it draws, and what they show in words.

    `table` says the same in cells, for views that cannot draw; beside a drawing it is not shown, since it would repeat it.
    """

    id: str
    plot: str
    rows: Mapping[str, Sequence[object]]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    alt: str
    caption: str = ""
    table: Table | None = None

    @property
    def single(self) -> bool:
        """Whether it has one mark."""
        return all(len(column) == 1 for column in self.rows.values())


@record
class Tabs:
    """The same thing for several metrics or slices: a page shows one at a time, all else one after another.

    `title` says what the panels are of; headings of panels are short names, such as those of metrics.
    """

    id: str
    title: str
    panels: "tuple[Section, ...]"


@record
class SideBySide:
    """Two texts beside each other, as a reader compares them: what was answered to one question, each with its title.

    `above` are texts that belong to both (the question, what was expected), each with its title. Lines stay lines.
    """

    title: str
    above: tuple[tuple[str, str], ...]
    left: tuple[str, str]
    right: tuple[str, str]


Block = Text | Items | Code | Table | Figure | Tabs | SideBySide


@record
class Section:
    """A part under a heading that states what was found in it. `id`: lower-case words joined by hyphens.

    One without `news` (all methods agree, no check failed) is folded away with the method, wherever it stands.
    """

    id: str
    heading: str
    blocks: tuple[Block, ...]
    news: bool = True


@record
class Interval:
    """The number that answers with its interval, as it is drawn beside the number.

    Attributes
    ----------
    estimate, low, high, origin, margin
        As they are, shown times `scale` with `digits` and `unit`. `origin` is the value that would be no news: 0 of a difference.
    sides
        What it says to lie below and above the origin, the better side first if `falling`.
    bounds
        The ends of the scale, where it has some; without an origin the whole scale is drawn.
    others, others_words
        What else is drawn on the scale, as dots (the scores of the other models), and the words that say so.
    conf_level, method, counts
        From these a page computes the interval again when its reader moves the level; without counts it cannot.
    p_value
        The p that is printed beside it, where there is one.

    Examples
    --------
    >>> drawn = Interval(estimate=0.488, low=0.346, high=0.632, origin=0.0, bounds=(-1.0, 1.0))
    >>> [round(end, 2) for end in drawn.axis]
    [0.0, 0.73]
    """

    estimate: float
    low: float
    high: float
    scale: float = 1.0
    digits: int = 1
    unit: str = ""
    origin: float | None = None
    margin: float = 0.0
    sides: tuple[str, str] = ("", "")
    falling: bool = False
    bounds: tuple[float, float] | None = None
    others: tuple[float, ...] = ()
    others_words: str = ""
    conf_level: float = 0.95
    method: str = ""
    counts: tuple[int, ...] = ()
    p_value: float | None = None

    @property
    def axis(self) -> tuple[float, float]:
        """The values at both ends of the drawing: those of other levels, up to 99.9%, have room beside the interval."""
        if self.origin is None and self.bounds is not None:
            return self.bounds
        room = 0.35 * (self.high - self.low)
        ends = [self.low - room, self.high + room]
        if self.bounds is not None:
            ends = [max(ends[0], self.bounds[0]), min(ends[1], self.bounds[1])]
        known = [] if self.origin is None else [self.origin - self.margin, self.origin + self.margin]
        shown = [*ends, *known, *self.others]
        return min(shown), max(shown)


def drawn_interval(
    estimate: float | None, ends: tuple[float | None, float | None] | None, **shown: Any
) -> Interval | None:
    """Return an estimate with its interval as it is drawn, where it has both ends; `shown` are other fields of `Interval`."""
    low, high = ends or (None, None)
    if estimate is None or low is None or high is None or not low < high:
        return None
    return Interval(estimate=estimate, low=low, high=high, **shown)


def listed(name: str, heading: str, texts: Iterable[str]) -> Section:
    """Return a section of short statements, each a sentence; one without a block where there are none."""
    lines = tuple(sentence(text) for text in texts if text)
    return Section(id=name, heading=heading, blocks=(Items(items=lines),) if lines else ())


def works_section(works: Iterable[str]) -> Section:
    """Return the works that methods come from, by author; without full stops, which a link would take in."""
    lines = tuple(sorted({*works}))
    return Section(id="references", heading="References", blocks=(Items(items=lines),) if lines else ())


@record
class Document:
    """All that is said of one result.

    Attributes
    ----------
    kind
        The question: the name of its command and of its page.
    title
        The question as asked of these data; the headline answers it.
    label, tone
        The answer in a word or two, and its colour.
    headline
        The answer in one sentence of at most 15 words (names not counted).
    number, number_words
        The number that answers, with its unit ("+48.8 pp"); its interval and what it is of ("95% CI 34.6 to 63.3, p < 0.001").
        Empty where no number can be claimed. `interval` is the same number to be drawn.
    scope
        One line: for which items, users, models the answer holds, and what it rests on.
    answer
        What else belongs to the answer: at most one figure and a sentence or two.
    notes
        Cautions first. Those of kind "simulated" and "withheld" come before any verdict.
    actions
        What to do about it.
    worst
        The items to open first, where single items speak against the answer.
    evidence, method
        Parts in the order that a sceptic asks; the method is folded away on a page, and an appendix of a PDF.
    names
        What it is about, by name: the systems, metrics and items that its sentences set apart.
    """

    kind: str
    title: str
    label: str
    tone: Tone
    headline: str
    number: str = ""
    number_words: str = ""
    interval: Interval | None = None
    scope: str = ""
    answer: tuple[Block, ...] = ()
    notes: tuple[Note, ...] = ()
    actions: tuple[str, ...] = ()
    worst: Table | None = None
    evidence: tuple[Section, ...] = ()
    method: tuple[Section, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def banners(self) -> tuple[Note, ...]:
        """What data these are, where that must be said before any verdict."""
        return tuple(note for note in self.notes if note.kind in ("simulated", "withheld"))

    @property
    def cautions(self) -> tuple[Note, ...]:
        """What limits the use of the answer."""
        return tuple(note for note in self.notes if note.caution and note not in self.banners)

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What else is known, for the part on the method."""
        return tuple(note for note in self.notes if not note.caution and note not in self.banners)

    @property
    def below(self) -> str:
        """Number, interval and scope as sentences, which stand below the headline."""
        number = ", ".join(part for part in (self.number, self.number_words) if part)
        return " ".join(sentence(part) for part in (number, self.scope) if part)

    @property
    def notes_section(self) -> tuple[Section, ...]:
        """The remarks as a section behind the method; none where there are none."""
        lines = tuple(note.line for note in self.remarks)
        return (Section(id="notes", heading="Notes", blocks=(Items(items=lines),)),) if lines else ()

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections: evidence, then method."""
        return (*self.evidence, *self.method)

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by id, those that stand for a figure too."""
        found: dict[str, Table] = {}
        for block in self._blocks():
            table = block.table if isinstance(block, Figure) else block
            if isinstance(table, Table):
                found[table.id] = table
        return found

    @property
    def leading_table(self) -> Table | None:
        """The first table of the answer, or of the evidence; one that stands for a figure too."""
        blocks = _flat([*self.answer, *(block for section in self.evidence for block in section.blocks)])
        tables = (block.table if isinstance(block, Figure) else block for block in blocks)
        return next((table for table in tables if isinstance(table, Table)), None)

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by id; the first is the answer's."""
        return {block.id: block for block in self._blocks() if isinstance(block, Figure)}

    def section(self, name: str) -> Section | None:
        """Return the section with this id, if the result has it."""
        return next((each for each in self.sections if each.id == name), None)

    def _blocks(self) -> list[Block]:
        return _flat([*self.answer, *(block for section in self.sections for block in section.blocks)])


def _flat(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with those of panels in their place."""
    return [
        each
        for block in blocks
        for each in (
            _flat([inner for panel in block.panels for inner in panel.blocks]) if isinstance(block, Tabs) else [block]
        )
    ]


def sentence(text: str) -> str:
    """End with a full stop. It begins as it is written, since its first word may be a name.

    >>> sentence("Two items are missing"), sentence("baseline has none!"), sentence("")
    ('Two items are missing.', 'baseline has none!', '')
    """
    stripped = text.strip()
    return stripped if not stripped or stripped.endswith((".", "!", "?")) else f"{stripped}."
