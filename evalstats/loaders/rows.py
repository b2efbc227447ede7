"""What a loader makes its rows with: scores, names of items, metrics, repeated keys, notes, and ranges of scores."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import chain
from math import inf, isfinite
from typing import Final, cast

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.loaders.values import as_dict, as_list, as_number, as_text, json_text
from evalstats.schema.columns import column_names
from evalstats.schema.metrics import is_money_or_time
from evalstats.schema.tables import is_constant

_SHOWN = 5
_HELD_CHARS = 200
_AS_JSON: Final = json.JSONEncoder(default=str).encode
_ITEM_CHARS: Final = 16
_ENCODE: Final = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_WHOLE_WITH_POINT: Final = re.compile(r"(-?\d+)\.0+")

Row = dict[str, object]
# What is said of an outcome: its score, or what else stands there, as `unscored` and `scored` say it.
Said = float | Row


def scored(score: float, **more: object) -> Row:
    """Return the part of an outcome that says its score."""
    return {"status": "scored", "score": score, **more}


def unscored(reason: str | None, raw: str | None = None, *, error: bool = False, **more: object) -> Row:
    """Return the part of an outcome that says why there is no score; `raw` is what the file held in its place."""
    return {"status": "error" if error else "unscored", "status_reason": reason, "value_raw": raw, **more}


def as_row(said: Said) -> Row:
    """Return what is said of an outcome as the part that it is."""
    return said if isinstance(said, dict) else scored(said)


def score_of(said: Said) -> float | None:
    """Return the score of an outcome, if it has one."""
    return cast("float | None", said.get("score")) if isinstance(said, dict) else said


def held(value: object) -> str | None:
    """Return a value as the file holds it, cut short; None where it is null or absent."""
    return None if value is None else _AS_JSON(value)[:_HELD_CHARS]


def hashed(*parts: object) -> str:
    """Name an item that has no id by what was asked, the same in every file.

    >>> hashed({"q": "2+2", "n": 1}) == hashed({"n": 1, "q": "2+2"}) != hashed({"q": "2+2"})
    True
    """
    return _digest(parts)


def _digest(value: object) -> str:
    try:
        text = _ENCODE(value)
    except (TypeError, UnicodeEncodeError):  # half of a character, or a key that is no text
        text = json_text(value).encode()
    return hashlib.sha256(text).hexdigest()[:_ITEM_CHARS]


def item_of(*parts: object) -> str | None:
    """Name an item by a digest of what was asked, as `hashed` does where a file may be delimited text; None where nothing was.

    A number is the same as its text, since delimited text does not tell them apart, and 4.0 is 4.

    >>> item_of({"q": 4}) == item_of({"q": "4.0"}), item_of({"q": 4}) == item_of({"q": 5}), item_of({}, None)
    (True, False, None)
    """
    plain = [_plain(part) for part in parts]
    if not any(plain):
        return None
    return _digest(plain)


def _plain(value: object) -> object:
    """Return a value without its nulls, and its numbers as text."""
    if isinstance(value, dict):
        return {
            name: inner if type(inner) is str and inner[-1:] != "0" else _plain(inner)
            for name, inner in as_dict(value).items()  # pyright: ignore[reportUnknownArgumentType]
            if inner is not None
        }
    if isinstance(value, list):
        return [_plain(part) for part in as_list(value)]  # pyright: ignore[reportUnknownArgumentType]
    text = value if isinstance(value, str) else as_text(value)
    whole = _WHOLE_WITH_POINT.fullmatch(text) if text and text[-1] == "0" and "." in text else None
    return text if whole is None else whole[1]


def metric_row(
    benchmark: str,
    metric: str,
    kind: str = "binary",
    *,
    low: float | None = 0.0,
    high: float | None = 1.0,
    unit: str | None = "proportion",
    higher_is_better: bool | None = True,
    primary: bool = False,
) -> Row:
    """Make a row of `metrics`; by default of a share of right answers."""
    known = {"kind": kind, "low": low, "high": high, "higher_is_better": higher_is_better, "unit": unit}
    return {"benchmark": benchmark, "metric": metric, **known, "primary": primary}


def told(counts: Counter[str], **others: object) -> Iterator[str]:
    """Yield the sentences that were counted, with their number for `{n}`.

    >>> list(told(Counter({"{n} of {all} rows have no score": 2, "{n} rows failed": 0}), all=9000))
    ['2 of 9,000 rows have no score']
    """
    named = {name: f"{value:,}" if isinstance(value, int) else value for name, value in others.items()}
    return (sentence.format(n=f"{n:,}", **named) for sentence, n in counts.items() if n)


class _Seen(msgspec.Struct):
    """Range of the scores of one metric."""

    low: float = inf
    high: float = -inf
    only_ends: bool = True
    only_percents: bool = True
    averages: bool = False


class Ranges:
    """Range of the scores seen of each (benchmark, metric), and the row of `metrics` that follows from it.

    A metric of which only 0 and 1 were seen is binary; one with averages of several binary parts is a proportion; one
    inside [0, 1] is bounded by 0 and 1, unless its name says that it is money or time; one of which 0 and 100 were seen and
    nothing else is right or wrong in percent, bounded by these; anything else is continuous and has
    no known bounds. What was seen is all that is known: a scale from 0 to 10 of which only 0 and 1 were given is called
    binary, and so is, as the narrowest kind, a metric without any score. Where other files show more of the metric, the
    widest kind counts (`schema.metrics`).
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}

    def add(self, benchmark: str, metric: str, score: float | None, *, average: bool = False) -> None:
        """Take note of one score; null makes the metric known without saying anything about its range.

        `average` says that the score is an average of several binary outcomes.
        """
        seen = self._seen.setdefault((benchmark, metric), _Seen())
        if score is None:
            return
        seen.low, seen.high = min(seen.low, score), max(seen.high, score)
        seen.only_ends &= score in {0.0, 1.0}
        seen.only_percents &= score in {0.0, 100.0}
        seen.averages |= average

    def add_frame(self, outcomes: pl.DataFrame) -> None:
        """Take note of all scores in a frame with the columns `benchmark` and `metric`, and `score` where there are any."""
        about = ["benchmark", "metric"]
        names = [*about, *(["score"] if "score" in outcomes.columns else [])]
        alone = all(is_constant(outcomes[name]) for name in about)
        for part in [outcomes] if alone else outcomes[names].partition_by(about, maintain_order=True):
            scores = part["score"].drop_nulls() if "score" in names else pl.Series(dtype=pl.Float64)
            known = scores.to_numpy()
            seen = [[known.min(), known.max()] if len(known) else []]
            seen += [known[(known != 0.0) & (known != end)][:1].tolist() for end in (1.0, 100.0)]
            for benchmark, metric in part[:1].select(about).iter_rows():
                for score in (None, *chain.from_iterable(seen)):
                    self.add(benchmark, metric, score if score is None else float(score))

    def ends(self, benchmark: str, metric: str) -> tuple[float, float]:
        """Return the lowest and the highest score seen; inf and -inf where there is none."""
        seen = self._seen.get((benchmark, metric), _Seen())
        return seen.low, seen.high

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(tuple(self._seen))

    def in_percent(self, benchmark: str, metric: str) -> bool:
        """Tell whether 0 and 100 were seen, and nothing else."""
        seen = self._seen.get((benchmark, metric), _Seen())
        return seen.only_percents and (seen.low, seen.high) == (0.0, 100.0)

    def row(
        self,
        benchmark: str,
        metric: str,
        *,
        higher_is_better: bool | None = None,
        primary: bool = False,
        unit: str | None = None,
    ) -> dict[str, object]:
        """Make the row of `metrics`; `higher_is_better` is None where nothing declares it."""
        seen = self._seen.get((benchmark, metric), _Seen())
        empty = seen.low > seen.high
        in_unit = empty or 0.0 <= seen.low <= seen.high <= 1.0
        # Dollars or seconds below 1 are no shares, and nothing holds them below 1.
        in_unit = in_unit and (empty or seen.averages or seen.only_ends or not is_money_or_time(metric))
        kind, low, high = "continuous", None, None
        if in_unit:
            kind, low, high = "binary" if seen.only_ends else "bounded", 0.0, 1.0
            kind = "proportion" if seen.averages else kind
            unit = unit or (None if empty else "proportion")
        elif self.in_percent(benchmark, metric):
            kind, low, high, unit = "bounded", 0.0, 100.0, unit or "percent"
        known = {"kind": kind, "low": low, "high": high, "higher_is_better": higher_is_better, "unit": unit}
        return {"benchmark": benchmark, "metric": metric, **known, "primary": primary}


