"""A sheet of answers for people to label: drawn with known chances, for a spreadsheet or Label Studio, read back as ratings.

Two files: the sheet, for whoever labels, and a key that says which answer each row is, with what chance it was drawn and what
the judge says. Rows stand in random order, so that a sheet filled to some row is a random part of all.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, Self
from xml.sax.saxutils import quoteattr

import msgspec
import numpy as np
import polars as pl

from evalstats.analysis.design.entries import entries_of
from evalstats.analysis.design.labels import corrected_score
from evalstats.analysis.design.metric import difference_in_unit, suite_between
from evalstats.atomic import write_whole
from evalstats.document.escape import for_csv, one_line
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import comma_list, plural
from evalstats.loaders.ratings import from_ratings, read_table
from evalstats.loaders.values import as_number, as_text, word_score
from evalstats.record import record
from evalstats.regular import read_regular
from evalstats.schema.columns import HELPER, OUTCOMES
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.raters.correction import FEWEST_LABELS, judged_pair, labels_needed, powered_difference
from evalstats.stats.raters.label_sample import draw_sample, label_strata, neyman_allocation
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable, refuse_unpaired

_THOUSANDS = re.compile(r"-?\d{1,3},\d{3}")
_YES_OR_NO = frozenset({"yes", "no", "true", "false"})
How = Literal["random", "stratified", "disagreement"]
_FORMAT, _VERSION = "evalstats label sheet", 1
_KEY = ("task", "item", "variant")


class SheetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to label: its name on the sheet, which answer it is, and where and with what chance it was drawn."""

    row: str
    task: str
    item: str
    variant: str
    model: str
    stratum: int
    shown: dict[str, str] = {}


