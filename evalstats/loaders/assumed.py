"""Benchmarks whose results nobody has published: the columns are assumed, and files that have others are tables of one's own.

A form says which columns name the item, the model and the metrics. What is no score, or not on the scale that the rows state,
is an error in words and never a 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from evalstats.errors import InputError
from evalstats.loaders.blocks import safe_name
from evalstats.loaders.format import RECORDS, SHARE, TABLE, FormatFile, Sample
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import NO_VALUE, as_count, as_number, as_text, first_line

SHAPES: Final = (*RECORDS, *TABLE)
# Behind the name of a metric of rows that are single turns, which never mix with whole answers.
TURN: Final = "/turn"
Record = dict[str, Any]
# Columns of every form, and glossary columns that a file may have besides; all others are factors.
_SHARED: Final = ("run", "error", "judge_error", "score_min", "score_max", "simulated")
_KEPT: Final = (
    *(
        "trial",
        "n_trials",
        "weight",
        "setting",
        "user_kind",
        "judge",
        "user",
        "session",
        "n_turns",
        "cost_usd",
        "latency_s",
    ),
    *("input_tokens", "output_tokens", "timestamp"),
)
_COUNTS: Final = frozenset({"trial", "n_trials", "n_turns", "input_tokens", "output_tokens"})
_NUMBERS: Final = frozenset({"weight", "cost_usd", "latency_s"})
_FLAGS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_NO_FAILURE: Final = frozenset({*NO_VALUE, "false", "0", "0.0"})
_STRANGE: Final = "values of {} that cannot be a score, which are errors and not 0: {{n}}"
_CHARS: Final = 60


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a form: the column that holds it, on which rows it counts, and whether it is yes or no."""

    metric: str
    column: str
    higher_is_better: bool = True
    is_flag: bool = False
    label: str | None = None