# Of so many rows a table tells by its keys alone which are copies; rows that repeat others do so from the first items on.
MOST_KEYS: Final = 1_000_000


class GroupCounter:
    """Numbers the rows of each group from 0, going on where the last frame ended.

    A group is a 64-bit hash and a count, 16 bytes however long its key is. Two of ten million keys share a hash with
    probability 3e-6.

    >>> counter = GroupCounter()
    >>> counter.next(pl.DataFrame({"g": ["a", "a", "b"]})).to_list(), counter.next(pl.DataFrame({"g": ["a"]})).to_list()
    ([0, 1, 0], [2])
    """

    def __init__(self) -> None:
        # sorted hashes, and how often each was met: runs each longer than the next, so that a hash is moved a few times only
        self._runs: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]] = []

    def next(self, keys: pl.DataFrame) -> pl.Series:
        """Return each row's number within its group, in the order of the rows."""
        hashes = keys.hash_rows(seed=0).to_numpy()
        ordered = np.sort(hashes)
        first = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]))
        groups, sizes = ordered[first], np.diff(first, append=len(ordered))
        before, is_new = np.zeros(len(groups), np.int64), np.ones(len(groups), np.bool_)
        for met, n in self._runs:
            place = np.searchsorted(met, groups)
            known = met.take(place, mode="clip") == groups
            before[known] = n[place[known]]
            n[place[known]] += sizes[known]
            is_new &= ~known
        new, n_new = groups[is_new], sizes[is_new]
        while len(new) and self._runs and len(self._runs[-1][0]) <= len(new):
            met, n = self._runs.pop()
            new, n_new = np.concatenate([met, new]), np.concatenate([n, n_new])
            merged = np.argsort(new, kind="stable")  # two sorted runs are merged in one pass
            new, n_new = new[merged], n_new[merged]
        if len(new):
            self._runs.append((new, n_new))
        if len(groups) == len(hashes):  # as most often, and a sort takes a tenth of the time of an order
            return pl.Series(before[np.searchsorted(groups, hashes)] if before.any() else before)
        numbers, order = np.empty(len(hashes), np.int64), np.argsort(hashes, kind="stable")
        numbers[order] = np.arange(len(hashes)) - np.repeat(first - before, sizes)
        return pl.Series(numbers)

    def again(self, keys: pl.DataFrame) -> pl.Series:
        """Mark the rows whose key was met before, in this frame or an earlier one."""
        return self.next(keys) > 0


