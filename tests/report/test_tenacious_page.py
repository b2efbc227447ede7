"""The audit of Tenacious-Bench's headline: its numbers against references and slow forms, its files by hand, its page."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.datasets.tenacious import TenaciousRun, TenaciousStudy, load_tenacious
from evalstats.document.model import Code
from evalstats.errors import CannotAnswerError, InputError
from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import problems, read_document
from evalstats.report.render import report
from evalstats.report.tenacious import (
    OTHER_SEEDS,
    SEED,
    Audit,
    audit,
    document,
    may_say,
    method_row,
    published_interval,
    readings,
)
from evalstats.report.tenacious_files import read_tenacious

RAN = "ran on"


@cache
def found() -> Audit:
    return audit(load_tenacious())


def swapped(run: TenaciousRun) -> TenaciousRun:
    """The run with its two critics under each other's names."""
    return replace(run, pairs=tuple(replace(pair, baseline=pair.trained, trained=pair.baseline) for pair in run.pairs))


def with_last(run: TenaciousRun) -> TenaciousStudy:
    study = load_tenacious()
    return replace(study, runs=(*study.runs[:-1], run))


# The published number.


def test_all_three_published_intervals_are_found_again() -> None:
    for run in load_tenacious().runs:
        assert published_interval(run, SEED) == (run.conf_low, run.conf_high)


def test_other_seeds_give_what_the_reference_says(golden: Path) -> None:
    reference = json.loads((golden / "py_golden.json").read_text())["tenacious"]["peer_other_seeds"]
    last = load_tenacious().last
    assert {str(seed): [*published_interval(last, seed), 0.0] for seed in OTHER_SEEDS} == reference
    assert found().seeds == (0, 1, 3, 4, 5)


def test_ends_lie_on_the_lattice_of_one_pair_and_are_the_laws_quantiles() -> None:
    """Resampled gains are Binomial(43, 21/43)/43, so the ideal ends are its quantiles."""
    law = stats.binom(43, 21 / 43)
    assert [round(100 * law.ppf(level) / 43, 2) for level in (0.025, 0.975)] == [34.88, 62.79]
    for seed in range(20):
        for end in published_interval(load_tenacious().last, seed):
            assert math.isclose(43 * end / 100, round(43 * end / 100), abs_tol=0.01)
    row = method_row(found().pairs, "percentile bootstrap, exact law")
    assert (row.conf_low, row.conf_high) == pytest.approx((15 / 43, 27 / 43))


# Every reading.


def test_readings_have_the_reference_values(golden: Path) -> None:
    reference = json.loads((golden / "py_golden.json").read_text())["tenacious"]
    audited = found()
    rows = {row.method: row for row in audited.pairs.rows}
    for method, key in (
        ("Tango score", "tango"),
        ("Newcombe square-and-add", "newcombe10"),
        ("Bonett-Price", "bonett_price"),
        ("BCa bootstrap, exact law", "BCa_exact"),
    ):
        row = rows[method]
        assert [100 * (row.conf_low or 0), 100 * (row.conf_high or 0)] == pytest.approx(reference[key], abs=1e-6)
    assert rows["McNemar exact"].p_value == pytest.approx(reference["mcnemar_exact_p"])
    assert rows["McNemar mid-p"].p_value == pytest.approx(reference["mcnemar_midp"])
    assert audited.design_effect == pytest.approx(reference["design_effect_CR0_vs_iid"])
    clusters = {row.method: row for row in audited.dimensions.rows}
    ends = clusters["cluster percentile bootstrap, exact law"]
    expected = reference["cluster_bootstrap_exact_7dims"]
    assert [100 * (ends.conf_low or 0), 100 * (ends.conf_high or 0)] == pytest.approx(expected)
    assert clusters["cluster sign-flip"].p_value == pytest.approx(reference["cluster_signflip_exact_p"])
    assert len(audited.study.last.distinct()) == reference["distinct_score_rows"]
    low = 100 * (audited.trained.conf_low or 0)
    assert low == pytest.approx(reference["wilson_trained"][0])


def test_dimensions_as_a_sample_leave_the_gain_open() -> None:
    """CR2 [-5.6, 100], p .070, as the specification of the methods works it out."""
    by_dimension = found().dimensions
    assert round(100 * (by_dimension.conf_low or 0), 1) == -5.6
    assert by_dimension.conf_high == 1.0
    assert round(by_dimension.p_value or 0, 3) == 0.070
    assert by_dimension.verdict == "inconclusive"
    assert found().pairs.verdict == "better"


def test_half_credit_by_its_definition() -> None:
    pairs = load_tenacious().last.pairs
    credit = {"right": 1.0, "tie": 0.5, "wrong": 0.0}
    differences = [credit[pair.trained] - credit[pair.baseline] for pair in pairs]
    n, mean = len(differences), sum(differences) / len(differences)
    error = math.sqrt(sum((d - mean) ** 2 for d in differences) / (n - 1) / n)
    half = found().half_credit
    assert half.baseline.estimate == pytest.approx(32.5 / 43)
    assert half.estimate == pytest.approx(mean)
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    assert (half.conf_low, half.conf_high) == pytest.approx((mean - reach, mean + reach))