@record
class LabelSheet:
    """Answers drawn for people to label, and the labels that there are.

    Attributes
    ----------
    metric
        What the judge scored; labels are on its scale.
    systems, judged
        Whose answers, and the judge's scores of all items that were drawn from, float64 of shape (n_items, n_systems).
    how, seed
        How items were drawn.
    sizes
        Items in each stratum; one for a random draw.
    places
        Of every drawn item the place in `judged`, in the order of the sheet.
    rows
        The answers, system by system within an item.
    labels
        A label by the name of its row.
    blind
        Whether the sheet hides which system gave an answer.
    """

    metric: MetricFacts
    systems: tuple[str, ...]
    judged: list[list[float]]
    how: How
    seed: int
    sizes: tuple[int, ...]
    places: tuple[int, ...]
    rows: tuple[SheetRow, ...]
    blind: bool = False
    labels: dict[str, float] = field(default_factory=dict[str, float])

    def __repr__(self) -> str:
        """One line: how much is labelled."""
        return f"<LabelSheet: {self.n_filled} of {plural(len(self.places), 'item')} labelled>"

    def write(self, path: str | Path) -> None:
        """Write the sheet (.csv, or .json for Label Studio) and its key, each whole or not at all.

        InputError if a file is there that holds labels, or is no sheet.
        """
        path = Path(path)
        if path.suffix not in (".csv", ".json"):
            raise InputError(f"{path}: a sheet is a table (.csv) or tasks for Label Studio (.json)")
        if path.exists():
            if not key_path(path).exists():
                raise InputError(
                    f"{path}: is there and no sheet of ours; name another file: {Option('output', blank='FILE')}"
                )
            if n := len(open_labels(path).labels):
                raise InputError(
                    f"{path}: holds {plural(n, 'label')}, and a new draw would lose them; read it, or name another file"
                )
        elif key_path(path).exists():
            raise InputError(
                f"{key_path(path)}: is the key of a sheet that lies elsewhere, without which its labels are lost; name "
                f"another file: {Option('output', blank='FILE')}"
            )
        write_whole(key_path(path), self._key_text())
        write_whole(path, self._csv() if path.suffix == ".csv" else self._tasks())

    def _key_text(self) -> str:
        return (
            msgspec.json.encode(_Key(format=_FORMAT, version=_VERSION, sheet=replace(self, labels={}))).decode() + "\n"
        )

    def _cells(self, row: SheetRow) -> dict[str, str]:
        named = {} if self.blind else {"model": row.model}
        several = {
            name: getattr(row, name) for name in _KEY if name == "item" or any(getattr(r, name) for r in self.rows)
        }
        own = {"row": row.row, **several, **named}
        taken = {*own, "label", "comment"}
        return {**own, **{f"shown_{name}" if name in taken else name: cell for name, cell in row.shown.items()}}

    def _csv(self) -> str:
        stream = io.StringIO()
        names = [*self._cells(self.rows[0]), "label", "comment"]
        out = csv.writer(stream, lineterminator="\r\n")
        out.writerow([for_csv(name) for name in names])
        for row in self.rows:
            out.writerow([*(for_csv(cell) for cell in self._cells(row).values()), "", ""])
        return stream.getvalue()

    def _tasks(self) -> str:
        return json.dumps([{"data": self._cells(row)} for row in self.rows], ensure_ascii=False, indent=1) + "\n"

    def label_studio_config(self) -> str:
        """Return the settings of a Label Studio project that asks for these labels."""
        shown = [name for name in self._cells(self.rows[0]) if name != "row"]
        texts = "".join(
            f"<Header value={quoteattr(name)}/><Text name={quoteattr(name)} value={quoteattr(f'${name}')}/>"
            for name in shown
        )
        asked = f'<Number name="label" toName={quoteattr(shown[-1])}/>'
        if self.metric.kind == "binary":
            asked = (
                f'<Choices name="label" toName={quoteattr(shown[-1])}><Choice value="1"/><Choice value="0"/></Choices>'
            )
        return f"<View>{texts}{asked}</View>\n"

    # --- what came back ---

    def _filled(self) -> list[int]:
        """Return the places on the sheet of items whose answers all have a label."""
        n = len(self.systems)
        return [
            place
            for place in range(len(self.places))
            if all(row.row in self.labels for row in self.rows[place * n : (place + 1) * n])
        ]

    def _chances(self) -> dict[int, float]:
        """Return the chance of a filled item of each stratum to be labelled: what was drawn and is still empty is none of it."""
        n, strata = len(self.systems), np.array([row.stratum for row in self.rows])
        filled = np.bincount([strata[place * n] for place in self._filled()], minlength=len(self.sizes))
        empty = [level for level in np.unique(strata).tolist() if not filled[level]]
        if empty:
            raise CannotAnswerError(
                f"no item of {len(empty)} of {len(self.sizes)} strata is labelled; fill in more rows, from the top of the sheet"
            )
        return {level: float(filled[level] / size) for level, size in enumerate(self.sizes)}

    @property
    def n_filled(self) -> int:
        """Drawn items whose answers all have a label."""
        return len(self._filled())

    @property
    def n_partly(self) -> int:
        """Drawn items of which some answers have a label and others none: none of their labels count."""
        return len({(row.task, row.item, row.variant) for row in self.rows if row.row in self.labels}) - self.n_filled

    def n_naming(self) -> int:
        """Return how many rows of a blind sheet show a text that names a system."""
        names = [name.casefold() for name in self.systems]
        shown = [" ".join(row.shown.values()).casefold() for row in self.rows]
        return sum(any(name in text for name in names) for text in shown) if self.blind else 0

    def ratings(self, rater: str = "person") -> EvalData:
        """Return the labels as ratings with the chance of each, which `labels=` takes; items labelled in part are dropped.

        CannotAnswerError if nothing is labelled yet, or nothing of a stratum.
        """
        filled, n = self._filled(), len(self.systems)
        if not filled:
            raise CannotAnswerError(f"no item is labelled yet; fill in the column label of the {len(self.rows)} rows")
        chance = self._chances()
        own = [row for place in filled for row in self.rows[place * n : (place + 1) * n]]
        frame = pl.DataFrame(
            {
                **{name: [getattr(row, name) for row in own] for name in ("task", "item", "variant", "model")},
                # Tasks may have items of one name.
                "run": [f"{row.task or self.metric.benchmark}~{row.row.partition('-')[0]}~{rater}" for row in own],
                "rater": rater,
                "value": [self.labels[row.row] for row in own],
                "label_prob": [chance[row.stratum] for row in own],
            }
        )
        named = {name: name for name in ("model", "label_prob", "variant", "run")}
        return from_ratings(frame, humans=rater, benchmark=self.metric.benchmark, **named)

    def status(self, half_width: float | str | None = None, *, conf_level: float = 0.95) -> pl.DataFrame:
        """Say how precise scores are by the labels that there are, and how many buy how much.

        One row for each system and, of two, for their difference: name, n_labels, estimate, conf_low, conf_high, half_width, and
        `n_needed` labels in all for a half width of `wanted` (what is given, such as 0.03 or "5pp"; else half of what it is);
        null where labels of all items would not do. CannotAnswerError with fewer than 20 labelled items.
        """
        filled, n = self._filled(), len(self.systems)
        if len(filled) < FEWEST_LABELS:
            raise CannotAnswerError(
                f"{plural(len(filled), 'item')} of {len(self.places)} labelled; {FEWEST_LABELS} tell how precise scores are"
            )
        wanted = None if half_width is None else difference_in_unit(half_width, self.metric, name="half_width")
        judged, chance = np.array(self.judged, dtype=np.float64), self._chances()
        labels, chances = np.full(judged.shape, np.nan), np.full(len(judged), np.nan)
        for place in filled:
            own = self.rows[place * n : (place + 1) * n]
            given = {row.model: self.labels[row.row] for row in own}
            labels[self.places[place]] = [given[name] for name in self.systems]
            chances[self.places[place]] = chance[own[0].stratum]
        weighed = None if len(self.sizes) == 1 else chances
        known = np.isfinite(chances)
        found: list[dict[str, Any]] = []
        for j, name in enumerate(self.systems):
            score = corrected_score(judged[:, j], labels[:, j], weighed, None, self.metric, conf_level=conf_level)
            found.append(
                _status_row(name, score.estimate, judged[known, j], labels[known, j], len(judged), wanted=wanted)
            )
        if n == 2:
            pair = judged_pair(judged, labels, probabilities=weighed)
            difference = powered_difference(pair, conf_level=conf_level).estimate
            f, y = (each[known, 1] - each[known, 0] for each in (judged, labels))
            name = f"{self.systems[1]} minus {self.systems[0]}"
            found.append(_status_row(name, difference, f, y, len(judged), wanted=wanted))
        return pl.DataFrame(
            found, schema_overrides={"n_needed": pl.Int64, "half_width": pl.Float64}, infer_schema_length=None
        )

    def with_labels(self, given: Mapping[str, object]) -> Self:
        """Return the sheet with what was filled in: numbers, or words such as yes and fail; InputError names a wrong one."""
        known, labels = {row.row for row in self.rows}, dict[str, float]()
        low, high = self.metric.low, self.metric.high
        for row, cell in given.items():
            text = (as_text(cell) or "").strip().removeprefix("'")
            if not text:
                continue
            if row not in known:
                raise InputError(
                    f"row {one_line(row)[:40]!r} is none of this draw; the key beside the sheet is that of another"
                )
            # "1,000" may be a thousand or one; words are answers to yes or no, and "fail" says nothing of a metric of faults.
            decimal = text.count(",") == 1 and not _THOUSANDS.fullmatch(text)
            number = as_number(text.replace(",", ".") if decimal else text)
            plain = text.casefold() in _YES_OR_NO if self.metric.higher_is_better is False else len(text) > 1
            value = word_score(text) if number is None and plain and self.metric.kind == "binary" else number
            if value is None:
                raise InputError(
                    f"row {row}: label {one_line(text)[:40]!r} is no number; give one on the scale of {self.metric.name}"
                )
            if (low is not None and value < low) or (high is not None and value > high):
                ends = " to ".join("any" if end is None else f"{end:g}" for end in (low, high))
                raise InputError(f"row {row}: label {value:g} is off the scale; {self.metric.name} runs from {ends}")
            labels[row] = value
        return replace(self, labels=labels)