# Longer text is a prompt or a document, not a level of a factor.
_FACTOR_CHARS: Final = 1_000
_MOST_FACTORS: Final = 200
_LEVELS: Final = (str, int, float)
# Columns that a loader fills itself, besides the standard ones.
_TAKEN: Final = frozenset({*column_names("outcomes"), "prompt_hash", "limit_reached"})
_PREFIX: Final = "metadata_"


class Factors:
    """Turn the metadata of samples into factors, and remember what was renamed or left out.

    Text, numbers and booleans become factors under their own names. A name that is a standard column gets the prefix
    `metadata_`. The scenario of a sample is its `scenario`, or else its `category`, where that is text.

    >>> factors = Factors()
    >>> factors.of({"category": "law", "level": 3, "item": "x", "steps": [1, 2]})
    {'scenario': 'law', 'level': 3, 'metadata_item': 'x'}
    >>> factors.own_names
    ['category=scenario']
    """

    def __init__(self) -> None:
        self._columns: dict[str, str] = {}
        self.left_out: dict[str, None] = {}
        self.own_names: list[str] = []

    def of(self, metadata: dict[str, object]) -> dict[str, object]:
        """Return the factors of one sample."""
        found: dict[str, object] = {}
        scenario = "scenario" if isinstance(metadata.get("scenario"), str) else "category"
        for key, value in metadata.items():
            if not isinstance(value, _LEVELS):
                continue
            if key == scenario and isinstance(value, str):
                if key == "category" and "category=scenario" not in self.own_names:
                    self.own_names.append("category=scenario")
                found["scenario"] = as_text(value)
                continue
            if key not in self._columns and len(self._columns) < _MOST_FACTORS:
                self._columns[key] = _column(as_text(key) or key)
            if key in self._columns and not (isinstance(value, str) and len(value) > _FACTOR_CHARS):
                found[self._columns[key]] = _level(value)
            elif len(self.left_out) < _MOST_FACTORS:
                self.left_out.setdefault(key)
        return found


