"""The error rates that ship with the package: well formed, within what is promised, and what a rerun gives."""

import json
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

from dev.validation import false_claims, graded_pairs, one_score, pairs
from dev.validation.__main__ import NAMES
from dev.validation.deciding import decided
from dev.validation.storing import text_of
from dev.validation.study import SEED
from evalstats.datasets.validation import ENOUGH, Study, load_validation, validation_names
from evalstats.errors import InputError
from evalstats.stats.one_sample import unseen_failures, wilson
from evalstats.stats.paired.means import augmented_t, paired_t

STUDIES = [pytest.param(load_validation(name), id=name) for name in validation_names()]
# The rates that are promised of the toolkit as a whole, apart from what each simulation says of itself.
PROVED = [
    ("false-claims", "evalstats: interval alone", "60 clusters of 5 items, 1 trial", 0.04, 0.06),
    ("false-claims", "evalstats: interval alone", "60 clusters of 5 items, 3 trials", 0.0, 0.06),
    ("false-claims", "evalstats: verdict", "60 clusters of 5 items, 1 trial", 0.03, 0.06),
    ("false-claims", "evalstats: verdict", "60 clusters of 5 items, 3 trials", 0.0, 0.06),
    ("false-claims", "evalstats: interval alone", "7 uneven clusters, 1 trial", 0.0, 0.065),
    ("false-claims", "evalstats: interval alone", "7 uneven clusters, 3 trials", 0.0, 0.065),
    ("ranks", "evalstats: rank sets", "15 clusters of 10 items, ten equal models", 0.0, 0.06),
    ("ranks", "evalstats: rank sets", "40 clusters of 5 items, ten equal models", 0.0, 0.06),
    ("ranks", "evalstats: rank sets", "200 independent items, ten equal models", 0.0, 0.07),
]


def rate(study: Study, method: str, case: str):
    (row,) = [row for row in study.rows if (row.method, row.case) == (method, case)]
    return row


def test_every_question_has_its_results_stored() -> None:
    assert set(validation_names()) == set(NAMES)


def test_an_unknown_question_is_refused_with_the_list() -> None:
    with pytest.raises(
        InputError, match="no stored error rates 'weather'; there are arena-checks, arena-pairing, audit-checks"
    ):
        load_validation("weather")


@pytest.mark.parametrize("study", STUDIES)
def test_rows_are_rates_with_their_monte_carlo_interval(study: Study) -> None:
    keys = [(row.case, row.method) for row in study.rows]
    assert len(set(keys)) == len(keys) > 5
    for row in study.rows:
        assert 0.0 <= row.rate <= 1.0
        assert row.width is None or row.width > 0.0
        if row.replicates is None:
            assert (row.low, row.high) == (None, None)
        else:
            again = wilson(round(row.rate * row.replicates), row.replicates)
            assert (row.low, row.high) == pytest.approx((again.conf_low, again.conf_high), abs=1e-6)
    assert any(row.role == "ours" for row in study.rows)
    assert (study.seed is None) == all(row.replicates is None for row in study.rows)
    assert study.seed in (None, SEED)


@pytest.mark.parametrize("study", STUDIES)
def test_promises_are_kept_and_follow_from_the_rows(study: Study) -> None:
    assert study.claims
    for claim in study.claims:
        own = [row for row in study.rows if row.method == claim.method and (not claim.cases or row.case in claim.cases)]
        assert len(own) >= max(1, len(claim.cases))
        assert any(row.rate == claim.found for row in own)
        for row in own:
            if claim.holds is None:
                continue
            reach = (row.low, row.high) if claim.up_to_chance and row.low is not None else (row.rate, row.rate)
            assert claim.low is None or reach[1] >= claim.low, claim.text
            assert claim.high is None or reach[0] <= claim.high, claim.text
        assert claim.holds is not False


@pytest.mark.parametrize("study", STUDIES)
def test_no_promise_is_judged_on_fewer_than_two_thousand_tables(study: Study) -> None:
    for claim in study.claims:
        own = [row for row in study.rows if row.method == claim.method and (not claim.cases or row.case in claim.cases)]
        counts = [row.replicates for row in own if row.replicates is not None]
        if counts:
            assert claim.tables is not None
            assert claim.tables >= ENOUGH
            # What is missing of them are tables on which the method gives no interval.
            assert min(counts) >= 0.85 * ENOUGH
        else:
            assert claim.tables is None


def test_stored_rates_are_of_this_version() -> None:
    assert {study.version for study in map(load_validation, validation_names())} == {version("evalstats-toolkit")}


@pytest.mark.parametrize(("name", "method", "case", "low", "high"), PROVED, ids=str)
def test_what_the_toolkit_promises_of_itself(name: str, method: str, case: str, low: float, high: float) -> None:
    row = rate(load_validation(name), method, case)
    if (row.replicates or ENOUGH) < ENOUGH:
        # Too few to judge: they only must not speak against it.
        assert row.low <= high
        assert row.high >= low
    else:
        assert low <= row.rate <= high