def _status_row(
    name: str, estimate: IntervalEstimate, judged: np.ndarray, labels: np.ndarray, n_items: int, *, wanted: float | None
) -> dict[str, Any]:
    low, high = estimate.conf_low, estimate.conf_high
    reached = None if low is None or high is None else (high - low) / 2
    wanted, needed = wanted or (reached and reached / 2), None
    if wanted:
        try:
            error = wanted / normal_quantile(estimate.conf_level)
            needed = labels_needed(judged, labels, error, n_items=n_items, conf_level=estimate.conf_level).n
        except CannotAnswerError:  # all labels are the same
            needed = None
    values = {"estimate": estimate.estimate, "conf_low": low, "conf_high": high, "half_width": reached}
    return {"name": name, "n_labels": len(labels), **values, "wanted": wanted, "n_needed": needed}


def key_path(path: Path) -> Path:
    """Return where the key of a sheet lies."""
    return path.with_name(f"{path.name}.key.json")


def open_labels(path: str | Path) -> LabelSheet:
    """Read a sheet that `LabelSheet.write` wrote and people filled in: a table, or Label Studio's export of its tasks (JSON).

    InputError if there is no key beside it, a row is of another draw, or a label is no number on the scale.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> rows = [{"item": f"q{i}", "model": m, "score": (i * k) % 2} for i in range(60) for k, m in ((1, "a"), (2, "b"))]
    >>> path = Path(tempfile.mkdtemp(), "sheet.csv")
    >>> draw_labels(pl.DataFrame(rows), n=20).write(path)
    >>> open_labels(path)
    <LabelSheet: 0 of 20 items labelled>
    """
    path = Path(path)
    key = key_path(path)
    try:
        found = msgspec.json.decode(read_regular(key), type=_Key)
    except FileNotFoundError as error:
        raise InputError(f"{path}: has no key {key.name} beside it; keep the two files of a draw together") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{key}: is damaged ({error}); restore it, since nothing else says what the rows are"
        ) from error
    if (found.format, found.version) != (_FORMAT, _VERSION):
        raise InputError(f"{key}: is no key of a sheet that this version of evalstats draws")
    sheet = found.sheet
    n, width = len(sheet.systems), {len(each) for each in sheet.judged}
    strata = {row.stratum for row in sheet.rows}
    places = set(sheet.places)
    whole = n and len(sheet.rows) == n * len(places) == n * len(sheet.places) and width == {n}
    if not whole or not strata <= set(range(len(sheet.sizes))) or not places <= set(range(len(sheet.judged))):
        raise InputError(f"{key}: does not hold together; restore it as it was drawn")
    return sheet.with_labels(_of_tasks(path) if path.suffix == ".json" else _of_table(path))


