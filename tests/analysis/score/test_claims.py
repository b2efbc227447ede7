"""A score against a published number: p and interval that agree, the score test, errors of the claim, and refusals."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

import evalstats as es
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score
from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData
from tests.typed import typed


def answers(right: int, n: int, **columns: object) -> EvalData:
    rows = {"item": np.arange(n), "model": ["m"] * n, "score": [1] * right + [0] * (n - right), **columns}
    return from_frame(rows, item="item", score="score", model="model")


def one(data: EvalData, **options: object) -> Score:
    found = score(data, "m", **options)
    assert isinstance(found, Score)
    return found


def test_a_fixed_claim_is_met_by_the_score_test() -> None:
    test = one(answers(80, 100), against=0.87).against
    assert test is not None
    z, p = proportions_ztest(80, 100, value=0.87, prop_var=0.87)
    assert test.p_value == pytest.approx(p)
    assert test.estimate == pytest.approx(-0.07)
    assert test.verdict == "below"
    assert z == pytest.approx(stats.norm.ppf(test.p_value / 2))
    # The claim stands on the end of Wilson's interval at level 1 - p.
    edge = one(answers(80, 100), against=0.87, conf_level=1 - p).against
    assert edge is not None
    assert edge.conf_high == pytest.approx(0.0, abs=1e-9)


def test_a_claim_on_n_items_is_newcombes_interval() -> None:
    test = one(answers(80, 100), against=0.87, against_n=1000).against
    assert test is not None
    low, high = confint_proportions_2indep(80, 100, 870, 1000, method="newcomb")
    assert (test.conf_low, test.conf_high) == pytest.approx((low, high), abs=1e-6)


def test_a_claim_with_an_error_is_less_sure_and_in_the_limit_fixed() -> None:
    data = answers(80, 100)
    fixed, exact, rough = (one(data, against=0.87, against_se=se).against for se in (None, 1e-9, 0.03))
    assert fixed is not None
    assert exact is not None
    assert rough is not None
    assert exact.p_value == pytest.approx(fixed.p_value, rel=1e-5)
    assert (rough.p_value or 0) > (fixed.p_value or 1)
    assert rough.verdict == "not shown to differ"


def clustered() -> EvalData:
    rng = np.random.default_rng(6)
    passage = np.repeat(np.arange(20), 6)
    p = rng.beta(3, 1, 20)[passage]
    rows = {
        "item": np.arange(120),
        "model": ["m"] * 120,
        "score": (rng.random(120) < p).astype(int),
        "passage": passage,
    }
    return from_frame(rows, item="item", score="score", model="model")


def unbounded() -> EvalData:
    rng = np.random.default_rng(2)
    rows = {"item": np.arange(40), "model": ["m"] * 40, "score": rng.normal(12, 3, 40)}
    return from_frame(rows, item="item", score="score", model="model")


@pytest.mark.parametrize(
    ("data", "claim", "options"),
    [
        (answers(80, 100), 0.87, {}),
        (answers(80, 100), 0.87, {"against_n": 400}),
        (answers(100, 100), 0.97, {}),
        (answers(3, 40), 0.2, {"against_se": 0.02}),
        (answers(80, 120, task=["a"] * 30 + ["b"] * 90), 0.75, {"average": "macro"}),
        (clustered(), 0.6, {}),
        (clustered(), 0.6, {"against_n": 300}),
        (unbounded(), 13.2, {}),
        (unbounded(), 13.2, {"against_se": 0.4}),
    ],
)
def test_p_agrees_with_the_interval_at_every_level(data: EvalData, claim: float, options: dict) -> None:
    for level in (0.6, 0.95, 0.99, 0.99999):
        test = one(data, against=claim, conf_level=level, **options).against
        assert test is not None
        assert test.conf_low is not None
        assert test.conf_high is not None
        assert ((test.conf_low > 0) or (test.conf_high < 0)) == ((test.p_value or 1) < 1 - level)
        assert (test.verdict == "not shown to differ") == (test.conf_low <= 0 <= test.conf_high)
        assert test.conf_low <= test.estimate <= test.conf_high


def test_unbounded_scores_are_met_by_t() -> None:
    data = unbounded()
    test = one(data, against=13).against
    assert test is not None
    assert test.p_value == pytest.approx(stats.ttest_1samp(data.outcomes["score"].to_numpy(), 13).pvalue)


def test_the_size_is_that_of_the_score_test() -> None:
    """Exact size over Bin(60, .9): the score test rejects a true claim in at most 7%, as Wilson's interval misses it."""
    p = [float(one(answers(x, 60), against=0.9).against.p_value or 1) for x in range(40, 61)]  # type: ignore[union-attr] - asked for
    size = sum(stats.binom.pmf(x, 60, 0.9) for x, each in zip(range(40, 61), p, strict=True) if each < 0.05)
    assert 0.02 < size < 0.07


