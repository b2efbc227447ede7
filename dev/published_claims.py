"""The two shipped files of published claims, made from the repositories that published them.

python -m dev.published_claims FOLDER      FOLDER holds a clone of each repository, named owner+name
"""

import csv
import io
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any, Final

from evalstats.datasets.published_claims import CLAIMS, COUNTS, ClaimCounts, ClaimSource, load_published_claims

HERE: Final = Path(__file__).resolve().parents[1] / "evalstats" / "datasets"
HEADS: Final = {
    CLAIMS: "# Claims as published. Estimates, interval ends and p as stated, as proportions; words from the file named.\n"
    "# Sources and licences stand in the rows; where none was found, figures alone are carried.\n",
    COUNTS: "# How the tasks behind each published claim ended: tasks with equal results are counted in one row. No text of a\n"
    "# source is carried. Sources and licences: published_claims.csv. Columns: evalstats/datasets/published_claims.py.\n",
}  # fmt: skip

Read = Callable[[str], str]
Results = Iterable[ClaimCounts]


def _lines(text: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _digits(rewards: Iterable[float]) -> str:
    return "".join(str(int(reward)) for reward in rewards)


def zero_of_tau2(read: Read) -> Results:
    """Return five whole runs, one file each."""
    passed: dict[str, list[float]] = defaultdict(list)
    for trial in range(1, 6):
        found = json.loads(read(f"eval/raw_tau_runs/dev_tier_baseline_trial_{trial:02d}.json"))
        for each in found["simulations"]:
            passed[each["task_id"]].append(each["reward_info"]["reward"])
    return [ClaimCounts(claim="zero-of-tau2", candidate=_digits(passed[task])) for task in sorted(passed, key=int)]


def tau2_baseline(read: Read) -> Results:
    """Return the simulations of a task in the order of the file; no trial is named there."""
    passed: dict[str, list[float]] = defaultdict(list)
    for each in _lines(read("eval/trace_log.jsonl")):
        passed[each["task_id"]].append(each["reward"])
    return [ClaimCounts(claim="tau2-baseline", candidate=_digits(passed[task])) for task in sorted(passed, key=int)]


def score_or_pass(read: Read) -> Results:
    """Return score and pass of the same answers."""
    answers: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for each in _lines(read("ablations/held_out_traces.jsonl")):
        answers[each["task_id"]][each["variant"]] = each
    return [
        ClaimCounts(
            claim="score-or-pass",
            baseline=_digits([arms["baseline"]["pass"]]),
            candidate=_digits([arms["trained"]["pass"]]),
            baseline_score=arms["baseline"]["aggregate_score_pct"] / 100,
            candidate_score=arms["trained"]["aggregate_score_pct"] / 100,
        )
        for arms in answers.values()
    ]


def two_points(read: Read) -> Results:
    """Return the trials of two conditions of three."""
    passed: dict[str, dict[str, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for each in _lines(read("eval/held_out_traces.jsonl")):
        passed[each["task_id"]][each["condition"]][each["trial"]] = each["pass"]

    def digits(task: str, condition: str) -> str:
        return _digits(reward for _, reward in sorted(passed[task][condition].items()))

    return [
        ClaimCounts(claim="two-points", baseline=digits(task, "baseline"), candidate=digits(task, "your_method"))
        for task in sorted(passed)
    ]


def three_rates(read: Read) -> Results:
    """Return the pass rates of three trials: all that is published of them."""
    found = json.loads(read("ablations/eval_runs/ablation_results_measured.json"))["conditions"]
    rates = (found[name]["trial_pass_rates"] for name in ("baseline", "simpo_lora"))
    return [ClaimCounts(claim="three-rates", baseline_score=a, candidate_score=b) for a, b in zip(*rates, strict=True)]


def against_nothing(read: Read) -> Results:
    """Return decisions by probe: every pair's right decision is 1, and the arm without a judge has 0 throughout."""
    pairs = _lines(read("ablations/held_out_traces.jsonl"))
    variants = json.loads(read("ablations/ablation_results.json"))["variants"]
    if any(each["ground_truth_label"] != 1 for each in pairs) or any(variants["A_no_judge"]["labels"]):
        raise SystemExit("against-nothing: expected label 1 throughout, and 0 from the arm without a judge")
    return [
        ClaimCounts(claim="against-nothing", group=each["probe_id"], baseline="0", candidate=_digits([each["correct"]]))
        for each in pairs
    ]


READERS: Final = (zero_of_tau2, tau2_baseline, score_or_pass, two_points, three_rates, against_nothing)


def grouped(rows: Results) -> list[ClaimCounts]:
    """Return rows with equal results as one."""
    found = Counter(rows)
    return [replace(row, tasks=n) for row, n in found.items()]


def to_csv(sources: Iterable[ClaimSource], counts: Iterable[ClaimCounts]) -> dict[str, str]:
    """Return the texts of the two files, by name."""
    texts: dict[str, str] = {}
    for name, of, rows in ((CLAIMS, ClaimSource, sources), (COUNTS, ClaimCounts, counts)):
        made = io.StringIO()
        writer = csv.writer(made, lineterminator="\n")
        writer.writerow(field.name for field in fields(of))
        writer.writerows(("null" if cell is None else cell for cell in astuple(row)) for row in rows)
        texts[name] = HEADS[name] + made.getvalue()
    return texts


def main(folder: Path) -> None:
    """Read the results anew; what is claimed stays as it was typed, once its words are found in the file."""
    sources = [claim.source for claim in load_published_claims().values()]
    counts: list[ClaimCounts] = []
    for source, reader in zip(sources, READERS, strict=True):
        clone = folder / "+".join(source.repository.split("/")[-2:])

        def read(path: str, clone: Path = clone, commit: str = source.commit) -> str:
            command = ["git", "-C", clone, "show", f"{commit}:{path}"]
            shown = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - paths written above
            return shown.stdout.decode("utf-8")

        stated = "".join(read(source.file).split())
        if any("".join(part.split()) not in stated for part in source.words.split(" … ")):
            raise SystemExit(f"{source.claim}: its words are not in {source.file}")
        counts += grouped(reader(read))
    for name, text in to_csv(sources, counts).items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
