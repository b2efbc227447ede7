"""The worked studies: pages that use the public interface alone, their numbers against references and what is stored."""

import base64
import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import evalstats as es
from dev.website.pages import run_page
from evalstats.datasets.validation import PromisedRate
from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import problems, read_document
from evalstats.report.render import STUDIES, report
from evalstats.stats.one_sample import wilson
from tests.report.page_words import Outline

# What a reader meets, in this order.
READS = {
    "validation": (
        "How often is evalstats wrong?", "promises about error rates", "One model", "Live arenas", "Method", "2718281828",
    ),
    "arena-sampling": (
        "Which models should an arena let meet?", "claims borne out", "Are rankings more accurate",
        "accuracy is much the same", "Ranks are steadier", "A ring of ten raters often wins more",
        "For whoever reads an arena's ratings", "What is assumed", "1618033988",
    ),
    "tenacious": (
        "Did training a critic gain 49 points?", "Half of that is how ties are counted", "reproduced to its last digit",
        "errors of the baseline are ties", "7 dimensions decide, not 43 pairs", "3 runs had 3 held-out sets",
        "not those of the run", "What the headline may say", "All methods", "What else to know",
    ),
    "published-claims": (
        "Do six published results follow", "not shown by their data", "Six claims", "estimates move", "said to solve nothing",
        "are not 150 tasks", "fewer drafts that pass", "74 against 73", "Three rates an arm", "called not significant",
        "What all six share", "Sources", "What else to know",
    ),
}  # fmt: skip


def computed(study: str) -> dict[str, Any]:
    """What the cells of a page compute, with no figure drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalstats.report.page.figure_float", lambda *_, **__: "")
        return run_page(study)[1]


names = cache(computed)


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The page of a study, rendered once."""

    def page(study: str) -> str:
        (path,) = report(study, tmp_path_factory.mktemp(study) / "page.html", engine="embedded")
        return path.read_text("utf-8")

    return cache(page)


@pytest.fixture(scope="module")
def rendered(study: str, page_of: Callable[[str], str]) -> str:
    return page_of(study)


def test_what_was_found_comes_before_how(study: str, rendered: str) -> None:
    outline = Outline(rendered)
    start = outline.words.index("Skip to the report")
    for phrase in READS[study]:
        start = outline.words.index(phrase, start) + 1


def test_one_file_that_loads_nothing_and_knows_no_path(rendered: str) -> None:
    assert loads(rendered, script=page_script()) == []
    assert str(Path(__file__).parents[2]) not in rendered


def test_a_study_keeps_to_what_both_engines_render_and_to_the_public_interface(study: str) -> None:
    document = read_document(find_page(study).source)
    assert list(problems(document)) == []
    code = "\n".join(cell.code for cell in document.cells)
    assert set(re.findall(r"evalstats[.\w]*", "\n".join(re.findall(r"^(?:import|from) .*", code, re.MULTILINE)))) == {
        "evalstats", "evalstats.report.page",
    }  # fmt: skip


@pytest.mark.slow
def test_the_pdf_says_the_same(study: str, tmp_path: Path, pdf_text: Any) -> None:
    text = re.sub(r"\s+", " ", pdf_text(report(study, tmp_path / "page.pdf", engine="embedded")[0]))
    for phrase in READS[study][:2]:
        assert phrase in text


# Error rates


def test_every_stored_question_has_its_place_and_all_its_rates(page_of: Callable[[str], str]) -> None:
    outline = Outline(page_of("validation"))
    links = {each["download"]: each["href"] or "" for _, each in outline.elements if each.get("download")}
    assert set(names("validation")["studies"]) == set(es.datasets.validation_names())
    for name, found in names("validation")["studies"].items():
        assert found.question in outline.words
        frame = pl.read_csv(io.BytesIO(base64.b64decode(links[f"{name}-rates.csv"].partition("base64,")[2])))
        assert frame["rate"].to_list() == pytest.approx([row.rate for row in found.rows])


def promise(**given: Any) -> PromisedRate:
    told = dict.fromkeys(("low", "high", "replicates", "tables"))
    return PromisedRate(
        **{**told, "text": "t", "method": "m", "cases": (), "up_to_chance": False, "holds": True, **given}
    )