def test_percent_means_the_same_number() -> None:
    assert one(answers(80, 100), against="87%").against == one(answers(80, 100), against=0.87).against
    assert (
        one(answers(80, 100), against="87%", against_se="1%").against
        == one(answers(80, 100), against=0.87, against_se=0.01).against
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"against": 87}, "runs from 0 to 1; write 0.87 or 87%"),
        ({"against": "much"}, "against is 'much'"),
        ({"against": 0.8, "against_n": 10, "against_se": 0.1}, "give one"),
        ({"against": 0.8, "against_se": 0}, "a standard error is above 0"),
        ({"against": 0.8, "against_n": 0}, "whole number of at least 1"),
        ({"against_n": 10}, "give the claim itself"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        one(answers(80, 100), **options)


def test_a_claim_is_of_one_metric() -> None:
    rows = {"item": [1, 2] * 2, "model": ["a"] * 2 + ["b"] * 2, "f1": [0.1, 0.2, 0.3, 0.4], "em": [0, 1, 0, 1]}
    data = from_frame(rows, item="item", score=["f1", "em"], model="model")
    with pytest.raises(InputError, match="a claim is of one metric, and there are 2"):
        score(data, against=0.5)
    assert len(score(data, against=0.5, metric="em")) == 2  # type: ignore[arg-type] - without a name there are several


def test_few_clusters_give_no_answer_and_say_why() -> None:
    data = answers(30, 40, passage=np.arange(40) // 10)
    test = one(data, against=0.5).against
    assert test is not None
    assert (test.verdict, test.p_value) == ("no answer", None)
    assert "cannot be compared with the claimed 50.0%" in one(data, against=0.5).summary()


def test_missing_scores_that_could_undo_it_are_said() -> None:
    rows = {"item": np.arange(100), "model": ["m"] * 100, "score": [1] * 80 + [0] * 5 + [None] * 15}
    data = from_frame(rows, item="item", score="score", model="model")
    found = one(data, against=0.85)
    assert found.against is not None
    assert found.against.verdict == "not shown to differ"
    assert "15% of the scores of m are missing, and with them at their worst the score is 80.0%" in found.summary()
    assert "are missing" not in one(data, against=0.5).summary()


@pytest.mark.parametrize(("lost", "verdict"), [(4, "above"), (20, "not shown to differ")])
@pytest.mark.parametrize("absent", [True, False])
def test_items_that_another_system_has_are_missing_as_empty_scores_are(
    lost: int, verdict: str, *, absent: bool
) -> None:
    n = 100
    own = [1] * (n - lost - 12) + [0] * 12 + [None] * lost
    rows = [("m", i, s) for i, s in enumerate(own) if s is not None or not absent]
    rows += [("other", i, i % 2) for i in range(n)]
    model, item, scores = zip(*rows, strict=True)
    data = from_frame({"model": model, "item": item, "score": scores}, item="item", score="score", model="model")
    found = one(data, against=0.75)
    assert found.against is not None
    assert found.against.verdict == verdict
    least = (n - lost - 12) / n
    assert (f"at their worst the score is {100 * least:.1f}%" in found.summary()) == (verdict != "above")


def test_nothing_bounds_what_is_missing_of_costs() -> None:
    rows = {"item": np.arange(40), "model": ["m"] * 40, "seconds": [*np.linspace(20, 25, 34), *[None] * 6]}
    data = from_frame(rows, item="item", score="seconds", model="model")
    found = one(data, against=60, higher_is_better=False)
    assert found.against is not None
    assert found.against.verdict == "not shown to differ"
    assert "no bounds that limit what they could be" in found.summary()


def test_every_form_tells_it(tmp_path: Path) -> None:
    found = one(answers(80, 100), against=0.87)
    said = "m scores below the claimed 87.0%. −7.0 pp, 95% CI −15.9 to −0.3, p = 0.037."
    assert said in found.summary()
    assert json.loads(json.dumps(found.to_dict()))["against"]["verdict"] == "below"
    answers(80, 100).outcomes.select("item", "model", "score").write_csv(tmp_path / "t.csv")
    run = typed("score", "t.csv", "--against", "87%", "-f", "json", folder=tmp_path)
    assert math.isclose(json.loads(run.stdout)["against"]["p_value"], found.against.p_value)  # type: ignore[union-attr] - asked for
    assert "m scores below the claimed 87.0%" in typed("score", "t.csv", "--against", "0.87", folder=tmp_path).stdout
    assert es.score(pl.DataFrame(answers(80, 100).outcomes), "m", against=0.87) is not None


def test_a_score_and_its_claim_go_by_the_clusters_that_items_share() -> None:
    """Nine documents whose items go together give all that a declared document does; shuffled ones, what "none" does."""
    draw = np.random.default_rng(109)
    rates = np.array([0.1, 0.9, 0.3, 0.95, 0.2, 0.9, 0.85, 0.9, 0.3])
    rows = [
        {"id": f"{g}-{i}", "document": f"d{g}", "correct": int(draw.random() < rates[g])}
        for g in range(9)
        for i in range(16)
    ]
    frame = pl.DataFrame(rows).with_columns(model=pl.lit("a"))
    data = from_frame(frame, item="id", score="correct", model="model")
    open_, alone, declared = (score(data, "a", against=0.45, cluster=by) for by in (None, "none", "document"))
    assert (alone.against.verdict, declared.against.verdict) == ("above", "not shown to differ")
    assert open_.against == declared.against
    assert open_.rows == declared.rows
    (note,) = [note for note in open_.notes if note.kind == "dependence"]
    assert note.caution
    assert note.text.startswith("Items of one document behave alike")
    mixed = from_frame(
        frame.with_columns(document=pl.col("document").shuffle(seed=1)), item="id", score="correct", model="model"
    )
    unclustered = score(mixed, "a", against=0.45)
    assert (unclustered.against, unclustered.rows) == (alone.against, alone.rows)
