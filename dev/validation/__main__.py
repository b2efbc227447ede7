"""Rerun the simulations behind the stored error rates, or some of them.

python -m dev.validation                     every question, all replicates; stores the results (`make validate`)
python -m dev.validation clusters peeking    these questions
python -m dev.validation --quick             a tenth of the replicates; nothing is stored in the package
python -m dev.validation --cell "n = 20"     only cells whose name holds these words; as above

A run that stores and is broken off goes on where it stopped, part by part of each cell, as long as no module has changed;
what it has found is kept in build/validation (or in the folder of --output) until it is whole.
"""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(variable, "1")

NAMES = {
    "one-score": "one_score",
    "pairs": "pairs",
    "mean-score": "mean_score",
    "mean-pairs": "mean_pairs",
    "graded-pairs": "graded_pairs",
    "full-runs": "full_runs",
    "different-users": "different_users",
    "clusters": "clusters",
    "false-claims": "false_claims",
    "undeclared-clusters": "undeclared",
    "suspected-groups": "suspected",
    "missing-failures": "missing",
    "ranks": "ranks",
    "peeking": "peeking",
    "power": "power",
    "scenarios": "scenarios",
    "arena-checks": "arena_checks",
    "arena-pairing": "arena_pairing",
    "contamination": "contaminated",
    "gap-claims": "gap_claims",
    "judge-agreement": "judge_agreement",
    "judge-correction": "judge_correction",
    "judge-differences": "judge_differences",
    "label-samples": "label_samples",
    "audit-checks": "audit_checks",
    "beyond-trials": "beyond_trials",
    "facet-reliability": "facet_reliability",
    "new-tasks": "new_tasks",
    "posterior-claims": "posterior_claims",
    "item-checks": "item_checks",
    "short-forms": "short_forms",
}


def main(arguments: list[str]) -> int:
    """Run, print and store; the exit status is 1 where a promise is broken."""
    options = _options(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        sys.stderr.write(f"there is no question {unknown[0]!r}; there are {', '.join(NAMES)}\n")
        return 2
    from dev.validation.running import ROOT, Journal, digest_of_code, processor_seconds, run
    from dev.validation.storing import FOLDER, record, text_of
    from dev.validation.study import added

    broken, code = False, digest_of_code()
    folder = options.output or (None if options.quick or options.cell else FOLDER)
    journals: list[Journal] = []
    for name in options.names or NAMES:
        question = import_module(f"dev.validation.{NAMES[name]}").QUESTION
        tasks = [task for task in question.tasks(0.1 if options.quick else 1.0) if options.cell in task.cell]
        journal = None
        if folder is not None:
            journal = Journal((options.output or ROOT / "build" / "validation") / f"{name}.jsonl", code=code)
            journals.append(journal)
        stored = record(question, added(run(tasks, jobs=options.jobs, journal=journal)))
        _print(stored)
        broken |= any(claim["holds"] is False for claim in stored["claims"])
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{question.name}.json").write_text(text_of(stored), encoding="utf-8")
    for journal in journals:
        journal.remove()
    sys.stderr.write(f"{processor_seconds():.0f} s of processor\n")
    return int(broken and not (options.quick or options.cell))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dev.validation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"questions: {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates; not stored in the package")
    parser.add_argument("--cell", default="", help="only cells whose name holds these words; not stored in the package")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (all processors by default)")
    parser.add_argument("--output", type=Path, help="folder to store the results in, instead of the package")
    return parser.parse_args(arguments)


def _print(stored: dict) -> None:
    print = sys.stdout.write  # noqa: A001 - lines of one table
    print(f"\n{stored['question']} ({stored['measure']}, nominal {100 * stored['nominal']:g}%)\n")
    for row in stored["rows"]:
        spread = f"[{100 * row['low']:5.2f}, {100 * row['high']:5.2f}]" if "low" in row else "exact"
        width = f"  width {row['width']:.3f}" if "width" in row else ""
        print(f"  {row['case'][:56]:56}  {row['method'][:36]:36} {100 * row['rate']:6.2f}%  {spread:14}{width}\n")
    for claim in stored["claims"]:
        limits = " to ".join("" if end is None else f"{100 * end:g}%" for end in (claim["low"], claim["high"]))
        word = {True: "kept", False: "BROKEN", None: "not judged, too few tables"}[claim["holds"]]
        print(f"  {word}: {claim['text']} ({limits}): {100 * claim['found']:.2f}%\n")
    for note in stored["notes"]:
        print(f"  {note}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