@pytest.mark.parametrize(
    ("given", "standing"),
    [
        ({"found": 0.04, "high": 0.06, "replicates": 2_000, "tables": 2_000}, "kept"),
        # 5.5% of 2,000 tables has an error of 1 point: it does not tell on which side of 6% the rate is.
        ({"found": 0.055, "high": 0.06, "replicates": 2_000, "tables": 2_000}, "undecided"),
        ({"found": 0.055, "high": 0.06, "replicates": 2_000, "tables": 2_000, "up_to_chance": True}, "at the limit"),
        ({"found": 0.4, "high": 0.06, "replicates": 2_000, "tables": 2_000, "up_to_chance": True}, "missed"),
        ({"found": 0.4, "high": 0.06, "replicates": 1_999, "tables": 1_999}, "not judged"),
        ({"found": 0.04, "high": 0.06}, "kept"),
        ({"found": 0.07, "high": 0.06}, "missed"),
    ],
)
def test_a_promise_is_kept_missed_or_undecided(given: dict[str, Any], standing: str) -> None:
    assert promise(**given).standing == standing


def test_the_chance_of_a_rate_is_wilsons() -> None:
    for claim in names("validation")["claims"]:
        if claim.replicates is not None:
            expected = wilson(round(claim.found * claim.replicates), claim.replicates)
            assert claim.chance == pytest.approx((expected.conf_low, expected.conf_high), abs=0.6 / claim.replicates)


def test_weak_points_take_their_numbers_from_the_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    before, load = names("validation")["weaknesses"], es.datasets.load_validation

    def halved(name: str) -> Any:
        stored = load(name)
        rows = (replace(row, rate=row.rate / 2, width=row.width and row.width**2) for row in stored.rows)
        return replace(stored, rows=tuple(rows))

    monkeypatch.setattr(es.datasets, "load_validation", halved)
    after = computed("validation")["weaknesses"]
    assert all(before[lead] != after[lead] for lead in before)


def test_the_card_counts_promises_that_are_kept() -> None:
    claims = names("validation")["claims"]
    kept = sum(claim.standing == "kept" for claim in claims)
    assert names("validation")["page"].document.number == f"{kept} of {len(claims)}"
    worst = max(row.rate for row in es.datasets.load_validation("one-score").rows if row.method == "Wilson")
    assert f"up to {100 * worst:.1f}%" in names("validation")["weaknesses"]["One score at its worst p"]


# Sampling of an arena


def test_answers_are_counts_of_verdicts() -> None:
    found = names("arena-sampling")
    for answer in found["answers"]:
        verdicts = found["compared"](*found["ASKED"][answer["Question"]])
        assert verdicts
        for word in ("better", "worse", "not separated"):
            n = verdicts.count(word)
            assert (f"{n} {word}" in answer["Comparisons"]) == bool(n)