def test_the_usual_answers_fail_where_ours_hold() -> None:
    """Without this the promises could hold in worlds where nothing can go wrong."""
    claims = load_validation("false-claims")
    assert 0.15 <= rate(claims, "t on items", "60 clusters of 5 items, 3 trials").rate <= 0.19
    assert (
        rate(load_validation("ranks"), "rank sets by a normal law", "15 clusters of 10 items, ten equal models").rate
        > 0.1
    )
    assert rate(load_validation("peeking"), "t after every item", "300 items, models differ on 30%").rate > 0.3
    assert rate(load_validation("pairs"), "percentile bootstrap", "n = 20, .90 and .98, shared").rate > 0.2


def test_the_decision_on_arrays_is_that_of_compare() -> None:
    words = " ".join(load_validation("false-claims").notes)
    total = words.partition("On ")[2].partition(" of the data sets")[0]
    assert f"interval and verdict were the same on {total}." in words
    assert int(total.replace(",", "")) >= 50


def test_every_method_beside_the_decision_is_still_there() -> None:
    """What is stored of checks is what a rerun would have: a decision that is asked for them has their p-values."""
    drawn = false_claims.clustered(np.random.default_rng(1), sizes=false_claims.SEVEN, trials=3)
    found = decided(drawn.scores(false_claims.BINARY), checks=True)
    assert {"cluster sign-flip", "wild cluster bootstrap (Webb)"} <= found.p_values.keys()
    assert decided(drawn.scores(false_claims.BINARY)).low == found.low
    pair = false_claims.independent(np.random.default_rng(1), items=80, trials=1)
    assert {"McNemar exact", "McNemar mid-p"} <= decided(pair.scores(false_claims.BINARY), checks=True).p_values.keys()


def test_graded_scores_are_decided_on_arrays_as_by_the_methods_themselves() -> None:
    """Row by row what `compare` uses, and on the tables that went through `compare` the same verdict on all."""
    rng = np.random.default_rng(3)
    a, b = graded_pairs.WORLDS[0].draw(rng, 40, 0.4)
    t, pseudo, (within, seen) = (
        graded_pairs.t_ends(b - a),
        graded_pairs.augmented_ends(b - a),
        graded_pairs.limits(a, b),
    )
    for k, (first, second) in enumerate(zip(a, b, strict=True)):
        plain, augmented = paired_t(second - first), augmented_t(second - first)
        assert (t[0][k], t[1][k]) == pytest.approx((plain.conf_low, plain.conf_high))
        assert (pseudo[0][k], pseudo[1][k]) == pytest.approx((augmented.conf_low, augmented.conf_high))
        up = second.mean() >= first.mean()
        risk = unseen_failures(*((second, first) if up else (first, second)))
        assert (within[k], seen[k]) == (risk.within, risk.seen)
    assert "On 400 of the tables compare() itself was run; its verdict was the same on 400." in " ".join(
        load_validation("graded-pairs").notes
    )


def test_without_crashes_graded_scores_lose_little_power() -> None:
    """The verdict finds at most .08 less than t; what holds for any bounded scores finds far less."""
    told = [note for note in load_validation("graded-pairs").notes if ": found " in note]
    assert len(told) == 13
    for note in told:
        plain, verdict, _, _, _, gaffke, _ = (float(x) for x in note.split("found ")[1].split(";")[0].split(", "))
        assert plain - verdict <= 0.08
        assert gaffke < plain - 0.05


@pytest.mark.parametrize("name", sorted(NAMES))
def test_files_are_as_they_are_written(name: str) -> None:
    """Written again from what they hold, they are the same bytes; and they are of the simulations as they stand."""
    text = files("evalstats.datasets").joinpath("validation", f"{name}.json").read_text(encoding="utf-8")
    read = json.loads(text)
    assert text_of(read) == text
    question = import_module(f"dev.validation.{NAMES[name]}").QUESTION
    assert [case["case"] for case in read["cases"]] == [case.name for case in question.cases]
    assert [method["method"] for method in read["methods"]] == list(question.methods)
    assert [claim["text"] for claim in read["claims"]] == [promise.text for promise in question.promises]


@pytest.mark.parametrize(
    ("method", "items"), [("Wilson", 43), ("Clopper-Pearson", 20), ("percentile bootstrap", 43), ("Jeffreys", 100)]
)
def test_exact_rates_of_one_score_are_what_a_rerun_gives(method: str, items: int) -> None:
    study = load_validation("one-score")
    for (case, _), tally in one_score.enumerated(method, items).items():
        stored = rate(study, method, case)
        assert (stored.rate, stored.width) == (round(tally.errors, 7), round(tally.width, 7))


