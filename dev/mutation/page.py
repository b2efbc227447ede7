"""What is stored of a run, and the page made of it, `docs/mutants.md`."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dev.mutation.chapters import CHAPTERS, ROOT, questions, suite_of
from dev.mutation.mutants import Mutant
from evalstats.stats.one_sample import wilson

RESULTS: Final = Path(__file__).parent / "results.json"
PAGE: Final = ROOT / "docs" / "mutants.md"

_TEXT = """# Tests of the tests

Would our tests notice if a statistic were wrong? Mutation testing injects small faults into `evalstats/stats` (and, on demand,
into questions of `evalstats/analysis`), one at a time, and runs the tests that reach the changed line.

A fault turns `+` into `-`, `<` into `<=`, `min` into `max` or 1 into 2, drops a call or a branch, and so on. A fault is killed if
a test fails, timed out if a test does not end, and survives if all tests pass. Up to {n} faults per chapter are drawn at
random; new ones are drawn after tests were written for the survivors.

{table}

The interval is Wilson's, for the share of survivors among all possible faults of the chapter. Some survivors are equivalent: the
changed program gives the same answers. Changes that no test should notice are not drawn (messages, declarations, tolerances,
numbers of steps, block sizes; see `dev/mutation/mutants.py`). Faults that no test reaches, and faults not killed within
{limit:g} seconds, count as survivors. Only the tests of `evalstats/stats` count here, without the long simulations (for a
question, its own tests and the frozen numbers).

Run on {date}. `make mutate` tries 60 faults per chapter (a quarter of an hour on a quiet machine) and renews this page.
"""


def store(
    drawn: Mapping[str, tuple[Sequence[Mutant], int]],
    verdicts: Mapping[str, Mapping[str, Any]],
    seeds: Mapping[str, int],
    **settings: Any,
) -> None:
    """Store what became of the mutants of these chapters beside what is stored of the others, and make the page."""
    stored: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"chapters": {}}
    for chapter, (mutants, possible) in drawn.items():
        if not mutants:
            continue
        ends = [verdicts[mutant.key] for mutant in mutants]
        stored["chapters"][chapter] = {
            "seed": seeds[chapter],
            "possible": possible,
            "mutants": len(mutants),
            **{name: sum(end["outcome"] == kind for end in ends) for name, kind in _ENDS.items()},
            "survivors": [
                f"{mutant.file.relative_to(suite_of(chapter).folder)} {mutant.function or mutant.constant}: "
                f"{mutant.before} -> {mutant.after}"
                for mutant, end in zip(mutants, ends, strict=True)
                if end["outcome"] == "survived"
            ],
        }
    stored["chapters"] = {
        chapter: stored["chapters"][chapter] for chapter in (*CHAPTERS, *questions()) if chapter in stored["chapters"]
    }
    stored = {"date": dt.datetime.now(dt.UTC).date().isoformat(), **settings, "chapters": stored["chapters"]}
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    write(stored)


_ENDS: Final = {"killed": "killed", "survived": "survived", "timed_out": "timed out"}


def write(stored: Mapping[str, Any]) -> None:
    """Write the page."""
    PAGE.write_text(text(stored), encoding="utf-8")


def text(stored: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    return _TEXT.format(table=table(stored["chapters"]), n=stored["n"], limit=stored["limit"], date=stored["date"])


def table(chapters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each chapter, and one for all."""
    head = [
        "| chapter | possible | tried | killed | timed out | survived | share | 95% CI |",
        "|:--|--:|--:|--:|--:|--:|--:|:--|",
    ]
    rows = [_row(chapter, found) for chapter, found in chapters.items()]
    names = ("possible", "mutants", *_ENDS)
    total = {name: sum(found[name] for found in chapters.values()) for name in names}
    weighted = sum(found["possible"] * found["survived"] / found["mutants"] for found in chapters.values())
    share = f"{100 * weighted / total['possible']:.0f}%"
    cells = [f"{total[name]:,}" for name in ("possible", "mutants", "killed", "timed_out", "survived")]
    return "\n".join([*head, *rows, f"| all, weighted by the number possible | {' | '.join(cells)} | {share} | |"])


def _row(chapter: str, found: Mapping[str, Any]) -> str:
    interval = wilson(found["survived"], found["mutants"])
    cells = [f"{found[name]:,}" for name in ("possible", "mutants", "killed", "timed_out", "survived")]
    ends = f"{100 * (interval.conf_low or 0.0):.0f} to {100 * (interval.conf_high or 0.0):.0f}%"
    return f"| {chapter} | {' | '.join(cells)} | {100 * found['survived'] / found['mutants']:.0f}% | {ends} |"