def _of_table(path: Path) -> dict[str, object]:
    frame = read_table(path)
    if not {"row", "label"} <= set(frame.columns):
        raise InputError(f"{path}: has the columns {comma_list(frame.columns, 12)}; a sheet has row and label")
    rows = [as_text(row) or "" for row in frame["row"]]
    given = {row: cell for row, cell in zip(rows, frame["label"].to_list(), strict=True) if cell is not None}
    counts = Counter(rows)
    if twice := [row for row in given if counts[row] > 1]:
        raise InputError(f"{path}: row {twice[0]} stands there twice; keep one")
    return given


def _of_tasks(path: Path) -> dict[str, object]:
    """Return the labels of tasks: of several annotations of one the last that was not skipped."""
    try:
        tasks = msgspec.convert(json.loads(read_regular(path)), list[_Task])
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no export of Label Studio tasks ({error}); export the project as JSON") from error
    given: dict[str, object] = {}
    for task in tasks:
        done = [each for each in task.annotations if not each.was_cancelled and each.result]
        value = done[-1].result[0].value if done else {}
        cells = [value[name] for name in ("rating", "number", "choices") if name in value]
        cell: Any = cells[0] if cells else None
        given[task.data.row] = cell[0] if isinstance(cell, list) and cell else cell
    return given


class _Key(msgspec.Struct):
    format: str
    version: int
    sheet: LabelSheet


class _Result(msgspec.Struct):
    value: dict[str, Any] = {}


class _Annotation(msgspec.Struct):
    result: list[_Result] = []
    was_cancelled: bool = False


class _Data(msgspec.Struct):
    row: str


class _Task(msgspec.Struct):
    data: _Data
    annotations: list[_Annotation] = []