def test_each_distinct_row_counts_once() -> None:
    """18 of 25 distinct rows are right for the baseline, 25 for the trained critic."""
    distinct = found().distinct
    assert (distinct.n_items, distinct.baseline.estimate, distinct.candidate.estimate) == (25, 0.72, 1.0)


def test_swapped_critics_turn_every_sign() -> None:
    turned = readings(audit(with_last(swapped(load_tenacious().last)))).rows
    rows = readings(found()).rows
    assert list(turned["estimate"]) == pytest.approx([-float(str(value)) for value in rows["estimate"]])
    # The published interval takes the 26th and the 976th of 1,000 draws, which is not the same seen from the other side.
    assert list(turned["conf_low"])[1:] == pytest.approx(
        [-float(str(value)) for value in rows["conf_high"]][1:], abs=1e-6
    )


def test_shuffled_pairs_move_nothing_but_the_seeded_interval() -> None:
    last = load_tenacious().last
    shuffled = replace(last, pairs=last.pairs[::-1])
    rows, moved = readings(found()).rows, readings(audit(with_last(shuffled))).rows
    for name in ("estimate", "conf_low", "conf_high"):
        assert list(moved[name])[1:] == pytest.approx(list(rows[name])[1:], abs=1e-9)


def test_the_plan_is_what_power_answers_for_half_the_gain() -> None:
    plan = found().plan
    assert plan.delta == pytest.approx(21 / 43 / 2)
    assert plan.n_clusters is not None
    assert plan.n_items is not None
    assert [_detectable(plan.n_items, plan.n_clusters - fewer) <= 21 / 43 / 2 for fewer in (0, 2)] == [True, False]


def _detectable(n_items: int, n_clusters: int) -> float:
    plan = es.power(
        n_items=n_items,
        n_clusters=n_clusters,
        pilot=es.datasets.tenacious_held_out(),
        baseline="baseline",
        candidate="trained",
        cluster="dimension",
    )
    assert plan.delta is not None
    return plan.delta


def test_original_traces_give_the_same_answer(shared_data: Path) -> None:
    """The loader that users have reads the same pairs as the audit."""
    traces = shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl"
    mine = es.compare(es.read(traces), "baseline", "trained", metric="correct", cluster="dimension")
    assert (
        mine.to_frame()
        .select("method", "estimate", "conf_low", "p_value")
        .equals(found().dimensions.to_frame().select("method", "estimate", "conf_low", "p_value"))
    )
    assert read_tenacious(traces).last.pairs == load_tenacious().last.pairs
    assert "held_out_traces.jsonl" in read_tenacious(traces).origin


def test_the_code_that_is_shown_runs(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = document().section("again")
    assert section is not None
    (code,) = (block.code for block in section.blocks if isinstance(block, Code))
    monkeypatch.chdir(shared_data / "tenacious")
    names: dict[str, Any] = {}
    exec("\n".join(line for line in code.splitlines() if "es.report" not in line), names)  # noqa: S102 - our own code
    assert names["difference"] == pytest.approx(21 / 43)


# The files, by hand and by slow forms.


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


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            pair("h1", (0.7, 0.7, 2.0, 1.0), baseline_correct=True),
            "line 1: baseline_correct is not what its two scores say",
        ),
        (pair("h1", (0.7, 0.7, math.nan, 1.0)), "line 1 lacks a score of trained"),
        ({"task_id": "h1"}, "line 1 has no task_id and dimension"),
    ],
)
def test_a_line_that_cannot_be_is_refused(repository: Path, row: dict[str, object], words: str) -> None:
    write(repository / "ablations" / "held_out_traces.jsonl", [row], lines=True)
    with pytest.raises(InputError, match=words):
        read_tenacious(repository)


def test_pairs_that_do_not_give_the_published_accuracy_are_refused(repository: Path) -> None:
    traces = repository / "ablations" / "held_out_traces.jsonl"
    write(traces, [pair("h1", (0.7, 0.7, 2.0, 1.0))], lines=True)
    with pytest.raises(
        InputError, match=r"trained is right on 1 of 1 pairs, where 0\.5 is published; expected all pairs"
    ):
        read_tenacious(repository)
    with pytest.raises(InputError, match=r"baseline is right on 0 of 1 pairs, where 0.5116 is published"):
        read_tenacious(traces)


def test_without_published_numbers_the_shipped_ones_stand_in(shared_data: Path, tmp_path: Path) -> None:
    traces = shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl"
    (tmp_path / "ablations").mkdir()
    (tmp_path / "ablations" / traces.name).symlink_to(traces)
    study = read_tenacious(tmp_path)
    assert (study.runs, study.files) == (load_tenacious().runs, load_tenacious().files)
    assert "published numbers, earlier runs and checks of the files from counts that ship" in study.origin


