"""The counts of Tenacious-Bench's published files: by hand on a small repository, and by slow forms on the real one."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dev.tenacious_files import read_tenacious
from evalstats.datasets.tenacious import load_tenacious
from evalstats.errors import InputError

RAN = "ran on"


def task(name: str, text: str, split: str) -> dict[str, Any]:
    return {"task_id": name, "dimension": "d", "split": split, "input": {"company_name": "", "prior_thread": text}}


def write(path: Path, value: object, *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = value if lines and isinstance(value, list) else [value]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def pair(name: str, scores: tuple[float, float, float, float], **other: object) -> dict[str, object]:
    sides = ("baseline_chosen_score", "baseline_rejected_score", "trained_chosen_score", "trained_rejected_score")
    verdicts = {"baseline_correct": scores[0] > scores[1], "trained_correct": scores[2] > scores[3]}
    return {"task_id": name, "dimension": "d", **dict(zip(sides, scores, strict=True)), **verdicts, **other}


TEXT = "one two three four five six seven eight"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Five tasks: h1 is shipped in held_out and was scored, d1 in dev and was scored, h2 was trained on though held out."""
    bench = tmp_path / "tenacious_bench_v0.1"
    write(bench / "train" / "tasks.jsonl", [task("t1", f"{TEXT} nine", "train"), task("t2", "else", "dev")], lines=True)
    write(bench / "dev" / "tasks.jsonl", [task("d1", TEXT, "dev")], lines=True)
    held_out = [task("h1", "nothing of that", "held_out"), task("h2", "nor of this", "train")]
    write(bench / "held_out" / "tasks.jsonl", held_out, lines=True)
    (bench / "README.md").write_text("- `train`: 7\n- `dev`: 8\n- `held_out`: 9\n- `train`: `7 / 7` passing\n")
    rated = {"name": "tone", "score": 1.0, "detail": RAN}
    for split, names in (("train", ("t1", "t2", "h2")), ("dev", ()), ("held_out", ("h1", "d1"))):
        results = [{"task_id": name, "dimension_results": [rated]} for name in names]
        write(tmp_path / "outputs" / f"bench_{split}_eval.json", {"results": results})
    other = {**rated, "score": 0.5}
    write(tmp_path / "outputs" / "inter_rater_pass1.json", [{"task_id": "t1", "dimension_results": [rated, other]}])
    write(tmp_path / "outputs" / "inter_rater_pass2.json", [{"task_id": "t1", "dimension_results": [rated]}])
    cosines = {"held_out_vs_train": 0.2, "held_out_vs_dev": 0.1768}
    check = {
        name: {"violations": 0, "findings": [{"held_out_task_id": "h1", "lexical_cosine_similarity": cosine}]}
        for name, cosine in cosines.items()
    }
    write(tmp_path / "contamination_check.json", check)
    numbers = {
        "baseline_accuracy": 0.0, "trained_accuracy": 0.5, "delta_accuracy_pp": 50.0,
        "delta_accuracy_pp_ci_lower": 0.0, "delta_accuracy_pp_ci_upper": 100.0, "paired_bootstrap_p_value": 0.2,
    }  # fmt: skip
    write(tmp_path / "ablations" / "ablation_results.json", {"splits": {"held_out": numbers}})
    traces = [pair("h1", (0.7, 0.7, 2.0, 1.0)), pair("d1", (0.1, 0.7, 1.0, 1.0))]
    write(tmp_path / "ablations" / "held_out_traces.jsonl", traces, lines=True)
    return tmp_path