def draw_labels(
    data: EvalData | object,
    systems: Sequence[str] | None = None,
    *,
    n: int = 100,
    how: How = "random",
    metric: str | None = None,
    show: Sequence[str] = (),
    blind: bool = False,
    seed: int = 0,
) -> LabelSheet:
    """Draw items whose answers people shall label, each with a known chance.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave: the judge's scores. Of several benchmarks items are drawn from those
        that all systems have run, as from one.
    systems
        Whose answers; None for all. Every drawn item is labelled for each of them.
    n
        Items to draw.
    how
        "random"; "stratified" by the judge's score, with more labels where people are likely to differ (Neyman's allocation); or
        "disagreement": half of the labels for items on which the judge sets the systems apart, which compares two best.
    metric
        The judge's score; needed only where the benchmark declares no headline.
    show
        Columns of the data that the sheet shows, such as the question and the answer.
    blind
        Leave out who answered. What the judge says is never on the sheet.
    seed
        Of the draw.

    Raises
    ------
    InputError
        If a name or column is unknown, fewer than 20 items are asked for or more than there are, or an item has several trials.
    CannotAnswerError
        If the systems share no item.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [{"item": f"q{i}", "model": m, "score": (i * k) % 2} for i in range(60) for k, m in ((1, "a"), (2, "b"))]
    >>> draw_labels(pl.DataFrame(rows), n=20)
    <LabelSheet: 0 of 20 items labelled>
    """
    data = as_data(data, {"factors": show})
    if (suite := suite_between(data, systems, metric=metric, contrast="model")) is not None:
        data, metric = suite.data, suite.metric
    chosen, arms, _ = entries_of(data, metric=metric, models=systems, contrast="model", least=1)
    table = ScoreTable.of(arms, chosen)
    refuse_unpaired(table) if len(arms) > 1 else None
    table = table.take(table.paired())
    if (table.n_scored > 1).any():
        raise InputError(
            "some items have several trials, and a label is of one answer; keep one of them: data.where(trial=0)"
        )
    if not FEWEST_LABELS <= n <= len(table):
        raise InputError(
            f"n is {n}; draw at least {FEWEST_LABELS} items, and at most the {len(table):,} that all have a score of"
        )
    if chosen.name in show or "score" in show:
        raise InputError("a sheet that shows what the judge says is no check of it; leave the score out of show")
    codes, spreads = label_strata(table.values(), how)
    sizes, rng = np.bincount(codes), np.random.default_rng(seed)
    places, _ = draw_sample(codes, neyman_allocation(sizes, spreads, n), rng)
    texts = [_texts(system.rows, show) for system in arms]
    drawn = f"{seed} {how} {table.names} {table.items['item'].gather(places).to_list()}"
    digest = hashlib.sha256(drawn.encode("utf-8", "replace")).hexdigest()[:6]
    rows: list[SheetRow] = []
    for place in places.tolist():
        key = {name: str(table.items[name][place] or "") if name in table.items.columns else "" for name in _KEY}
        order: list[int] = rng.permutation(len(arms)).tolist()
        for arm in order:
            shown = texts[arm].get(tuple(key.values()), {})
            row = SheetRow(
                row=f"{digest}-{len(rows) + 1:04}", **key, model=arms[arm].name, stratum=int(codes[place]), shown=shown
            )
            rows.append(row)
    return LabelSheet(
        metric=chosen.facts,
        systems=table.names,
        judged=table.values().tolist(),
        how=how,
        seed=seed,
        sizes=tuple(sizes.tolist()),
        places=tuple(places.tolist()),
        rows=tuple(rows),
        blind=blind,
    )


def _texts(rows: pl.DataFrame, show: Sequence[str]) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the columns to show by the key of an item."""
    for name in show:
        if name not in rows.columns:
            standard = {column.name for column in OUTCOMES}
            own = [each for each in rows.columns if each not in standard and not each.startswith(HELPER)]
            raise InputError(
                f"there is no column {name!r} to show; beside the standard ones there are {comma_list(own, 12) or 'none'}"
            )
    key = [
        pl.col(name).cast(pl.String).fill_null("") if name in rows.columns else pl.lit("").alias(name) for name in _KEY
    ]
    keys = rows.select(key).rows()
    cells = [["" if cell is None else str(cell) for cell in rows[name].to_list()] for name in show]
    return (
        {own: dict(zip(show, values, strict=True)) for own, values in zip(keys, zip(*cells, strict=True), strict=True)}
        if show
        else {}
    )