class AssumedForm(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a benchmark: the item, the model, what others become, and the metrics, the headline first.

    `described` say the same of an item in all its rows; rows are dependent by the levels of `dependence`; `choice` is what else
    was decided that the benchmark leaves open.
    """

    benchmark: str
    item: str
    model: str
    standard: Mapping[str, str]
    criteria: tuple[Criterion, ...]
    described: tuple[str, ...]
    dependence: str = ""
    choice: str = ""


class FormReader:
    """The rows of one file, each put in standard columns; what must be the same in all of them is remembered."""

    def __init__(self, file: FormatFile[Record], form: AssumedForm) -> None:
        self.file, self.form = file, form
        chosen = f"; {form.choice}" if form.choice else ""
        self._note = f"{form.benchmark} publishes no format of results: columns are as evalstats assumes{chosen}"
        file.note(self._note)
        self._scale: tuple[float | None, float | None] | None = None
        self._items: dict[str, list[str | None]] = {}
        self._seen: dict[str, Criterion] = {}

    def shared(self, row: Record) -> Row | None:  # noqa: ARG002 - a form's own rows are looked at
        """Return what of a row is not the same in every form: the system, the variant, the turn; None where it is left out."""
        return {}

    def rows(self, record: Record) -> Iterator[Sample]:
        """Return what one row says, in every metric that counts on it."""
        form, file = self.form, self.file
        names = {name: (as_text(record.get(name)) or "").strip() or None for name in (form.item, form.model)}
        if lacking := [name for name, value in names.items() if value is None]:
            file.leave_out(f"no {lacking[0]}")
            return
        item, model = names.values()
        if (own := self.shared(record)) is None:
            return
        self._check(str(item), record)
        system = str(own.pop("system", model))
        run = as_text(record.get("run"))
        name = file.run(
            model,
            run or system,
            note=self._note,
            dependence=[form.dependence] if form.dependence in record else None,
            simulated=as_text(record.get("simulated")),
            judge=as_text(record.get("judge")),
        )
        file.runs[name]["system"] = system
        taken = {
            form.item,
            form.model,
            *form.standard,
            *_SHARED,
            *_KEPT,
            *own,
            *(each.column for each in form.criteria),
        }
        file.factors.own_names = [
            f"{column}={standard}" for column, standard in form.standard.items() if column in record
        ]
        shared: Row = {
            **file.factors.of({safe_name(key): value for key, value in record.items() if key not in taken}),
            **{key: _kept(key, record[key]) for key in _KEPT if key in record},
            **{standard: as_text(record.get(column)) for column, standard in form.standard.items() if column in record},
            **own,
            "run": name,
            "item": item,
        }
        ending = TURN if own.get("turn") is not None else ""
        label = own.get("label")
        counted = [each for each in form.criteria if each.column in record and each.label in {None, label}]
        self._seen |= {f"{each.metric}{ending}": each for each in counted}
        yield shared, [(f"{each.metric}{ending}", self._said(record, each)) for each in counted]

    def finish(self) -> Iterator[Sample]:
        """Say what is known of the metrics that rows have: the first is the headline, of whole answers if there are any."""
        if not self._seen and not self.file.n_read:
            raise InputError("holds no rows")
        low, high = self._scale or (None, None)
        bounded: Row = {"kind": "bounded", "low": low, "high": high, "unit": "points"}
        bare: Row = {"kind": "continuous", "low": None, "high": None, "unit": None}
        first = self.form.criteria[0].metric
        headline = first if first in self._seen else f"{first}{TURN}"
        for name, each in self._seen.items():
            facts = SHARE if each.is_flag else bare if low is None else {} if (low, high) == (0, 1) else bounded
            self.file.metric(name, **facts, higher_is_better=each.higher_is_better, primary=name == headline)
        unknown = [each.column for each in self._seen.values() if not each.is_flag]
        if unknown and low is None:
            self.file.note(
                f"no scale is given for {', '.join(dict.fromkeys(unknown))}, so the scores are kept without bounds; if there are "
                "bounds, write them in columns score_min and score_max"
            )
        return iter(())

    def _said(self, row: Record, criterion: Criterion) -> Said:
        name, value = criterion.column, row.get(criterion.column)
        text = (as_text(value) or "").strip().lower()
        if (crash := _failure(row.get("error"))) is not None:
            return unscored(crash, held(value), error=True)
        if (failed := _failure(row.get("judge_error"))) is not None:
            return unscored(f"the judge failed: {failed}", held(value))
        if isinstance(value, dict | list):
            raise InputError(f"{self.file.locator}: {name} holds a list or an object; it needs one plain value a row")
        if text in NO_VALUE:
            return unscored(f"{name} is empty: there is no score")
        low, high = (0.0, 1.0) if criterion.is_flag else self._bounds(row)
        number = as_number(text) if not criterion.is_flag else _FLAGS.get(text, as_number(text))
        wrong = "which is no number" if number is None else ""
        if number is not None and low is not None and high is not None and not low <= number <= high:
            wrong = f"not within {low:g} to {high:g}"
        if criterion.is_flag and number not in {0.0, 1.0}:
            wrong = "neither 0 nor 1"
        if number is None or wrong:
            self.file.count(_STRANGE.format(name))
            shown = _shown(text) if number is None or criterion.is_flag else f"{number:g}"
            return unscored(f"{name} is {shown}, {wrong}", held(value), error=True)
        return number

    def _bounds(self, row: Record) -> tuple[float | None, float | None]:
        """Return the scale that a row states, which is the same in all rows: averages over two mean nothing."""
        given = row.get("score_min"), row.get("score_max")
        low, high = map(as_number, given)
        stated = any(as_text(each) for each in given)
        if stated and (low is None or high is None or low >= high):
            raise InputError(
                f"{self.file.locator} has score_min {given[0]} and score_max {given[1]}; expected low and high"
            )
        if self._scale is not None and self._scale != (low, high):
            spans = ["none" if one is None else f"{one:g} to {other:g}" for one, other in (self._scale, (low, high))]
            raise InputError(
                f"scores are on two scales, {spans[0]} and, in {self.file.locator}, {spans[1]}; averages over both mean nothing: "
                "put all scores on one scale, or give each scale a file and a benchmark of its own"
            )
        self._scale = low, high
        return low, high

    def _check(self, item: str, row: Record) -> None:
        """Refuse an item that is described in two ways."""
        named = [name for name in self.form.described if name in row]
        now = [None if (text := as_text(row[name])) is None else text.strip().lower() for name in named]
        for name, was, is_ in zip(named, self._items.setdefault(item, now), now, strict=False):
            if was != is_:
                raise InputError(
                    f"{self.file.locator}: {_shown(item)} has {name} {_shown(is_)}, and before {_shown(was)}; one item has one "
                    f"{name}: mend the file, or give the items names that differ"
                )


def _kept(name: str, value: object) -> object:
    return as_count(value) if name in _COUNTS else as_number(value) if name in _NUMBERS else as_text(value)


def _failure(value: object) -> str | None:
    """Return what a column of failures says; None where it says that there was none."""
    text = (as_text(value) or "").strip()
    return None if text.lower() in _NO_FAILURE else first_line(text) or "there is no answer"


def _shown(text: str | None) -> str:
    return "none" if text is None else repr(text[:_CHARS] + ("..." if len(text) > _CHARS else ""))