@pytest.mark.parametrize(
    ("kept", "words"),
    [(lambda each, first: each.dimension in first, "the run has 4 dimensions; at least 5 are needed"),
     (lambda each, _: each.baseline == "right", "there is no gain to take apart"),
     (lambda each, _: each.baseline == "tie" or each.dimension == "", "the run has 3 dimensions")],
)  # fmt: skip
def test_a_run_that_cannot_be_taken_apart_is_refused(kept: Any, words: str) -> None:
    study = load_tenacious()
    last = study.last
    pairs = tuple(each for each in last.pairs if kept(each, last.dimensions[:4]))
    if "gain" in words:
        pairs = tuple(replace(each, dimension=f"d{place % 5}") for place, each in enumerate(pairs))
    with pytest.raises(CannotAnswerError, match=words):
        document(replace(study, runs=(*study.runs[:-1], replace(last, pairs=pairs))))


def test_a_task_that_no_split_holds_is_an_error(repository: Path) -> None:
    traces = [pair("gone", (0.7, 0.7, 2.0, 1.0)), pair("d1", (0.1, 0.7, 1.0, 1.0))]
    write(repository / "ablations" / "held_out_traces.jsonl", traces, lines=True)
    with pytest.raises(InputError, match=r"1 scored tasks are in no split \('gone'\)"):
        read_tenacious(repository)


# What is said.


def test_the_closing_sentence_follows_from_the_pairs() -> None:
    study = load_tenacious()
    assert "43 pairs in 7 dimensions" in may_say(study)
    assert "resolved 21 ties of the baseline and lost no pair" in may_say(study)
    assert "and lost 1 pair;" in may_say(replace(study, runs=study.runs[:2]))


def test_no_number_is_typed() -> None:
    """Another run in the last place, and every number of the page is its own."""
    study = load_tenacious()
    other = document(replace(study, runs=study.runs[1:2]))
    told = " ".join(str(block) for section in other.evidence for block in section.blocks)
    assert other.number == "+27.3 pp"
    assert "29 of 44 pairs" in told
    assert "48.8" not in told
    assert "11.36 to 40.91" in told


def test_headline_and_sentences_are_short() -> None:
    said = document()
    assert len(said.headline.split()) <= 15
    assert len(may_say(load_tenacious()).split()) <= 30


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> str:
    (path,) = report("tenacious", tmp_path_factory.mktemp("tenacious-page") / "page.html", engine="embedded")
    return path.read_text("utf-8")


def words_of(html: str) -> str:
    return re.sub(
        r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style|svg)\b.*?</\1>", " ", html, flags=re.DOTALL))
    )


def test_what_was_found_comes_before_how(rendered: str) -> None:
    words = words_of(rendered)
    order = [
        "Did training a critic gain 49 points?",
        "Computed from counts that ship with evalstats",
        "right when it scores the better one higher",
        "reproduced to its last digit",
        "34.88 to 62.79",
        "errors of the baseline are ties",
        "dimensions decide, not 43 pairs",
        "3 runs had 3 held-out sets",
        "The shipped files are not those of the run",
        "dimensions were needed",
        "What the headline may say",
        "All methods",
    ]
    start = words.index("Skip to the report")
    for phrase in order:
        start = words.index(phrase, start) + 1


def test_one_file_that_loads_nothing_and_knows_no_path(rendered: str) -> None:
    assert loads(rendered, script=page_script()) == []
    assert str(Path(__file__).parents[2]) not in rendered


def test_the_page_keeps_to_what_both_engines_render() -> None:
    assert list(problems(read_document(find_page("tenacious").source))) == []


@pytest.mark.slow
def test_the_command_renders_the_original_files(shared_data: Path, tmp_path: Path) -> None:
    """The same page but for the line that says what it was computed from."""
    page = tmp_path / "page.html"
    asked = ["report", "tenacious", "--data", str(shared_data / "tenacious"), "-o", str(page), "--engine", "embedded"]
    made = CliRunner().invoke(app, asked)
    assert made.exit_code == 0, made.output
    text = page.read_text("utf-8")
    assert "Computed from the published files" in words_of(text)
    assert str(shared_data) not in text


@pytest.mark.slow
def test_the_pdf_says_the_same(tmp_path: Path, pdf_text: Any) -> None:
    text = re.sub(r"\s+", " ", pdf_text(report("tenacious", tmp_path / "page.pdf", engine="embedded")[0]))
    for phrase in ("Did training a critic gain 49 points?", "What the headline may say", "How to do it again"):
        assert phrase in text


def test_data_are_for_this_page_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="data= is for tenacious; the page validation takes none"):
        report("validation", tmp_path / "page.html", data=tmp_path)
    with pytest.raises(InputError, match="there is no such file or folder"):
        report("tenacious", tmp_path / "page.html", data=tmp_path / "nowhere")
