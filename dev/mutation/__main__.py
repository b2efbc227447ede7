"""Put faults into the program, count those that no test notices: `python -m dev.mutation [CHAPTER ...]` (`make mutate`).

python -m dev.mutation                     chapters of `stats`: 60 mutants each, drawn by a seed; stores results and the page
python -m dev.mutation judges planning     these chapters (the others keep what is stored)
python -m dev.mutation analysis/compare    a question, against its own tests and the frozen numbers
python -m dev.mutation --survivors         list the survivors of the last run; nothing is run
python -m dev.mutation --again judges      try only those that survived last time; stores nothing but the state

A run that is broken off stores what it has and goes on there. A verdict stands as long as the test that killed, and all code
that this test runs, stay as they are; of a survivor, all tests that reach it. After a change those are tried again that
it concerns, first against the test that killed before.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(variable, "1")

from dev.mutation.chapters import CHAPTERS, ROOT, modules, questions, suite_of  # noqa: E402 - threads are set before numpy is loaded
from dev.mutation.mutants import Mutant, sample  # noqa: E402 - as above
from dev.mutation.reach import STORE  # noqa: E402 - as above

STATE = STORE / "state.json"
N, LIMIT, ROUND = 60, 10.0, 10
Drawn = dict[str, tuple[list[Mutant], int]]
# Another one after tests were written for a chapter's survivors: what was drawn before would flatter the tests.
FILES = modules() | questions()
SEEDS = dict.fromkeys(FILES, 13) | dict.fromkeys(("arena checks", "planning"), 15)


def main(arguments: list[str]) -> int:
    """Try the mutants, print and store what became of them."""
    given = _options(arguments)
    chapters = [each for each in FILES if any(word in each for word in given.chapter)] if given.chapter else [*CHAPTERS]
    if not chapters:
        sys.stderr.write(f"no chapter holds {given.chapter}; there are {', '.join(FILES)}\n")
        return 2
    if given.page:
        return _page()
    seeds = SEEDS if given.seed is None else dict.fromkeys(FILES, given.seed)
    drawn = {chapter: sample(FILES[chapter], given.n, seed=seeds[chapter]) for chapter in chapters}
    state = _State()
    if not given.survivors:
        from dev.mutation.trials import session

        for suite in dict.fromkeys(map(suite_of, drawn)):
            own = {chapter: found for chapter, found in drawn.items() if suite_of(chapter) == suite}

            def work(trials: Any, own: Drawn = own) -> None:
                try:
                    _try(trials, own, state, again=given.again)
                finally:
                    if (given.n, given.seed, given.again) == (N, None, False):
                        _store(trials, own, state, limit=given.limit)

            session(suite, work, limit=given.limit, say=_say)
    if given.survivors or given.again:
        _print_survivors(drawn, state)
    return 0


def _store(trials: Any, drawn: Drawn, state: "_State", *, limit: float) -> None:
    from dev.mutation.page import store

    tried = {
        chapter: (
            [
                each
                for each in mutants
                if state.stands(each, trials) and state.verdicts[each.key]["outcome"] != "unchanged"
            ],
            possible,
        )
        for chapter, (mutants, possible) in drawn.items()
    }
    store(tried, state.verdicts, SEEDS, n=N, limit=limit)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dev.mutation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "chapter", nargs="*", help=f"words of the names of chapters: {', '.join(FILES)}; all of stats by default"
    )
    parser.add_argument("-n", type=int, default=N, help="mutants a chapter (60); another number stores nothing")
    parser.add_argument("--seed", type=int, help="of the sample; without it each chapter's own, else nothing is stored")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds for the tests of one mutant (10)")
    parser.add_argument("--again", action="store_true", help="try those that survived last time")
    parser.add_argument("--survivors", action="store_true", help="list those that survived last time")
    parser.add_argument("--page", action="store_true", help="make docs/mutants.md from the stored figures")
    return parser.parse_args(arguments)


class _State:
    """What is known of each mutant, and of which code and tests that holds."""

    def __init__(self) -> None:
        self.verdicts: dict[str, dict[str, Any]] = (
            json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else {}
        )

    def stands(self, mutant: Mutant, trials: Any) -> bool:
        """Whether nothing has changed that could change the verdict."""
        verdict = self.verdicts.get(mutant.key)
        return verdict is not None and verdict["stamp"] == trials.stamp(mutant, verdict["by"])

    def save(self) -> None:
        """Store all; a run that is killed meanwhile leaves the state before."""
        STORE.mkdir(parents=True, exist_ok=True)
        part = STATE.with_suffix(".part")
        part.write_text(json.dumps(self.verdicts), encoding="utf-8")
        part.replace(STATE)


def _try(trials: Any, drawn: Drawn, state: _State, *, again: bool) -> None:
    from dataclasses import asdict

    most = max(len(mutants) for mutants, _ in drawn.values())
    for start in range(
        0, most, ROUND
    ):  # in rounds over all chapters, so that a run that is stopped knows something of each
        for chapter, (mutants, _) in drawn.items():
            for mutant in mutants[start : start + ROUND]:
                before = state.verdicts.get(mutant.key, {})
                if state.stands(mutant, trials) or (again and before.get("outcome") != "survived"):
                    continue
                verdict = asdict(trials.trial(mutant, [before["by"]] if before.get("by") else []))
                state.verdicts[mutant.key] = {"stamp": trials.stamp(mutant, verdict["by"]), **verdict}
                state.save()
            _say(line_of(chapter, counts(mutants[: start + ROUND], state.verdicts)))


def counts(mutants: list[Mutant], verdicts: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Return how many mutants came to which end."""
    ends = [verdicts.get(mutant.key, {}).get("outcome", "not tried") for mutant in mutants]
    return {"mutants": len(ends), **{end: ends.count(end) for end in ("killed", "survived", "timed out", "not tried")}}


def line_of(chapter: str, found: dict[str, int]) -> str:
    """Return a chapter's line."""
    return f"{chapter:28} " + ", ".join(f"{n} {what}" for what, n in found.items() if n or what == "survived")


def _print_survivors(drawn: Drawn, state: _State) -> None:
    for chapter, (mutants, _) in drawn.items():
        sys.stdout.write(f"\n{line_of(chapter, counts(mutants, state.verdicts))}\n")
        for mutant in mutants:
            found = state.verdicts.get(mutant.key, {})
            if found.get("outcome") in {"survived", "unchanged"}:
                where = f"{mutant.file.relative_to(ROOT)}:{mutant.lines.start} {mutant.function or mutant.constant}"
                end = "" if found["outcome"] == "survived" else f" {found['outcome']}"
                sys.stdout.write(
                    f"  {where} ({found['tests']} tests, {found['seconds']:.0f} s){end}\n"
                    f"    {mutant.before}\n    {mutant.after}\n"
                )


def _page() -> int:
    from dev.mutation.page import RESULTS, write

    write(json.loads(Path(RESULTS).read_text(encoding="utf-8")))
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
