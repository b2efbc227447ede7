"""What all results share: saved and loaded, told as a document, drawn, and written in any format."""

import dataclasses
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast, get_args, get_type_hints

import polars as pl

from evalstats.analysis.drawn import Size, address, draw, picture
from evalstats.analysis.settings import Settings, with_repeat
from evalstats.atomic import write_whole
from evalstats.document import formats, latex, pandoc
from evalstats.document import model as document_model
from evalstats.document.escape import as_json
from evalstats.document.model import Column, Document, Note, NoteKind
from evalstats.document.names import told
from evalstats.document.quarto import rendering
from evalstats.errors import InputError
from evalstats.grammar import and_list
from evalstats.record import record
from evalstats.schema.names import name_of, unknown_name
from evalstats.schema.plan import PlanAccount
from evalstats.stats import estimate as stats_estimate
from evalstats.table.metric import Direction, MetricFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Row = TypeVar("Row")


@record
class Estimate:
    """A number with its uncertainty, in the metric's own unit; rows of results are estimates of something they name.

    What cannot be estimated is None, and `reason` says why; it is never zero, NaN or an interval of no width.

    Attributes
    ----------
    conf_low, conf_high
        Ends of the interval at `conf_level`, adjusted for its family wherever `p_adjusted` is.
    df
        Degrees of freedom, where the method has them.
    estimate
        The statistic on the observed data.
    std_error
        Its standard error.
    conf_level
        Level of the interval, a proportion.
    p_value
        p of the null hypothesis, two-sided unless said otherwise; by the method of the interval where it has one.
    p_adjusted
        That p adjusted for the family that the row belongs to.
    method
        Name of the method; `explain()` says what it does.
    reason
        Why a number is missing; None where none is.
    """

    estimate: float | None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    conf_level: float = 0.95
    df: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    reason: str | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval and 0 lies outside."""
        return self.conf_low is not None and self.conf_high is not None and not self.conf_low <= 0 <= self.conf_high

    @property
    def ends(self) -> tuple[float | None, float | None] | None:
        """The interval as a pair; None where there is none."""
        return None if self.conf_low is None and self.conf_high is None else (self.conf_low, self.conf_high)


@record
class RankedRow(Estimate):
    """One model's line on a board. Its rank is a set of places, never a single one that the data do not show.

    Attributes
    ----------
    rank_low, rank_high
        Its rank set: all sets together hold the true ranks with the level asked for. 1 is the best. Counted within
        `component`; `rank_reason` says why there is none.
    rank_low_marginal, rank_high_marginal
        The set that holds this model's rank with that level, looked at alone.
    may_be_best
        Whether it is in the set that holds the best model.
    top
        For each k: whether it is in the set that holds all of the k best.
    component
        Number of the part that it can be compared with, from 1.
    """

    name: str
    rank_low: int | None = None
    rank_high: int | None = None
    rank_low_marginal: int | None = None
    rank_high_marginal: int | None = None
    rank_reason: str | None = None
    may_be_best: bool | None = None
    top: tuple[tuple[int, bool], ...] = ()
    component: int | None = None

    @property
    def ranks(self) -> str:
        """The rank set in words: "1-3", or "2" where it holds one place; a dash where there is none."""
        return _places(self.rank_low, self.rank_high)

    @property
    def ranks_marginal(self) -> str:
        """The same for the set of this model alone."""
        return _places(self.rank_low_marginal, self.rank_high_marginal)


def _places(low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return "–"
    return str(low) if low == high else f"{low}-{high}"


class Levelled(Protocol):
    """What has intervals of one level."""

    @property
    def conf_level(self) -> float: ...  # noqa: D102 (it is that level)


def level(result: Levelled) -> str:
    """Write the level of the intervals: "95%"."""
    return f"{100 * result.conf_level:g}%"


class Result:
    """The base of all results. A result is a frozen, slotted, keyword-only dataclass; its fields are what is saved.

    What is said of it stands in the module `told_by`, else in `document` beside its own; the result does not know it. The
    attributes below are those that several results, or their rows, have in one meaning.

    Attributes
    ----------
    about
        Facts of the metric: name, benchmark, kind, bounds, direction and unit.
    benchmark
        The benchmark that the scores are of.
    clusters
        Columns whose levels share something, by which standard errors are clustered; empty where items are independent.
    conf_level
        Level of the intervals, a proportion.
    contrast
        The column whose levels are compared: "model", or another.
    converged
        Whether the estimation ended at an optimum.
    dependence
        What the factors of the items are, and whether the differences go by them.
    estimand
        What is estimated, in words.
    method
        Name of the method; `explain()` says what it does.
    method_reason
        Why this method was picked.
    metric
        Name of the metric.
    n_clusters
        How many clusters there are; None where items are independent.
    n_error
        Rows without a score because the harness failed.
    n_items
        Items, each variant counted.
    n_models
        How many models there are.
    n_resamples
        How often something was resampled or simulated; None or 0 where nothing was.
    n_trials
        Scored rows behind the items.
    n_unscored
        Rows that ran and got no score.
    notes
        What a reader must know, each with what to do about it.
    origin
        Where the result comes from: runs and their digests, version, seed, plan and call.
    rank_method
        How rank sets are made.
    rank_reason
        Why there are no ranks; None where there are.
    run_differences
        Settings in which the runs differ, and how much each matters.
    scale
        What to multiply numbers by when showing them: 100 for shares.
    settings
        The call that made the result.
    tasks
        Tasks of the benchmark that the items are from; empty where it has none.
    unit
        Unit of the numbers as shown: "pp" for shares.
    factor
        The column whose levels are told apart.
    first, second
        The two that are compared.
    judge
        The judge.
    lab, live
        Scores in the lab and live.
    level
        The level of the factor.
    model
        The model.
    models
        The models.
    n_levels
        How many levels there are.
    n_pairs
        How many pairs there are.
    n_units
        Things rated or counted (answers, pairs, sessions) behind it.
    n_votes
        Votes behind it.
    name
        The model, system, judge or scenario that it is about.
    period
        The period of time.
    rater
        The rater.
    runs
        The runs behind it.
    scenario
        The scenario.
    statistic
        The test statistic.
    term
        What is tested or estimated.
    verdict
        What is concluded.
    """

    __slots__ = ()
    told_by: ClassVar[str] = ""

    def document(self) -> Document:
        """Return what is said of the result: answer, evidence, method."""
        beside = import_module(self.told_by or f"{type(self).__module__.rpartition('.')[0]}.document")
        settings, document = getattr(self, "settings", None), beside.document(self)
        document = told(dataclasses.replace(document, names=tuple(sorted(_names_in(self)))))
        return document if settings is None else with_repeat(document, settings)

    @property
    def answered(self) -> bool:
        """Whether the data could answer the question."""
        return getattr(self, "verdict", "") != "invalid"

    def to_frame(self) -> "pl.DataFrame":
        """Return tidy rows in glossary names, a Polars frame; it shows what answers first, rounded, and holds every digit."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-safe values: what `save` writes and `--format json` prints."""
        return {"result": type(self).__name__, **json_safe(self)}

    def brief(self) -> dict[str, Any]:
        """Return the answer as JSON-safe values of at most 2 kB: what `--format brief` prints.

        Examples
        --------
        >>> import evalstats as es
        >>> es.compare(es.datasets.tenacious_held_out(), "baseline", "trained").brief()["verdict"]
        'inconclusive'
        """
        return import_module("evalstats.analysis.brief").brief(self)

    def save(self, path: str | Path) -> None:
        """Write the result as JSON; `evalstats.load_result` gives the same object back.

        InputError if the file cannot be written.
        """
        try:
            write_whole(Path(path), as_json(self.to_dict(), indent=1) + "\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error

    def log(self, run: object, *, name: str = "evalstats", step: int | None = None, page: bool = True) -> None:
        """Log the answer to a run of an experiment tracker: numbers as metrics, verdict as a tag, page and JSON as artefacts.

        `run` is `mlflow` (its active run), a run of MLflow or Weights & Biases, a `SummaryWriter` of TensorBoard, or an
        experiment of Comet; anything else is an InputError. Metrics are called "evalstats/estimate" and so on by `name`.
        The page needs the extra `report`; page=False leaves it out.
        """
        import_module("evalstats.exporters.trackers").log(self, run, name=name, step=step, page=page)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` was made of.

        InputError if the values are of another kind of result, or of another version of it.
        """
        import msgspec

        if values.get("result", cls.__name__) != cls.__name__:
            raise InputError(f"this is a {values['result']}, not a {cls.__name__}")
        try:
            own = {name: value for name, value in values.items() if name != "result"}
            return msgspec.convert(own, cls, dec_hook=lambda of, part: of.of_saved(part))
        except (msgspec.ValidationError, UnicodeError, OverflowError) as error:
            raise InputError(f"not a {cls.__name__} of this version of evalstats: {error}") from error

    def summary(self) -> str:
        """Return the answer as sentences."""
        return formats.summary(self.document())

    def explain(self) -> str:
        """Return the answer, and in plain words how it was reached, what that assumes and what would change it."""
        return formats.explanation(self.document())

    def figure(
        self,
        name: str | None = None,
        *,
        ax: "Axes | None" = None,
        size: Size = None,
        theme: Literal["light", "dark"] | None = None,
    ) -> "Figure":
        """Draw a figure with matplotlib: the answer's, or the one of this name.

        It follows matplotlib's settings and style sheets (fonts, letters' size, the figure's ground); its colours are those
        that read on its ground.

        Parameters
        ----------
        ax
            Axes to draw in, of any size; what is drawn fits itself to them whenever their size changes.
        size
            Inches: the width, or width and height; "screen", "phone" or "print" for the looks of a page.
        theme
            The ground of a figure of its own; by itself that of matplotlib's settings.

        Raises
        ------
        InputError
            If the result has no such figure.
        """
        return draw(self._figure_of(name), ax=ax, size=size, theme=theme)

    def figure_frame(self, name: str | None = None) -> pl.DataFrame:
        """Return the rows that a figure draws, in glossary names, for seaborn, plotnine or Altair.

        Raises
        ------
        InputError
            If the result has no such figure.

        Examples
        --------
        >>> import evalstats as es
        >>> found = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained")
        >>> found.figure_frame().select("label", "estimate", "conf_low", "conf_high").shape
        (1, 4)
        """
        return pl.DataFrame(dict(self._figure_of(name).rows), strict=False)

    def _figure_of(self, name: str | None) -> document_model.Figure:
        figures = self.document().figures
        if not figures:
            raise InputError(f"this {type(self).__name__} has nothing to draw; its numbers: to_frame()")
        chosen = figures.get(name or next(iter(figures)))
        if chosen is None:
            raise InputError(f"no figure {name!r} in this result; it has {', '.join(figures)}")
        return chosen

    def to_markdown(self, table: str | None = None) -> str:
        """Return the result, or one of its tables by name, as GitHub-flavoured Markdown."""
        document = self.document()
        return formats.markdown_table(formats.table_named(document, table)) if table else formats.to_markdown(document)

    def to_html(self, table: str | None = None) -> str:
        """Return the result, or one of its tables by name, as an HTML fragment."""
        document = self.document()
        return formats.html_table(formats.table_named(document, table)) if table else formats.to_html(document)

    def to_latex(
        self,
        table: str | None = None,
        *,
        caption: str | None = None,
        label: str = "",
        columns: str | Sequence[str] = (),
    ) -> str:
        """Return the result, or one of its tables by name, as LaTeX (booktabs, nothing else).

        Parameters
        ----------
        caption, label
            Of the one table: a caption instead of its own ("" for none), and what a reference finds it by.
        columns
            Titles of the columns to show, in this order; none: all that say anything.

        Raises
        ------
        InputError
            If the result has no such table, or the table no such column.
        """
        document = self.document()
        if table:
            return latex.latex_table(
                formats.table_named(document, table), caption=caption, label=label, columns=columns
            )
        if caption is not None or label or columns:
            known = ", ".join(document.tables) or "none"
            raise InputError(
                f"caption, label and columns are of one table: name it, as in to_latex('scores'); it has {known}"
            )
        return latex.to_latex(document)

    def to_gt(self, table: str | None = None) -> Any:
        """Return one of the result's tables by name, by itself the leading one, as a `great_tables.GT` to restyle.

        InputError if the result has no such table, or great-tables is not installed.
        """
        document = self.document()
        chosen = formats.table_named(document, table) if table else document.leading_table
        if chosen is None:
            raise InputError(f"a {type(self).__name__} without such numbers has no table")
        return formats.great_table(chosen.without_empty_columns())

    def _repr_markdown_(self) -> str:
        return pandoc.to_pandoc(self.document(), picture=picture)

    def _repr_html_(self) -> str | None:
        # Quarto prefers HTML to Markdown on a page, and would load scripts for it.
        into = rendering()
        return None if into.base else formats.to_html(self.document(), partial(address, into=into))


@record
class Origin:
    """Where a result comes from: its data, the version and seed that made it, and the call and plan that asked for it.

    `sources` are the runs behind it, each with the digest of its file ("" where there is none).

    Attributes
    ----------
    sources
        (run, SHA-256 of its file) of each run; "" where there is no digest.
    version, seed
        The version of evalstats, and the seed of everything random.
    plan
        The declared plan that was in force.
    """

    sources: tuple[tuple[str, str], ...] = ()
    version: str = ""
    seed: int = 0
    plan: PlanAccount | None = None
    settings: Settings | None = field(default=None, compare=False)

    def section(self, seed: str | None = None) -> document_model.Section:
        """Return the part of a document that says so; `seed` is what to say of the seed, if not the number alone."""
        seed, plan = str(self.seed) if seed is None else seed, self.plan
        said = [f"evalstats {self.version}{f'; seed {seed}' if seed else ''}."]
        if plan is not None:
            declared = (
                "; ".join(f"{name} {value}" for name, value in plan.declared) or "nothing that concerns this question"
            )
            departures = "".join(f" {text}." for text in plan.departures)
            which = f"{plan.source or 'given in code'}, digest {plan.digest[:12]}"
            said.insert(0, f"Declared plan: {which}: {declared}.{departures}")
        blocks: list[document_model.Block] = [document_model.Items(items=tuple(said))]
        if any(digest for _, digest in self.sources):
            files: dict[str, list[str]] = {}
            for run, digest in self.sources:
                files.setdefault(digest or "no digest", []).append(run)
            runs, digests = zip(*self.sources, strict=True)
            table = document_model.Table(
                id="runs",
                columns=(Column(title="Runs", kind="name"), Column(title="SHA-256 of their file", kind="text")),
                rows=tuple((and_list(runs, 2), digest) for digest, runs in files.items()),
                caption="The runs and the digests of their files",
                most=8,
                frame={"run": runs, "source_digest": digests},
            )
            blocks.append(table)
        return document_model.Section(id="provenance", heading="Where the numbers come from", blocks=tuple(blocks))


class OfOrigin:
    """A result that says where it comes from."""

    __slots__ = ()
    origin: Origin

    @property
    def plan(self) -> PlanAccount | None:
        """The plan that was in force, and where the result departs from it."""
        return self.origin.plan

    @property
    def settings(self) -> Settings | None:
        """The call that made the result."""
        return self.origin.settings


class OfMetric(OfOrigin):
    """What a result says of the metric that it is about, and where it comes from."""

    __slots__ = ()
    about: MetricFacts

    @property
    def benchmark(self) -> str:
        """The benchmark that the scores are of."""
        return self.about.benchmark

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.about.name

    @property
    def metric_kind(self) -> str:
        """Kind of the metric: binary, proportion, bounded, ordinal or continuous."""
        return self.about.kind

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better."""
        return self.about.higher_is_better

    @property
    def direction(self) -> Direction:
        """How that is known: "declared", "assumed", or "asked", where the name suggests the reverse and nothing declares it."""
        return self.about.direction

    @property
    def scale(self) -> float:
        """What to multiply numbers by when showing them: 100 for shares."""
        return self.about.scale

    @property
    def unit(self) -> str:
        """Unit of a difference as shown: "pp" for shares."""
        return self.about.shown_unit


def show(result: Result, *names: str, caption: bool = True) -> None:
    r"""Show parts of a result in a notebook or a Quarto document, whatever its format; elsewhere print them as Markdown.

    Parameters
    ----------
    result
        What a question returned.
    *names
        "answer" (by itself), "evidence", "method", or sections by id, such as "flips".
    caption
        Whether figures and tables have captions; not where the cell's `fig-cap` or `tbl-cap` is one.

    Raises
    ------
    InputError
        If the result has no such part; it names those that it has.

    Examples
    --------
    >>> import evalstats as es
    >>> es.show(es.compare(es.datasets.tenacious_held_out(), "baseline", "trained"), "flips")  # doctest: +ELLIPSIS
    **`trained` gained 21 items and lost none\.**
    ...
    """
    notebook = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    text = pandoc.to_pandoc(
        result.document(), names or ("answer",), picture=picture if notebook else None, caption=caption
    )
    if notebook:
        import IPython.display

        untyped: Any = IPython.display
        untyped.display(untyped.Markdown(text))
    else:
        print(text)


# Fields that hold names.
_NAMES = frozenset(
    {"name", "model", "models", "system", "systems", "metric", "judge", "first", "second", "leader", "baseline", "item"}
    | {"factor", "clusters", "scenario", "level", "task", "tasks", "rater", "by", "contrast", "candidate"}
)
_NUMBERS = frozenset({int, float, bool, type(None)})  # most of what a result holds
_MOST_ROWS = 500  # of a list that names are taken from


def _names_in(value: object, field_name: str = "") -> set[str]:
    """Return the names that a result is about."""
    if isinstance(value, str):
        return {value} if field_name in _NAMES else set()
    if isinstance(value, tuple):
        parts = [(part, field_name) for part in cast("tuple[object, ...]", value)[:_MOST_ROWS]]
    elif dataclasses.is_dataclass(value) and not isinstance(value, Origin | Note | Settings):
        parts = [(getattr(value, name), name) for name in _field_names(type(value))]
    else:
        return set()
    return {name for part in parts if part[0].__class__ not in _NUMBERS for name in _names_in(*part)}


def row_named(rows: Iterable[Row], name: str, *, what: str = "model", key: str = "name") -> Row:
    """Return the row of a model, scenario or the like; a number stands for its name.

    InputError if there is none; it names the closest.
    """
    found = {str(getattr(row, key)): row for row in rows}
    name = name_of(name)
    if name in found:
        return found[name]
    raise InputError(unknown_name(name, list(found), what=what))


def shown_numbers(rows: Sequence[Estimate], scale: float) -> dict[str, list[float | None]]:
    """Return the estimates of rows and the ends of their intervals as columns of a figure, in the unit that is shown."""
    found = columns(rows, "estimate", "conf_low", "conf_high")
    return {name: scaled_values(values, scale) for name, values in found.items()}


def scaled_values(values: Iterable[float | None], scale: float) -> list[float | None]:
    """Return numbers in the unit that is shown."""
    return [None if value is None else value * scale for value in values]


def finite(value: float) -> float | None:
    """Return a number that is known; None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def notes(kind: NoteKind, texts: Iterable[str], *, caution: bool = True, remedy: str = "") -> tuple[Note, ...]:
    """Return sentences as notes of one kind."""
    return tuple(Note(kind=kind, text=text, remedy=remedy, caution=caution) for text in texts)


def columns(rows: Iterable[object], *names: str) -> dict[str, list[Any]]:
    """Return fields of rows as columns, such as a figure takes them."""
    listed = list(rows)
    return {name: [getattr(row, name) for row in listed] for name in names}


def as_columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as columns; None where a row has no such name."""
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def frame_of(rows: Iterable[object], of: type, columns: Iterable[str]) -> "pl.DataFrame":
    """Return fields of rows of a dataclass as a frame whose types do not depend on what the rows happen to hold."""
    import polars as pl

    hints, known = get_type_hints(of), {
        str: pl.String(), bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64(), date: pl.Date(),
    }  # fmt: skip
    schema: dict[str, pl.DataType] = {
        name: next((known[each] for each in (hints[name], *get_args(hints[name])) if each in known), pl.String())
        for name in columns
    }
    return pl.DataFrame([{name: getattr(row, name) for name in schema} for row in rows], schema=schema)


_PLAIN = frozenset({str, int, bool, float, type(None)})


@cache
def _field_names(of: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(of))


def json_safe(value: object) -> Any:
    """Return `value` as JSON can hold it: dataclasses as objects, tuples as arrays, non-finite numbers as null.

    >>> json_safe({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    kind = type(value)
    if kind in _PLAIN:  # nearly all values of a result are one of these, and it may hold a million
        return value if kind is not float or math.isfinite(cast("float", value)) else None
    if dataclasses.is_dataclass(kind):
        return {name: json_safe(getattr(value, name)) for name in _field_names(kind)}
    if isinstance(value, Mapping):
        return {str(key): json_safe(part) for key, part in cast("Mapping[object, object]", value).items()}
    if isinstance(value, str | int):
        return value
    if hasattr(value, "to_saved"):  # rows that are saved by columns
        return json_safe(cast("Any", value).to_saved())
    if isinstance(value, Sequence | set | frozenset):
        return [json_safe(part) for part in cast("Sequence[object]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


Role = Literal["headline", "check", "second interval", "other estimand", "sensitivity"]


@record
class MethodRow(Estimate):
    """One way to compute one quantity. Numbers are in the metric's own unit (proportions, not percentage points).

    `term` is what is estimated: "difference", "baseline", "candidate", or a name of a further quantity.

    Attributes
    ----------
    term
        What is estimated: "difference", "baseline", "candidate", or a further quantity.
    role
        "headline" decides; "check" and "second interval" are of the same quantity, "other estimand" and "sensitivity" of
        another.
    statistic
        Test statistic behind the p-value.
    note
        What to know before the number is used.
    """

    term: str
    role: Role
    estimate: float | None = None
    statistic: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    note: str = ""


def estimated(found: "stats_estimate.IntervalEstimate | Estimate", **changes: Any) -> dict[str, Any]:
    """Return the fields of an `Estimate` that a statistic gives, with changes, to be spread into a row of a result."""
    names = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "df", "p_value", "method", "reason")
    return {**{name: getattr(found, name) for name in names}, **changes}


def method_row(
    found: stats_estimate.IntervalEstimate, role: Role, note: str = "", *, term: str = "difference"
) -> MethodRow:
    """Copy an estimate into a row; the reason for a missing interval joins the note."""
    parts = [part for part in (note, found.reason) if part]
    return MethodRow(
        **estimated(found, reason=None),
        term=term,
        role=role,
        statistic=found.statistic,
        n_items=found.n,
        n_clusters=found.n_clusters,
        n_resamples=found.n_resamples,
        note="; ".join(parts),
    )


_COLUMNS = {
    **dict.fromkeys(("term", "method", "role"), pl.String),
    **dict.fromkeys(
        ("conf_level", "estimate", "std_error", "conf_low", "conf_high", "statistic", "df", "p_value"), pl.Float64
    ),
    **dict.fromkeys(("n_items", "n_clusters", "n_resamples"), pl.Int64),
    "note": pl.String,
}


def rows_frame(rows: tuple[MethodRow, ...]) -> pl.DataFrame:
    """Return method rows as a frame with glossary names."""
    return pl.DataFrame([{name: getattr(row, name) for name in _COLUMNS} for row in rows], schema=_COLUMNS)