def test_what_fits_together_is_counted(repository: Path) -> None:
    study = read_tenacious(repository)
    files = study.files
    assert (files.tasks_train, files.tasks_dev, files.tasks_held_out) == (2, 1, 2)
    assert (files.readme_train, files.readme_dev, files.readme_held_out) == (7, 8, 9)
    assert (files.run_train, files.run_dev, files.run_held_out) == (3, 0, 2)
    assert (files.pairs_in_train, files.pairs_in_dev, files.pairs_in_held_out) == (0, 1, 1)
    assert (files.other_split, files.held_out_trained_on) == (2, 1)
    # Of two scores of the first pass one is in the second, and that one is what the program printed.
    assert (files.rated_tasks, files.rated_scores, files.rated_alike, files.rated_as_evaluated) == (1, 2, 1, 1)
    # Shipped held-out tasks share nothing with training; the scored d1 has the eight words of t1, with its dimension before.
    assert (files.checked, files.check_violations, files.shared_ngrams) == (1, 0, 0)
    assert (files.pairs_shared_ngrams, files.pairs_shared_any) == (1, 1)
    # h1 is "d nothing of that": one of four words in common with t2, "d else" (1/sqrt(4*2)), more than with t1; with d1, 1/6.
    assert (files.cosines, files.cosines_again) == (2, 0)
    assert [(each.baseline, each.trained) for each in study.last.pairs] == [("tie", "right"), ("wrong", "tie")]
    assert "earlier runs from counts that ship" in study.origin


def test_a_cosine_is_found_again_by_its_definition(repository: Path) -> None:
    check = json.loads((repository / "contamination_check.json").read_text())
    for name, cosine in (("held_out_vs_train", 1 / math.sqrt(8)), ("held_out_vs_dev", 1 / 6)):
        check[name]["findings"][0]["lexical_cosine_similarity"] = round(cosine, 4)
    write(repository / "contamination_check.json", check)
    assert read_tenacious(repository).files.cosines_again == 2


def test_what_occurs_in_more_than_three_tasks_is_spared(repository: Path) -> None:
    path = repository / "tenacious_bench_v0.1" / "train" / "tasks.jsonl"
    more = [task(f"t{place}", TEXT, "train") for place in (1, 2, 3)]
    for n, expected in ((2, 1), (3, 0)):
        write(path, [*more[:n], *([task("t3", "x", "train")] if n < 3 else [])], lines=True)
        names = ("t1", "t2", "t3")
        results = [{"task_id": name, "dimension_results": []} for name in names]
        write(repository / "outputs" / "bench_train_eval.json", {"results": results})
        files = read_tenacious(repository).files
        assert (files.pairs_shared_ngrams, files.pairs_shared_any) == (expected, 1)


def test_shared_words_of_the_real_files_in_the_slow_form(shared_data: Path) -> None:
    """Any two tasks against each other, sequence by sequence, as the check is described."""
    folder = shared_data / "tenacious"

    def tasks_of(path: Path) -> dict[str, dict[str, Any]]:
        return {row["task_id"]: row for row in map(json.loads, path.read_text().splitlines())}

    known = {
        name: row
        for split in ("train", "dev", "held_out")
        for name, row in tasks_of(folder / "bench_head" / split / "tasks.jsonl").items()
    }
    evaluated = json.loads((folder / "outputs" / "bench_train_eval.json").read_text())["results"]
    scored = tasks_of(folder / "ablations" / "held_out_traces.jsonl")

    def sequences(row: dict[str, Any]) -> set[str]:
        told = row["input"]
        names = ("company_name", "hiring_signal_brief_excerpt", "competitor_gap_brief_excerpt", "prior_thread")
        parts = [row["dimension"], *(told.get(name) or "" for name in names)]
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in " ".join(map(str, parts)).lower()).split()
        return {" ".join(words[i : i + 8]) for i in range(len(words) - 7)}

    here = [sequences(known[name]) for name in scored]
    there = [sequences(known[row["task_id"]]) for row in evaluated]

    def shares(own: set[str], *, spare: bool) -> bool:
        for other in there:
            for words in own & other:
                if not spare or sum(words in each for each in (*here, *there)) <= 3:
                    return True
        return False

    assert sum(shares(own, spare=True) for own in here) == load_tenacious().files.pairs_shared_ngrams
    assert sum(shares(own, spare=False) for own in here) == load_tenacious().files.pairs_shared_any


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no ablations/held_out_traces"):
        read_tenacious(tmp_path)


def test_pairs_that_do_not_give_the_published_accuracy_are_refused(repository: Path) -> None:
    write(repository / "ablations" / "held_out_traces.jsonl", [pair("h1", (0.7, 0.7, 2.0, 1.0))], lines=True)
    with pytest.raises(InputError, match=r"trained is right on 1 of 1 pairs, where 0.5 is published"):
        read_tenacious(repository)
