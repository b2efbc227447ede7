"""Where a result's numbers come from: runs with the digests of their files, what was noted of them, the version."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl

from evalstats.document.model import Note
from evalstats.errors import LINE, Advice, Option
from evalstats.grammar import and_list, comma_list
from evalstats.schema.columns import KEYS, LOOKS
from evalstats.schema.data import UNNAMED, EvalData
from evalstats.schema.names import code_points, disguised, foreign, read_alike
from evalstats.schema.plan import Plan
from evalstats.schema.tables import levels_of
from evalstats.table.items import trial_sets

# What stands for who simulated a run whose file says only that it is.
_UNNAMED = "yes"
_SHOWN = 3


def sources_of(data: EvalData, runs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return every run with the digest of the file it was read from ("" where there is none)."""
    wanted, recorded = set(runs), zip(data.runs["run"].to_list(), data.runs["source_digest"].to_list(), strict=True)
    return tuple(sorted((run, digest or "") for run, digest in recorded if run in wanted))


UNWEIGHTED = (
    "The rows carry sampling weights, which are not used: without weights of levels, the answer holds for the items as they "
    "are, not for what they are weighted to stand for"
)
# As many levels may have a weight each.
_MOST_LEVELS = 20


def run_notes(data: EvalData, runs: Sequence[str]) -> tuple[Note, ...]:
    """Return what is known of runs as notes: that they are simulated, what was not read, then what their files say."""
    own = data.rows_of_runs(runs)
    found: list[Note] = []
    makers = [by for by in levels_of(own["simulated"]) if by != _UNNAMED]
    made, total = own["simulated"].count(), own.height
    if made:
        what = "The data are simulated" if made == total else f"{made} of {total} runs are simulated"
        link = "" if not makers else " " if all(by.startswith("by ") for by in makers) else ": "
        found.append(Note(kind="simulated", text="".join((what, link, and_list(makers) if makers else ""))))
    if LOOKS in data.outcomes.columns and data.outcomes.filter(pl.col("run").is_in(list(runs)))[LOOKS].count():
        text = "The run was looked at after every batch and may have ended by what was seen: intervals for one look are too short"
        found.append(Note(kind="selection", text=text, remedy="Ask compare, whose interval holds at every look"))
    weighted = data.outcomes.filter(pl.col("weight").is_not_null(), pl.col("run").is_in(list(runs)))
    if weighted["weight"].n_unique() > 1:
        found.append(Note(kind="average", text=UNWEIGHTED, remedy=_weights_of_levels(weighted)))
    if data.merged and trial_sets(data.outcomes) is None:
        text = "Which trials made up one run is not known, so no interval includes what differs between runs"
        found.append(Note(kind="choice", text=text, caution=False))
    lost = dict.fromkeys((Path(each.path).name, each.message) for each in data.problems if each.severity == "error")
    if lost:
        (name, why), *others = lost
        more = f"; and {comma_list((other for other, _ in others), _SHOWN)}" if others else ""
        first = re.findall(r"(?:\([^()]*\)|[^;])*", why.split(LINE)[0])[0]  # a semicolon within brackets ends no clause
        text = f"Not all was read: {name}: {first}{more}"
        found.append(Note(kind="left_out", text=text))
    found += lookalike_notes([*levels_of(own["model"]), *levels_of(own["system"])])
    notes = levels_of(own["note"])
    return (*found, *(Note(kind="source", text=text, caution=False) for text in notes))


def _weights_of_levels(rows: pl.DataFrame) -> Advice:
    """Say how the weights are used of a factor whose levels have one each; "" where there is none."""
    names = [
        name for name in rows.columns if rows[name].dtype == pl.String and name not in {*KEYS["outcomes"], "model"}
    ]
    names = [name for name in ("task", *names) if 1 < rows[name].n_unique() <= _MOST_LEVELS]
    name = next((name for name in names if rows.select(name, "weight").n_unique() == rows[name].n_unique()), None)
    if name is None or rows[name].null_count():
        return ""
    sums = rows.group_by(name).agg(pl.col("weight").first() * pl.col("item").n_unique()).sort(name)
    shares = sums.select(name, pl.col("weight") / pl.col("weight").sum()).rows()
    lines = " / ".join(["level,share", *(f"{level},{share:.4g}" for level, share in shares)])
    return ("Weight levels: ", Option("over", name), " and ", Option("weights", blank="FILE"), f", a CSV with {lines}")


def lookalike_notes(names: Iterable[str]) -> tuple[Note, ...]:
    """Return a caution that names what reads alike, and letters that look Latin in a name that mixes scripts."""
    names = sorted(set(names), key=lambda name: (not name.isascii(), name))
    groups = read_alike(names)
    paired = {name for group in groups for name in group}
    mixed = {name: letters for name in names if name not in paired and (letters := disguised(name))}
    found = [f"{' and '.join(each)} look alike: {each[-1]} has {foreign(each[-1], each[0])}" for each in groups]
    found += [f"{name} mixes scripts: it has {code_points(letters)}" for name, letters in mixed.items()]
    remedy = "Make sure that each is the model it seems to be"
    return (Note(kind="trust", text=comma_list(found, _SHOWN, "; "), remedy=remedy),) if found else ()


def plan_notes(plan: Plan | None) -> tuple[Note, ...]:
    """Return which plan was in force, by its file and digest."""
    text = "" if plan is None else f"Declared plan: {plan.source or 'given in code'}, digest {plan.digest[:12]}"
    return (Note(kind="plan", text=text, caution=False),) if text else ()


def placed(benchmark: str, preposition: str = "on") -> str:
    """Return where scores are from, for the end of a phrase; nothing where a table does not say.

    Examples
    --------
    >>> placed("MMLU"), placed("table")
    (' on MMLU', '')
    """
    return "" if benchmark == UNNAMED else f" {preposition} {benchmark}"


@cache
def toolkit_version() -> str:
    """Return the version of this toolkit."""
    try:
        return version("evalstats-toolkit")
    except PackageNotFoundError:
        return "unknown"