@pytest.mark.parametrize(("verdict", "word"), [("better", "Yes"), ("worse", "No"), ("not separated", "Not shown")])
def test_one_verdict_everywhere_gives_one_answer(verdict: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = es.datasets.load_arena_sampling()
    rows = tuple(replace(row, verdict=verdict if row.verdict else "") for row in stored.rows)
    monkeypatch.setattr(es.datasets, "load_arena_sampling", lambda: replace(stored, rows=rows))
    found = computed("arena-sampling")
    for answer in found["answers"]:
        if answer["Question"] == "Do 95% intervals still hold?":  # which no simulation proves
            assert answer["Answer"] == ("No" if verdict == "worse" else "Nothing against it")
        else:
            assert answer["Answer"] == word
    assert found["page"].document.number == ("4 of 4" if verdict == "better" else "0 of 4")


def test_what_is_drawn_is_what_is_stored() -> None:
    found = names("arena-sampling")
    stored = [row for row in found["study"].of("far") if row.sampling != "random"]
    rows = found["differences"]("far").rows
    assert list(rows["estimate"]) == [row.difference for row in stored]
    assert [bool(settled) for settled in rows["settled"]] == [row.verdict in ("better", "worse") for row in stored]


# Tenacious-Bench


def test_published_intervals_are_found_again(golden: Path) -> None:
    """By other seeds, too, what the reference says."""
    found = names("tenacious")
    for run in found["study"].runs:
        assert found["published"](run) == (run.conf_low, run.conf_high)
    reference = json.loads((golden / "py_golden.json").read_text())["tenacious"]["peer_other_seeds"]
    assert {str(seed): [*found["published"](found["last"], seed), 0.0] for seed in range(6)} == reference


def test_readings_have_the_reference_values(golden: Path) -> None:
    reference = json.loads((golden / "py_golden.json").read_text())["tenacious"]
    found = names("tenacious")
    rows = {row.method: row for row in found["pairs"].rows}
    for method, key in (
        ("Tango score", "tango"),
        ("Newcombe square-and-add", "newcombe10"),
        ("Bonett-Price", "bonett_price"),
        ("BCa bootstrap, exact law", "BCa_exact"),
    ):
        assert [100 * rows[method].conf_low, 100 * rows[method].conf_high] == pytest.approx(reference[key], abs=1e-6)
    assert rows["McNemar exact"].p_value == pytest.approx(reference["mcnemar_exact_p"])
    assert rows["McNemar mid-p"].p_value == pytest.approx(reference["mcnemar_midp"])
    assert found["effect"] == pytest.approx(reference["design_effect_CR0_vs_iid"])
    ends = found["bootstrap"]
    assert [100 * ends.conf_low, 100 * ends.conf_high] == pytest.approx(reference["cluster_bootstrap_exact_7dims"])
    assert found["flip"] == pytest.approx(reference["cluster_signflip_exact_p"])
    assert len(found["last"].distinct()) == reference["distinct_score_rows"]
    assert 100 * found["trained"].conf_low == pytest.approx(reference["wilson_trained"][0])


def test_dimensions_as_a_sample_leave_the_gain_open() -> None:
    """CR2 [-5.6, 100], p .070, as the specification of the methods works it out."""
    sampled = names("tenacious")["sampled"]
    assert (round(100 * sampled.conf_low, 1), sampled.conf_high, round(sampled.p_value, 3)) == (-5.6, 1.0, 0.070)
    assert (sampled.verdict, names("tenacious")["pairs"].verdict) == ("inconclusive", "better")


def test_half_credit_and_distinct_rows_by_their_definition() -> None:
    """18 of 25 distinct rows are right for the baseline, 25 for the trained critic; 21 of 43 pairs are ties."""
    half, distinct = names("tenacious")["half_credit"], names("tenacious")["distinct"]
    assert (half.baseline.estimate, half.estimate) == pytest.approx((32.5 / 43, 10.5 / 43))
    assert (distinct.n_items, distinct.baseline.estimate, distinct.candidate.estimate) == (25, 0.72, 1.0)


def test_original_traces_give_the_same_answer(shared_data: Path) -> None:
    traces = es.read(shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl")
    mine = es.compare(traces, "baseline", "trained", metric="correct", cluster="dimension").to_frame()
    columns = ("method", "estimate", "conf_low", "p_value")
    assert mine.select(columns).equals(names("tenacious")["sampled"].to_frame().select(columns))


def test_the_plan_is_what_power_answers_for_half_the_gain() -> None:
    plan = names("tenacious")["plan"]
    assert plan.delta == pytest.approx(21 / 43 / 2)
    asked = {"baseline": "baseline", "candidate": "trained", "cluster": "dimension"}

    def detectable(fewer: int) -> float:
        pilot, n = es.datasets.tenacious_held_out(), plan.n_clusters - fewer
        return es.power(n_items=plan.n_items, n_clusters=n, pilot=pilot, **asked).delta

    assert [detectable(fewer) <= 21 / 43 / 2 for fewer in (0, 2)] == [True, False]


# Published claims


def test_claims_are_recounted_by_their_definitions() -> None:
    """Rates as counts, the t-test and the binomial as scipy has them, the plan by the square of the widths."""
    found = names("published-claims")["FOUND"]
    assert found["zero-of-tau2"].estimate == pytest.approx(77 / 150)
    assert (found["tau2-baseline"].estimate, found["two-points"].estimate) == pytest.approx((109 / 150, 0.01))
    assert (found["score-or-pass"].estimate, found["score-or-pass"].verdict) == (pytest.approx(-0.04), "inconclusive")
    t = stats.ttest_rel([0.76, 0.72, 0.74], [0.64, 0.66, 0.4])
    assert found["three-rates"].p_value == pytest.approx(t.pvalue)
    assert found["three-rates"].conf_low == pytest.approx(t.confidence_interval().low)
    assert names("published-claims")["again"] == pytest.approx(stats.binom.sf(51, 61, 52 / 61))
    width = found["tau2-baseline"].conf_high - found["tau2-baseline"].conf_low
    assert names("published-claims")["needed_tasks"] == math.ceil(30 * (width / (0.7917 - 0.6504)) ** 2)


def test_the_stated_interval_is_wilsons_of_150_independent_tasks() -> None:
    stated = names("published-claims")["stated"]["tau2-baseline"]
    expected = wilson(109, 150)
    assert (stated.conf_low, stated.conf_high) == pytest.approx((expected.conf_low, expected.conf_high), abs=5e-5)


def test_the_card_counts_what_the_verdicts_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a gain that is there, one claim fewer is called empty."""
    assert len(names("published-claims")["claimed"]) == 3
    shipped = es.datasets.load_published_claims()
    right = replace(shipped["score-or-pass"].counts[0], baseline="0")  # 31 tasks, won by training
    counts = (right, *shipped["score-or-pass"].counts[1:])
    changed = {**shipped, "score-or-pass": replace(shipped["score-or-pass"], counts=counts)}
    monkeypatch.setattr(es.datasets, "load_published_claims", lambda: changed)
    page = computed("published-claims")["page"]
    assert page.document.headline.startswith("2 claimed gains")