def _level(value: object) -> object:
    if isinstance(value, str):
        return as_text(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def _column(key: str) -> str:
    """Return a column's name for a key; no two keys get the same one."""
    bare = key
    while bare.startswith(_PREFIX):
        bare = bare.removeprefix(_PREFIX)
    return f"{_PREFIX}{key}" if bare in _TAKEN or not bare else key


# A longer answer of a person is a text and no label.
_LABEL_CHARS: Final = 100
_NO_RATING: Final = "{n} answers are texts, regions or rankings, and no ratings"
_RATED_AGAIN: Final = "{n} ratings were given again by the same rater; the latest counts"


class RatingRows:
    """The ratings that a file holds; of two by one rater of the same thing the later.

    A number, true or false is a value, a text or a list of texts a label. A criterion with a longer text is a question that is
    answered in writing, none of whose answers is a rating. What was no rating, and what was rated again, is counted.

    >>> ratings = RatingRows(counts := Counter())
    >>> ratings.add("q1", "tone", "good", rater="ann")
    >>> ratings.add("q1", "stars", 4, rater="ann")
    >>> ratings.add("q1", "why", "x" * 200, rater="ann")
    >>> [(row["criterion"], row["value"], row["label"]) for row in ratings.rows()], counts.total()
    ([('tone', None, 'good'), ('stars', 4.0, None)], 1)
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._rows: dict[Hashable, Row] = {}
        self._written: set[str] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, item: str, criterion: str, value: object, *, rater: str, **known: object) -> None:
        """Add a rating, or take note that it is none."""
        criterion = as_text(criterion) or ""
        labels = [text for label in as_list(value) if (text := as_text(label))]
        number = as_number(value) if isinstance(value, bool | int | float) else None
        label = value if isinstance(value, str) else ", ".join(sorted(labels))
        if len(label) > _LABEL_CHARS or "\n" in label:
            self._written.add(criterion)
        if (number is None and not label) or criterion in self._written:
            self._counts[_NO_RATING] += 1
            return
        key = (item, as_text(known.get("model")), rater, criterion)
        self._counts[_RATED_AGAIN] += key in self._rows
        row: Row = {"item": item, "criterion": criterion, "rater": rater, **known}
        self._rows[key] = {**row, "value": number, "label": as_text(label) if number is None else None}

    def rows(self) -> list[Row]:
        """Return the ratings, without answers to questions that turned out to be answered in writing."""
        found = [row for row in self._rows.values() if row["criterion"] not in self._written]
        self._counts[_NO_RATING] += len(self._rows) - len(found)
        return found
