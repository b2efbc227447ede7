"""What stands twice: rows of one trial, runs of one system on the same items, one model under two names."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY, Bools, Floats, Ints
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.analysis.leaderboard.comparability import MIN_SHARED
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.document.numbers import plural, several, share_in_percent

_TRIAL = (ENTRY, *ITEM_KEY, "trial", "judge")
_PLACE = f"{HELPER}place"
# Two tables of scores that agree throughout are called the same only where chance would do that so seldom.
_CHANCE = 1e-6
_FEWEST_OTHERS = 3
_VARIED = 10


def repeated_rows(panel: Panel) -> Iterator[Observation]:
    """Find rows of the same trial of the same item in the same run: copies, or answers that contradict each other."""
    if not _any_twice(panel):
        return
    key = ["run", *_TRIAL]
    rows = panel.rows.select(*key, "score").with_row_index(_PLACE)
    twice = rows.filter(rows.select(key).is_duplicated())
    if not twice.height:
        return
    groups = twice.group_by(key).agg(pl.col("score").n_unique().alias("values"), pl.len())
    n, contradicting = groups.height, int((groups["values"] > 1).sum())
    same = f"{contradicting:,} with other scores" if contradicting else "all with the same score"
    first, last = (rows.unique(key, keep=which)[_PLACE].to_numpy() for which in ("first", "last"))
    treatments = [_only(panel, first, "with the first of each alone")]
    if contradicting:
        treatments.append(_only(panel, last, "with the last of each alone"))
    yield Observation(
        kind="repeated rows",
        text=f"{plural(n, 'trial')} stand{'s' if n == 1 else ''} more than once in a run ({same}) and count in full",
        remedy="drop the copies, or number repetitions as trials",
        n_rows=int(groups["len"].sum()),
        models=tuple(twice[ENTRY].unique().sort().head(5).to_list()),
        examples=tuple(twice["item"].unique().sort().head(5).to_list()),
        treatments=tuple(treatments),
    )


def repeated_runs(panel: Panel) -> Iterator[Observation]:
    """Find runs of one system that answered the same trials: a file read twice, or repetitions, which are averaged."""
    if not _any_twice(panel):
        return
    key = list(_TRIAL)
    shared = panel.rows.group_by(key).agg(
        pl.col("run").n_unique().alias("runs"), pl.col("score").n_unique().alias("values")
    )
    shared = shared.filter(pl.col("runs") > 1)
    if not shared.height:
        return
    models = shared[ENTRY].unique().sort().to_list()
    differ = int((shared["values"] > 1).sum())
    most = int(shared["runs"].max() or 2)  # pyright: ignore[reportArgumentType] - a count
    runs = panel.rows.filter(pl.col(ENTRY).is_in(models))
    same = (
        "with the same score throughout"
        if not differ
        else f"{share_in_percent(differ / shared.height)} with other scores"
    )
    yield Observation(
        kind="repeated runs",
        text=f"up to {most} runs of {several(models, 2)} answered the same {plural(shared.height, 'trial')} ({same})",
        remedy="read one copy alone"
        if not differ
        else "keep the run that is meant, or take runs as trials: --trials-from-runs",
        n_rows=int(shared["runs"].sum()),
        models=tuple(models[:5]),
        examples=tuple(runs["run"].unique().sort().head(5).to_list()),
        treatments=_each_run(panel, most),
    )


def identical_models(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Find two names with the same score on every item they share, where chance would not do that."""
    n_models = panel.shape[1]
    if n_models < 2:
        yield NotChecked(kind="identical models", reason="there is one model")
        return
    scores = panel.scores
    for i, j in _equal_columns(scores):
        both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
        names = panel.models[i], panel.models[j]
        if not _telling(scores, both, i, j):
            if n_models - 2 < _FEWEST_OTHERS:
                reason = f"{names[0]} and {names[1]} have equal scores, and too few other models show whether chance gives that"
                yield NotChecked(kind="identical models", reason=reason)
            continue
        yield Observation(
            kind="identical models",
            text=(
                f"the scores of {names[0]} and {names[1]} are the same on each of {plural(int(both.sum()), 'item')}, "
                "consistent with one run under two names"
            ),
            remedy="look where both files come from before ranking both",
            n_items=int(both.sum()),
            models=names,
        )


def _any_twice(panel: Panel) -> bool:
    """Whether any model has two rows of an item, without which nothing can stand twice."""
    return bool((panel.count(np.ones(panel.rows.height, dtype=np.bool_)) > 1).any())


def _only(panel: Panel, places: npt.NDArray[np.uint32], words: str) -> Treatment:
    keep = np.zeros(panel.rows.height, dtype=np.bool_)
    keep[places] = True
    return Treatment(words=words, keep=keep)


def _each_run(panel: Panel, most: int) -> tuple[Treatment, ...]:
    """Keep of every trial the row of its first, second, ... run alone, in the order of their times, then files, then names."""
    key = list(_TRIAL)
    known = panel.data.runs.select("run", "timestamp", "source").unique("run", keep="first")
    rows = panel.rows.select(*key, "run").with_row_index(_PLACE).join(known, on="run", how="left")
    rows = rows.sort("timestamp", "source", "run", _PLACE, nulls_last=True)
    numbered = rows.with_columns(
        pl.int_range(1, pl.len() + 1).over(key).alias("number"), pl.len().over(key).alias("of")
    )
    numbered = numbered.sort(_PLACE)
    number, of = numbered["number"].to_numpy(), numbered["of"].to_numpy()
    return tuple(
        Treatment(words=f"with the {word} of these runs alone", keep=np.minimum(k + 1, of) == number)
        for k, word in enumerate(("first", "second", "third")[:most])
    )


def _equal_columns(scores: Floats) -> list[tuple[int, int]]:
    """Return pairs of models whose scores are the same on every item that both have, if these are enough."""
    seen = ~np.isnan(scores)
    held, filled = seen.astype(np.float64), np.where(seen, scores, 0.0)
    shared = held.T @ held
    apart = (filled**2).T @ held + held.T @ (filled**2) - 2.0 * filled.T @ filled
    close = (apart <= 1e-9 * np.maximum(1.0, np.abs(filled).max(initial=0.0) ** 2)) & (shared >= MIN_SHARED)
    found: list[tuple[int, int]] = []
    for i, j in zip(*np.nonzero(np.triu(close, 1)), strict=True):
        both = seen[:, i] & seen[:, j]
        if np.array_equal(scores[both, i], scores[both, j]):
            found.append((int(i), int(j)))
    return found


def _telling(scores: Floats, both: Bools, i: int, j: int) -> bool:
    """Whether equal scores are no chance: they take many values, or items on which other models differ make it so."""
    own = scores[both, i]
    if len(np.unique(own)) >= _VARIED:
        return True
    others = np.delete(scores[both], [i, j], axis=1)
    if not np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all() or others.shape[1] < _FEWEST_OTHERS:
        return False
    seen = ~np.isnan(others)
    # Each model at its own level would agree more often than these shares say; items that others find mixed count for little.
    share = (np.where(seen, others, 0.0).sum(axis=1) + 1.0) / (seen.sum(axis=1) + 2.0)
    level: Ints | float = float(own.mean())
    if level in (0.0, 1.0):
        return False
    agree = np.maximum(share**2 + (1.0 - share) ** 2, level**2 + (1.0 - level) ** 2)
    return float(np.log(agree).sum()) < np.log(_CHANCE)