@pytest.mark.parametrize(("method", "items"), [("Tango score", 20), ("Bonett-Price", 43), ("percentile bootstrap", 20)])
def test_exact_rates_of_pairs_are_what_a_rerun_gives(method: str, items: int) -> None:
    study = load_validation("pairs")
    for (case, _), tally in pairs.enumerated(method, items).items():
        stored = rate(study, method, case)
        assert stored.rate == pytest.approx(tally.errors / tally.total, abs=1e-7)
        assert stored.width == pytest.approx(tally.width / tally.total, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("peeking", "100 items, models differ on 30%"),
        ("mean-pairs", "20 items, .60 and .70"),
        ("graded-pairs", "1 to 5, middle, 12 items"),
        ("judge-correction", "20 labels, grades 1 to 10"),
        ("judge-differences", "20 labels, grades 1 to 10"),
    ],
)
def test_simulated_rates_are_what_a_rerun_gives(name: str, cell: str) -> None:
    from dev.validation.running import run
    from dev.validation.study import added

    question = import_module(f"dev.validation.{NAMES[name]}").QUESTION
    found = added(run([task for task in question.tasks(1.0) if task.cell == cell], jobs=1))
    for method in question.methods:
        if (cell, method) in found:
            stored = rate(load_validation(name), method, cell)
            assert stored.rate == pytest.approx(found[cell, method].errors / found[cell, method].total, abs=1e-7)


SINGLE = {
    "Wilson": "Wilson",
    "Clopper-Pearson": "Clopper-Pearson",
    "Jeffreys": "Jeffreys",
    "Bayes Beta(1,1)": "Beta(1, 1) posterior",
    "boot percentile": "percentile bootstrap",
    "Wald": "Wald (± 1.96 standard errors)",
}


def test_one_score_equals_the_reference_enumeration(golden) -> None:
    """All 150 cells, with code that shares nothing with the package."""
    study = load_validation("one-score")
    reference = pl.read_csv(golden / "sim_single_coverage.csv")
    assert reference.height == 150
    for row in reference.iter_rows(named=True):
        where = one_score.AVERAGE if row["p"].startswith("mean") else row["p"].replace("p=", "p = ")
        stored = rate(study, SINGLE[row["method"]], f"n = {row['n']}, {where}")
        assert 1 - stored.rate == pytest.approx(row["coverage"], abs=2e-7), row
        assert stored.width == pytest.approx(row["width"], abs=2e-7), row


PAIRED = {
    "Tango score": "Tango score",
    "Newcombe sq-and-add": "Newcombe",
    "Bonett-Price": "Bonett-Price",
    "boot pct +1/-1 augmented": "augmented percentile",
    "boot percentile": "percentile bootstrap",
    "boot BCa": "BCa bootstrap",
    "t (n-1)": "t",
    "CLT z (Wald)": "Wald (± 1.96 standard errors)",
}
# The reference left out tables of tiny probability, up to 1e-5 of all at 300 items, and drew 200,000 for Newcombe.
PAIRED_TOLERANCE = {"Newcombe sq-and-add": 0.0025}


def test_pairs_equal_the_reference_enumeration(golden) -> None:
    study = load_validation("pairs")
    by_world = {
        (
            row.design["n"],
            row.design["p_baseline"],
            row.design["p_candidate"],
            row.design["correlation"],
            row.method,
        ): row
        for row in study.rows
        if "p_baseline" in row.design
    }
    reference = pl.read_csv(golden / "sim_paired_coverage.csv").filter(
        pl.col("n") <= 300, pl.col("method").is_in(list(PAIRED))
    )
    assert reference.height == 40 * len(PAIRED)
    for row in reference.iter_rows(named=True):
        stored = by_world[row["n"], row["pA"], row["pB"], round(row["rho"], 4), PAIRED[row["method"]]]
        tolerance = PAIRED_TOLERANCE.get(row["method"], 1.5e-5)
        assert 1 - stored.rate == pytest.approx(row["coverage"], abs=tolerance), row
        assert stored.width == pytest.approx(row["width"], abs=5e-4 if "Newcombe" in row["method"] else 1e-6), row


CLUSTERED = {
    "cluster-mean t (=CR2 bal.)": "CR2, Satterthwaite t",
    "CR1 t(G-1)": "CR1, t with G − 1 df",
    "cluster boot pct": "cluster bootstrap",
    "CR0 z": "CR0, ± 1.96 standard errors",
    "item t": "t on items",
    "item boot": "bootstrap of items",
}


def test_clusters_agree_with_the_reference_simulation(golden) -> None:
    """Within .015 for our method; for the others within 4 standard errors of both simulations (2,000 data sets there)."""
    study = load_validation("clusters")
    reference = pl.read_csv(golden / "sim_cluster_coverage.csv")
    assert reference.height == 72
    for row in reference.iter_rows(named=True):
        stored = rate(study, CLUSTERED[row["method"]], f"{row['G']} even clusters, latent ICC {row['icc_latent']:g}")
        noise = 4 * (stored.rate * (1 - stored.rate) * (1 / 2000 + 1 / stored.replicates)) ** 0.5
        allowed = 0.015 if stored.role == "ours" else max(0.015, noise)
        assert 1 - stored.rate == pytest.approx(row["coverage"], abs=allowed), row
        assert stored.width == pytest.approx(row["width"], rel=0.03), row
