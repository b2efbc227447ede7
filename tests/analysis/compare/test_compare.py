"""`compare` on data whose answer is known."""

import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from evalstats import datasets
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.score.score import score
from evalstats.errors import CannotAnswerError, InputError, written
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Margin, Plan
from tests.analysis.builders import data_of, rows_of, told

# Published figures and reference values of the Tenacious-Bench held-out outcome: see tests/golden and
# tests/stats, where each is derived; here the whole path has to arrive at them.
PP = 1e-2


@pytest.fixture(scope="module")
def tenacious() -> EvalData:
    return datasets.tenacious_held_out()


def test_published_headline_is_reproduced_and_corrected(tenacious: EvalData) -> None:
    result = compare(tenacious, "baseline", "trained", cluster="none")
    assert result.estimate == pytest.approx(21 / 43)  # 22 both right, 21 only trained, of 43
    assert (result.baseline.estimate, result.candidate.estimate) == pytest.approx((22 / 43, 1.0))
    assert (result.conf_low, result.conf_high) == pytest.approx((0.3461745, 0.6324769), abs=1e-6)  # golden: tango
    assert result.p_value == pytest.approx(4.6e-6, rel=0.01)  # chi-square of 21 on 1 df
    methods = {row.method: row for row in result.rows}
    assert methods["McNemar mid-p"].p_value == pytest.approx(2.0**-21)  # 2 * 2^-21 less half of P(X = 0) twice
    bootstrap = next(row for row in result.rows if "bootstrap" in row.method)
    assert (bootstrap.conf_low, bootstrap.conf_high) == pytest.approx(
        (15 / 43, 27 / 43)
    )  # quantiles of Bin(43, 21/43)/43


def test_the_dimension_decides_and_is_named_as_the_source_names_it(tenacious: EvalData) -> None:
    result = compare(tenacious, "baseline", "trained")
    (note,) = [note for note in result.notes if note.kind == "dependence"]
    assert note.text == "Items of one dimension behave alike (design effect 6.7)"
    assert written(note.remedy) == "If these 7 dimensions are all you ask about, add cluster='none'"
    row = next(row for row in result.dependence if row.factor == "dimension")
    assert (row.flag, row.kind, row.copies, row.column) == ("warn", "partition", True, "scenario")
    assert result.these_items is not None
    assert (result.these_items.verdict, result.these_items.turned) == ("better", True)
    assert result.document().headline == (
        "trained scores higher on these 43 items; whether it does on other dimensions is open"
    )
    assert "trained gains all 21 items of 3 dimensions and changes nothing in the other 4." in result.summary()


@pytest.mark.parametrize("cluster", ["dimension", None])
def test_with_the_dimension_as_cluster_the_answer_is_inconclusive(tenacious: EvalData, cluster: str | None) -> None:
    result = compare(tenacious, "baseline", "trained", cluster=cluster)
    assert result.std_error == pytest.approx(0.21637, abs=5e-6)
    assert result.df == pytest.approx(5.404, abs=5e-4)
    assert result.design_effect == pytest.approx(7.87, abs=5e-3)
    assert result.conf_low == pytest.approx(-0.0556, abs=5e-5)
    assert result.conf_high == 1.0
    assert "103.2" in result.rows[0].note
    assert result.p_value == pytest.approx(0.0697, abs=5e-5)
    flip = next(row for row in result.rows if row.method == "cluster sign-flip")
    assert flip.p_value == pytest.approx(0.25)
    assert "3 clusters differ, so its smallest attainable p is 0.25" in flip.note
    assert result.verdict == "inconclusive"
    assert result.clusters == ("dimension",)


def test_swapping_the_sides_turns_every_sign() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 2, 60).tolist(), rng.integers(0, 2, 60).tolist()
    data = data_of(rows_of("a", first), rows_of("b", second))
    there, back = compare(data, "a", "b"), compare(data, "b", "a")
    assert there.estimate == -(back.estimate or 0)
    assert there.conf_low == pytest.approx(-(back.conf_high or 0), abs=1e-9)
    assert there.p_value == back.p_value
    assert {there.verdict, back.verdict} in ({"better", "worse"}, {"inconclusive"})


def test_shuffled_rows_change_nothing() -> None:
    rng = np.random.default_rng(4)
    levels = [f"g{i % 8}" for i in range(80)]
    data = data_of(
        rows_of("a", rng.integers(0, 2, 240).tolist(), trials=3, factors={"passage": levels}),
        rows_of("b", rng.integers(0, 2, 240).tolist(), trials=3, factors={"passage": levels}),
    )
    shuffled = EvalData(
        outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=1), runs=data.runs, metrics=data.metrics
    )
    for options in ({}, {"cluster": "passage"}, {"by": "passage"}):
        assert compare(data, "a", "b", **options).to_dict() == compare(shuffled, "a", "b", **options).to_dict()


def test_pairing_is_by_key_never_by_row_order() -> None:
    items = [f"q{i}" for i in range(30)]
    scores = [float(i % 3 == 0) for i in range(30)]
    data = data_of(rows_of("a", scores, items=items), rows_of("b", scores[::-1], items=items[::-1]))
    result = compare(data, "a", "b")
    assert result.estimate == 0
    assert any("No discordant items" in warning for warning in told(result))
    assert result.verdict == "inconclusive"
    assert result.p_value == 1


def test_trials_are_not_items() -> None:
    one = data_of(rows_of("a", [0.0, 1.0] * 10), rows_of("b", [1.0, 1.0] * 10))
    tripled = data_of(rows_of("a", [0.0] * 3 * 10 + [1.0] * 3 * 10, trials=3), rows_of("b", [1.0] * 60, trials=3))
    single, repeated = compare(one, "a", "b"), compare(tripled, "a", "b")
    assert single.n_items == repeated.n_items == 20
    assert repeated.n_trials == 120
    assert repeated.method.startswith("augmented t")


def test_missing_is_bounded_and_neither_wrong_nor_dropped_in_silence() -> None:
    # 20 shared items on which the two agree; the candidate lacks 5 items that the baseline got right.
    items = [f"q{i:02d}" for i in range(25)]
    data = data_of(
        rows_of("a", [float(i % 2) for i in range(20)] + [1.0] * 5, items=items),
        rows_of("b", [float(i % 2) for i in range(20)], items=items[:20]),
    )
    result = compare(data, "a", "b")
    assert result.estimate == 0
    assert (result.missing.n_both, result.missing.n_only_baseline, result.missing.n_only_candidate) == (20, 5, 0)
    assert result.missing.only_baseline == ("q20", "q21", "q22", "q23", "q24")
    by_words = {row.note: row.estimate for row in result.missing.rows}
    assert by_words["every missing score at the lowest value"] == pytest.approx(-5 / 25)
    assert by_words["every missing score at the highest value"] == pytest.approx(0.0)
    assert any("20 are shared (80%)" in warning for warning in told(result))


def test_a_harness_error_is_not_a_wrong_answer() -> None:
    data = data_of(rows_of("a", [1.0] * 30), rows_of("b", [1.0] * 24 + [None] * 6, status="error"))
    result = compare(data, "a", "b")
    assert result.n_items == 24
    assert result.estimate == 0
    assert result.candidate.n_error == 6
    worst = next(row for row in result.missing.rows if row.note.startswith("every missing score at the lowest"))
    assert worst.estimate == pytest.approx(-6 / 30)
    assert any("6 of 30 rows of b are harness errors" in warning for warning in told(result))


def test_one_failed_trial_counts_in_the_bounds_only() -> None:
    data = data_of(
        rows_of("a", [1.0, 1.0] * 12, trials=2),
        rows_of("b", [1.0, None] + [1.0, 1.0] * 11, trials=2, status="error"),
    )
    result = compare(data, "a", "b")
    assert result.n_items == 12
    lowest = next(row for row in result.missing.rows if row.note.startswith("every missing score at the lowest"))
    assert lowest.estimate == pytest.approx(-0.5 / 12)


def test_variants_of_one_item_are_one_cluster() -> None:
    rng = np.random.default_rng(5)
    rows: list[list[dict[str, object]]] = []
    for model in ("a", "b"):
        part = rows_of(model, rng.integers(0, 2, 60).astype(float).tolist(), items=[f"t{i // 3}" for i in range(60)])
        for i, row in enumerate(part):
            row["variant"] = f"v{i % 3}"
        rows.append(part)
    result = compare(data_of(*rows), "a", "b")
    assert result.clusters == ("item",)
    assert result.n_clusters == 20
    assert result.n_items == 60
    assert any("several variants" in note for note in told(result))


def test_declared_dependence_is_clustered_without_being_asked() -> None:
    levels = [f"p{i // 4}" for i in range(40)]
    rng = np.random.default_rng(6)
    parts = [rows_of(model, rng.integers(0, 2, 40).tolist(), factors={"passage": levels}) for model in ("a", "b")]
    result = compare(data_of(*parts, dependence=["passage"]), "a", "b")
    assert result.clusters == ("passage",)
    assert result.n_clusters == 10


def test_a_nested_cluster_is_covered_by_the_coarser_one() -> None:
    fine, coarse = [f"p{i // 2}" for i in range(40)], [f"d{i // 4}" for i in range(40)]
    rng = np.random.default_rng(7)
    parts = [
        rows_of(model, rng.integers(0, 2, 40).tolist(), factors={"passage": fine, "document": coarse})
        for model in ("a", "b")
    ]
    both = compare(data_of(*parts), "a", "b", cluster=["passage", "document"])
    alone = compare(data_of(*parts), "a", "b", cluster="document")
    assert both.clusters == ("document",)
    assert (both.conf_low, both.conf_high) == (alone.conf_low, alone.conf_high)


def test_two_crossed_clusters_are_never_narrower_than_the_wider_one() -> None:
    rows_level, columns_level = [f"r{i // 8}" for i in range(64)], [f"c{i % 8}" for i in range(64)]
    rng = np.random.default_rng(8)
    shift = rng.normal(size=8)
    second = (rng.random(64) < 1 / (1 + np.exp(-shift[np.arange(64) // 8]))).astype(float)
    factors = {"user": rows_level, "template": columns_level}
    data = data_of(
        rows_of("a", rng.integers(0, 2, 64).tolist(), factors=factors), rows_of("b", second.tolist(), factors=factors)
    )
    both = compare(data, "a", "b", cluster=["user", "template"])
    widths = [compare(data, "a", "b", cluster=name).std_error or 0 for name in ("user", "template")]
    assert both.clusters == ("user", "template")
    assert (both.std_error or 0) >= max(widths) - 1e-12


def test_fewer_than_five_clusters_give_no_interval() -> None:
    levels = [f"p{i % 4}" for i in range(40)]
    rng = np.random.default_rng(9)
    parts = [rows_of(model, rng.integers(0, 2, 40).tolist(), factors={"passage": levels}) for model in ("a", "b")]
    result = compare(data_of(*parts), "a", "b", cluster="passage")
    assert result.conf_low is None
    assert result.conf_high is None
    assert result.verdict == "invalid"
    assert "cluster" in result.verdict_reason


def test_no_verdict_from_fewer_than_six_discordant_items() -> None:
    # Four gained, none lost: the score test gives p = .0455, and still nothing is decided.
    data = data_of(rows_of("a", [0.0] * 4 + [1.0] * 56), rows_of("b", [1.0] * 60))
    result = compare(data, "a", "b")
    assert result.p_value == pytest.approx(0.0455, abs=1e-4)
    assert result.verdict == "inconclusive"
    assert "4 discordant" in result.verdict_reason


def test_three_items_could_never_have_shown_anything() -> None:
    result = compare(data_of(rows_of("a", [0.0] * 3), rows_of("b", [1.0] * 3)), "a", "b")
    assert result.verdict == "powerless"
    assert result.smallest_p == 1.0  # fewer than 6 items that differ decide nothing


def test_equivalence_needs_a_margin_and_the_narrower_interval_inside_it() -> None:
    rng = np.random.default_rng(10)
    first = rng.integers(0, 2, 4000).astype(float)
    second = first.copy()
    flips = rng.choice(4000, 40, replace=False)
    second[flips] = 1 - second[flips]
    data = data_of(rows_of("a", first.tolist()), rows_of("b", second.tolist()))
    assert compare(data, "a", "b").verdict == "inconclusive"
    result = compare(data, "a", "b", margin=0.02)
    assert result.verdict == "equivalent"
    assert result.conf_low is not None
    assert result.equivalence_low is not None
    assert result.equivalence_low > result.conf_low
    small = data_of(rows_of("a", first[:60].tolist()), rows_of("b", second[:60].tolist()))
    assert compare(small, "a", "b", margin=0.001).verdict == "powerless"


def test_lower_is_better_turns_the_verdict_not_the_sign() -> None:
    rng = np.random.default_rng(11)
    first = rng.normal(10, 1, 50)
    data = data_of(
        rows_of("a", first.tolist()),
        rows_of("b", (first - 1 + rng.normal(0, 0.1, 50)).tolist()),
        kind="continuous",
        higher_is_better=False,
    )
    result = compare(data, "a", "b")
    assert result.estimate is not None
    assert result.estimate < 0
    assert result.verdict == "better"
    assert result.method == "paired t"


def test_levels_of_a_factor_are_one_family() -> None:
    rng = np.random.default_rng(12)
    levels = [f"s{i % 5}" for i in range(200)]
    second = np.where(np.arange(200) % 5 == 0, 1.0, rng.integers(0, 2, 200))
    data = data_of(
        rows_of(
            "a", [0.0 if i % 5 == 0 else float(rng.integers(0, 2)) for i in range(200)], factors={"scenario": levels}
        ),
        rows_of("b", second.tolist(), factors={"scenario": levels}),
    )
    result = compare(data, "a", "b", by="scenario")
    assert [group.level for group in result.groups] == ["s0", "s1", "s2", "s3", "s4"]
    assert sum(group.n_items for group in result.groups) == 200
    assert result.groups[0].verdict == "better"
    for group in result.groups:
        assert group.p_value is not None
        assert group.p_adjusted is not None
        assert group.p_value <= group.p_adjusted <= 1
    alone = compare(data.where(scenario="s1"), "a", "b", conf_level=0.99)  # Bonferroni over five levels
    assert (result.groups[1].conf_low, result.groups[1].conf_high) == pytest.approx((alone.conf_low, alone.conf_high))


def test_where_no_interval_is_shown_no_p_is() -> None:
    """Three documents that go unlike ways: too few for an interval, and none of the p of a level speaks of items alone."""
    rng = np.random.default_rng(0)
    factors = {"doc": [f"g{i // 60}" for i in range(180)], "scenario": ["xy"[i % 2] for i in range(180)]}
    gain = np.repeat([-0.3, 0.1, 0.5], 60)
    data = data_of(
        rows_of("a", (rng.random(180) < 0.5).astype(float).tolist(), factors=factors),
        rows_of("b", (rng.random(180) < 0.5 + gain).astype(float).tolist(), factors=factors),
    )
    result = compare(data, "a", "b", by="scenario")
    assert result.p_value is None
    assert [(row.conf_low, row.p_value, row.p_adjusted, row.p_holm) for row in result.groups] == [(None,) * 4] * 2


@pytest.mark.parametrize("seed", range(8))
def test_in_a_family_p_and_interval_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = [f"s{i % 6}" for i in range(360)]
    shift = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])[np.arange(360) % 6]
    data = data_of(
        rows_of("a", (rng.random(360) < 0.4).astype(float).tolist(), factors={"scenario": levels}),
        rows_of("b", (rng.random(360) < 0.4 + shift).astype(float).tolist(), factors={"scenario": levels}),
    )
    for group in compare(data, "a", "b", by="scenario").groups:
        assert group.p_holm <= group.p_adjusted  # type: ignore[operator]
        excludes = group.conf_low > 0 or group.conf_high < 0  # type: ignore[operator]
        assert excludes == (group.p_adjusted <= 0.05)  # type: ignore[operator]


def test_another_factor_can_name_the_sides() -> None:
    rows = rows_of("m", [1.0, 0.0] * 20)
    other = rows_of("m", [1.0, 1.0] * 20)
    for row in rows:
        row["variant"] = "en"
    for row in other:
        row["variant"] = "bn"
    result = compare(data_of(rows, other), "bn", "en", contrast="variant")
    assert result.estimate == pytest.approx(-0.5)
    assert result.n_items == 40
    assert result.clusters == ()


def test_names_that_mean_nothing_or_too_much_are_errors() -> None:
    data = data_of(rows_of("a", [1.0] * 5), rows_of("b", [1.0] * 5))
    with pytest.raises(InputError, match=r"no model, system or run 'c'; all 2: a, b"):
        compare(data, "a", "c")
    twice = rows_of("a", [1.0] * 5)
    for row in twice:
        row["run"] = "second-run"
    doubled = data_of(rows_of("a", [1.0] * 5), twice, rows_of("b", [1.0] * 5))
    with pytest.raises(InputError, match=r"ambiguous: 2 runs .* 'a-run', 'second-run'"):
        compare(doubled, "a", "b")
    assert compare(doubled, "second-run", "b").n_items == 5


def test_a_metric_is_never_guessed() -> None:
    data = data_of(
        rows_of("a", [1.0] * 5, metric="acc"),
        rows_of("a", [0.5] * 5, metric="f1"),
        rows_of("b", [1.0] * 5, metric="acc"),
        rows_of("b", [0.5] * 5, metric="f1"),
    )
    with pytest.raises(InputError, match="no metric 'accuracy'; the data have 'acc', 'f1'"):
        compare(data, "a", "b", metric="accuracy")
    apart = data_of(rows_of("a", [1.0] * 5, metric="acc"), rows_of("b", [1.0] * 5, metric="right"))
    with pytest.raises(InputError, match="no metric is shared: a has only 'acc', b has only 'right'"):
        compare(apart, "a", "b")
    several = data_of(
        *(rows_of("a", [1.0] * 5, metric=name) for name in ("acc", "em")),
        *(rows_of("b", [1.0] * 5, metric=name) for name in ("f1", "rouge")),
    )
    said = "no metric is shared: {} has only 'acc' and 'em', {} has only 'f1' and 'rouge'; where two are the same"
    with pytest.raises(InputError, match=said.format("a", "b")):
        compare(several, "a", "b")
    # Two runs of one model are sides, too.
    same = several.outcomes.with_columns(model=pl.lit("m"), system=pl.lit("m"))
    with pytest.raises(InputError, match=said.format("a-run", "b-run")):
        compare(replace(several, outcomes=same), "a-run", "b-run")


def test_benchmarks_are_tasks_of_a_suite() -> None:
    data = data_of(
        rows_of("a", [1.0] * 5),
        rows_of("b", [1.0] * 5),
        rows_of("a", [1.0] * 5, benchmark="other"),
        rows_of("b", [1.0] * 5, benchmark="other"),
    )
    both = compare(data, "a", "b")
    assert (both.benchmark, [row.level for row in both.groups]) == ("2 tasks", ["bench", "other"])
    assert compare(data.where(benchmark="other"), "a", "b").benchmark == "other"


def test_no_shared_item_is_said_with_examples_of_the_ids() -> None:
    data = data_of(rows_of("a", [1.0] * 3, items=["x1", "x2", "x3"]), rows_of("b", [1.0] * 3, items=["y1", "y2", "y3"]))
    with pytest.raises(
        CannotAnswerError,
        match=r"both sides scored: 'a' scored 3 \(such as 'x1'\), 'b' scored 3 \(such as 'y1'\); if they",
    ):
        compare(data, "a", "b")


def test_ids_that_differ_in_blanks_or_capitals_are_shown_with_what_to_do() -> None:
    ids = [f"q{number}" for number in range(40)]
    first = rows_of("a", [1.0] * 40, items=ids)
    with pytest.raises(
        CannotAnswerError,
        match=r"40 items differ in blanks or capitals of their ids only \('q0' and 'Q0 '\): write the ids",
    ):
        compare(data_of(first, rows_of("b", [1.0] * 40, items=[f"Q{number} " for number in range(40)])), "a", "b")
    some = [f" {each}" if int(each[1:]) % 4 == 0 else each for each in ids]
    found = told(compare(data_of(first, rows_of("b", [1.0] * 40, items=some)), "a", "b"))
    assert any("10 items differ in blanks or capitals of their ids only ('q0' and ' q0')" in each for each in found)
    others = [f"r{each}" if int(each[1:]) % 4 == 0 else each for each in ids]
    assert "blanks" not in " ".join(told(compare(data_of(first, rows_of("b", [1.0] * 40, items=others)), "a", "b")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"conf_level": 95}, "above 0.5 and below 1"),
        ({"margin": -0.1}, "positive difference"),
        ({"margin": "big"}, "two percentage points"),
        ({"margin": 2}, "no difference lies outside such a margin"),
        ({"margin": "150pp"}, "no difference lies outside such a margin"),
        ({"method": "magic"}, "choose one of auto"),
        ({"by": "nonsense"}, "no column 'nonsense'"),
        ({"cluster": "nonsense"}, "no column 'nonsense'"),
        ({"contrast": "nonsense"}, "no column 'nonsense'"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], words: str) -> None:
    data = data_of(rows_of("a", [1.0] * 5), rows_of("b", [0.0] * 5))
    with pytest.raises(InputError, match=words):
        compare(data, "a", "b", **options)  # type: ignore[arg-type]


def test_scores_outside_the_metric_are_refused() -> None:
    data = data_of(rows_of("a", [55.0] * 5), rows_of("b", [60.0] * 5), kind="bounded", low=0, high=1)
    with pytest.raises(InputError, match="is the file in percent"):
        compare(data, "a", "b")


def test_the_same_scores_twice_are_called_agreement() -> None:
    data = data_of(rows_of("a", [1.0, 0.0] * 20), rows_of("b", [1.0, 0.0] * 20))
    result = compare(data, "a", "b")
    assert result.verdict == "inconclusive"
    assert result.p_value == 1
    assert result.conf_low is not None
    assert result.conf_low < 0 < (result.conf_high or 0)


def test_constant_continuous_differences_give_no_zero_width_interval() -> None:
    data = data_of(
        rows_of("a", [float(i) for i in range(20)]), rows_of("b", [i + 2.5 for i in range(20)]), kind="continuous"
    )
    result = compare(data, "a", "b")
    assert result.estimate == 2.5
    assert (result.conf_low, result.conf_high, result.p_value) == (None, None, None)
    assert result.verdict == "invalid"
    assert "all 20 items differ by the same amount" in result.verdict_reason


def test_json_is_safe_and_complete(tenacious: EvalData) -> None:
    result = compare(tenacious, "baseline", "trained", by="dimension", margin=0.05)
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert values["verdict"] == result.verdict
    assert len(values["groups"]) == 7
    assert values["groups"][0]["level"] == "conflicting_signals"


def test_the_row_that_answers_has_the_scores_and_the_verdict(tenacious: EvalData) -> None:
    """A spreadsheet needs no second file to say who was ahead and whether that is shown."""
    found = compare(tenacious, "baseline", "trained")
    (row,) = found.to_frame().filter(pl.col("verdict").is_not_null()).to_dicts()
    assert (row["role"], row["verdict"]) == ("headline", found.verdict)
    assert row["candidate"] - row["baseline"] == pytest.approx(row["estimate"])


def test_tidy_rows_speak_the_glossary(tenacious: EvalData) -> None:
    frame = compare(tenacious, "baseline", "trained", by="dimension").to_frame()
    wanted = {
        "estimate",
        "std_error",
        "conf_low",
        "conf_high",
        "conf_level",
        "df",
        "p_value",
        "p_adjusted",
        "term",
        "method",
    }
    assert wanted <= set(frame.columns)
    assert frame["term"].to_list()[0] == "difference"
    assert frame.filter(pl.col("term").str.starts_with("dimension=")).height == 7


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script>|x"
    data = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of(name, [1.0, 1.0] * 10))
    shown = compare(data, "a", name).to_html()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_a_run_note_reaches_the_reader() -> None:
    data = data_of(rows_of("a", [1.0] * 9), rows_of("b", [0.0] * 9), note="simulated: invented rates")
    assert "simulated: invented rates" in told(compare(data, "a", "b"))
    assert (
        compare(data, "a", "b").document().banners == ()
    )  # a note is what a file says; a column says that it is simulated


def test_pandas_frames_arrive_as_well() -> None:
    from evalstats.loaders.frames import from_frame

    frame = pd.DataFrame(
        {"q": list(range(10)) * 2, "m": ["a"] * 10 + ["b"] * 10, "ok": [True, False] * 5 + [True] * 10}
    )
    result = compare(from_frame(frame, item="q", score="ok", model="m"), "a", "b")
    assert result.estimate == pytest.approx(0.5)


def test_a_direction_that_missing_scores_could_undo_is_not_claimed() -> None:
    items = [f"q{i:03d}" for i in range(60)]
    base = [float(i >= 10) for i in range(60)]
    data = data_of(rows_of("a", base, items=items), rows_of("b", [1.0] * 40 + [None] * 20, items=items, status="error"))
    result = compare(data, "a", "b")
    assert (result.verdict, result.missing.withheld) == ("inconclusive", "better")
    assert (
        "33% of the scores of b are harness errors and dropped, and with every missing score at the lowest value"
        in result.verdict_reason
    )
    assert compare(data, "a", "b", missing="ignorable").verdict == "better"


def test_missing_against_the_candidate_means_so_where_lower_is_better() -> None:
    data = data_of(
        rows_of("a", [0.2, 0.4] * 10), rows_of("b", [0.2, 0.4] * 8 + [None] * 4), kind="bounded", low=0, high=1,
        higher_is_better=False,
    )  # fmt: skip
    rows = {row.note: row.estimate for row in compare(data, "a", "b").missing.rows}
    # Lower is better: against the candidate is a missing score of 1 for it.
    assert rows["missing scores against the candidate"] == pytest.approx((4 - 1.2) / 20)


def test_many_items_asked_with_different_prompts_cannot_be_compared() -> None:
    same, other = [f"h{i}" for i in range(20)], [f"h{i}" if i < 15 else "new" for i in range(20)]
    data = data_of(
        rows_of("a", [1.0, 0.0] * 10, factors={"prompt_hash": same}),
        rows_of("b", [1.0, 1.0] * 10, factors={"prompt_hash": other}),
    )
    refused = compare(data, "a", "b")
    assert refused.verdict == "invalid"
    assert 'accept = ["prompt"] in evalstats.toml' in refused.verdict_reason
    assert "accept=['prompt']" in refused.document().cautions[0].line
    assert (refused.estimate, refused.conf_low, refused.p_value, refused.rows) == (0.5, None, None, ())
    accepted = compare(data, "a", "b", accept=["prompt"])
    assert accepted.verdict == "better"
    assert any(each.setting == "prompt" and each.severity == "note" for each in accepted.run_differences)


def test_two_judges_of_one_answer_are_not_two_answers() -> None:
    def judged(model: str, first: list[float], second: list[float]) -> list[dict[str, object]]:
        parts = [rows_of(model, first), rows_of(model, second)]
        for judge, part in zip(("j1", "j2"), parts, strict=True):
            for row in part:
                row["judge"] = judge
        return [*parts[0], *parts[1]]

    data = data_of(judged("a", [0.0, 1.0] * 10, [0.0, 0.0] * 10), judged("b", [1.0] * 20, [0.0, 1.0] * 10))
    result = compare(data, "a", "b")
    assert result.n_items == 20
    assert result.n_trials == 40
    assert result.estimate == pytest.approx(0.75 - 0.25)
    assert any("2 judges are averaged" in note for note in told(result))


def test_weights_that_are_not_used_are_named() -> None:
    weighted = rows_of("a", [1.0, 0.0] * 10)
    for i, row in enumerate(weighted):
        row["weight"] = 1.0 + i % 2
    data = data_of(weighted, rows_of("b", [1.0] * 20))
    for result in (compare(data, "a", "b"), leaderboard(data), score(data, "a")):
        (note,) = [note for note in result.notes if "weights, which are not used" in note.text]
        assert note.caution


def test_an_average_of_k_trials_is_taken_for_k_trials() -> None:
    averaged = [rows_of(m, s) for m, s in (("a", [0.25, 0.5] * 10), ("b", [0.75, 1.0] * 10))]
    for part in averaged:
        for row in part:
            row.update(trial=None, n_trials=4)
    result = compare(data_of(*averaged), "a", "b")
    assert result.n_trials == 160
    assert "at least 4 trials" in result.method_reason


def test_percentage_points_mean_points_of_a_percentage() -> None:
    rng = np.random.default_rng(1)
    percent = [rows_of(m, (100 * rng.random(40)).round(1).tolist()) for m in "ab"]
    data = data_of(*percent, kind="bounded", low=0, high=100)
    unit = data.metrics.with_columns(unit=pl.lit("percent"))
    scores = EvalData(outcomes=data.outcomes, runs=data.runs, metrics=unit)
    result = compare(scores, "a", "b", margin="20pp")
    assert result.margin == 20
    assert result.unit == "pp"
    assert compare(scores, "a", "b", margin=20).margin == 20
    rubric = data_of(*[rows_of(m, [1.0, 5.0] * 10) for m in "ab"], kind="bounded", low=1, high=5)
    with pytest.raises(InputError, match="is not a share"):
        compare(rubric, "a", "b", margin="2pp")


def test_a_result_has_a_short_name(tenacious: EvalData) -> None:
    result = compare(tenacious, "baseline", "trained")
    assert repr(result) == (
        "<Comparison: trained against baseline on Tenacious-Bench: inconclusive (better on these 43 items, open on other "
        "dimensions), +48.84 pp [−5.56, 100.00]>"
    )


def test_warnings_about_either_sides_own_score_are_passed_on(tenacious: EvalData) -> None:
    result = compare(tenacious, "baseline", "trained", cluster="dimension")
    assert any(text.startswith("In the score of baseline: ") and "3 of 7 clusters" in text for text in told(result))


def test_published_numbers_and_votes_are_told_from_item_scores(tenacious: EvalData) -> None:
    from evalstats.schema.tables import frame_from_rows

    published = frame_from_rows([{"model": "gpt", "benchmark": "b", "metric": "m", "estimate": 0.5}], "aggregates")
    with pytest.raises(CannotAnswerError, match="'gpt' has published numbers only"):
        compare(EvalData(outcomes=tenacious.outcomes, aggregates=published), "baseline", "gpt")
    with pytest.raises(CannotAnswerError, match="1 published numbers"):
        compare(EvalData(aggregates=published), "a", "b")
    votes = frame_from_rows(
        [{"run": "r", "battle": "1", "model_a": "x", "model_b": "y", "outcome": "a", "status": "scored"}], "comparisons"
    )
    with pytest.raises(CannotAnswerError, match="1 votes between models; rate them with `evalstats arena`"):
        compare(EvalData(comparisons=votes), "x", "y")


def test_missing_scores_that_would_reverse_the_answer_forbid_it() -> None:
    items = [f"q{i:03d}" for i in range(400)]
    first = [1.0] * 35 + [0.0] * 65 + [1.0] * 300
    second: list[float | None] = [1.0] * 35 + [1.0] * 30 + [0.0] * 35 + [None] * 300
    result = compare(
        data_of(rows_of("a", first, items=items), rows_of("b", second, items=items, status="error")), "a", "b"
    )
    assert result.verdict == "inconclusive"
    assert "75% of the scores of b are harness errors and dropped" in result.verdict_reason


def test_identical_systems_on_clusters_are_told_apart_by_nothing() -> None:
    levels = {"passage": [f"p{i // 4}" for i in range(40)]}
    data = data_of(*[rows_of(m, [1.0, 0.0] * 20, factors=levels) for m in "ab"])
    result = compare(data, "a", "b", cluster="passage")
    assert result.verdict == "inconclusive"
    assert result.conf_low is not None
    assert result.conf_low < 0 < (result.conf_high or 0)
    assert compare(data, "a", "b", cluster="passage", margin=0.5).verdict == "inconclusive"  # no cluster differs


def test_a_method_asked_for_says_so_and_what_it_ignores() -> None:
    levels = {"passage": [f"p{i // 4}" for i in range(40)]}
    data = data_of(rows_of("a", [0.0, 1.0] * 20, factors=levels), rows_of("b", [1.0] * 40, factors=levels))
    result = compare(data, "a", "b", cluster="passage", method="tango")
    assert result.method_reason == "it was asked for"
    assert any("treats them as independent" in text for text in told(result))
    with pytest.raises(InputError, match="no cluster column is set"):
        compare(data, "a", "b", method="cr2")
    graded = data_of(rows_of("a", [0.5, 0.1] * 9), rows_of("b", [0.2, 0.7] * 9), kind="bounded", low=0, high=1)
    with pytest.raises(InputError, match="right-or-wrong"):
        compare(graded, "a", "b", method="tango")


def with_runs(data: EvalData, **columns: list[object]) -> EvalData:
    runs = data.runs.with_columns(pl.Series(name, values) for name, values in columns.items())
    return EvalData(outcomes=data.outcomes, runs=runs, metrics=data.metrics)


def test_another_judge_is_another_score() -> None:
    data = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [1.0] * 20))
    judged = with_runs(data, judge=["j1", "j2"], n_shots=[5, 5])
    result = compare(judged, "a", "b", by=None, margin="5pp")
    assert result.verdict == "invalid"
    assert "judge" in result.verdict_reason
    assert result.at_margin is None
    assert result.conf_low is None
    assert "[" not in result.summary().replace('["judge"]', "").replace("['judge']", "")
    assert compare(judged, "a", "b", accept=["judge"]).verdict == "better"


def test_what_only_weakens_is_a_warning() -> None:
    data = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [1.0] * 20))
    result = compare(with_runs(data, temperature=[0.0, 1.0]), "a", "b")
    assert result.verdict == "better"
    assert any("temperature" in text for text in told(result))


def test_one_run_twice_is_no_evidence_of_equivalence() -> None:
    scores = np.random.default_rng(4).uniform(size=60).tolist()
    twice = data_of(rows_of("a", scores), rows_of("b", scores), kind="bounded", low=0, high=1)
    result = compare(twice, "a", "b", margin=0.2)
    assert result.verdict not in ("equivalent", "better", "worse")
    assert not result.at_margin.noninferior
    assert any("one run" in text for text in told(result))
    moved = data_of(rows_of("a", scores), rows_of("b", [*scores[:-1], 0.5]), kind="bounded", low=0, high=1)
    assert compare(moved, "a", "b", margin=0.2).verdict == "equivalent"


def test_runs_that_differ_as_a_whole_take_a_direction_back() -> None:
    """Every run of a side moves all items alike: the difference is one of 3 against 3 numbers. Repetitions get a caution."""
    rng = np.random.default_rng(0)
    shifts = {"a": (-0.05, 0.0, 0.05), "b": (-0.02, 0.03, 0.08)}
    base = rng.uniform(0.3, 0.7, 400)
    sides = [
        rows_of(
            name,
            np.clip(base[:, None] + np.array(moves) + rng.normal(0, 0.05, (400, 3)), 0, 1).ravel().tolist(),
            trials=3,
        )
        for name, moves in shifts.items()
    ]
    data = data_of(*sides, kind="bounded", low=0, high=1)
    result = compare(data, "a", "b", runs="sample")
    assert result.conf_low < 0
    assert result.verdict == "inconclusive"
    (note,) = [note for note in result.notes if note.text.startswith("Run to run: about 5.0 pp (3 runs of each)")]
    assert note.caution
    (note,) = [note for note in compare(data, "a", "b").notes if "differ by more than chance explains" in note.text]
    assert note.text.startswith("Means of the trials differ by more than chance explains (p < 0.001)")
    assert note.line.endswith("If each trial is a run of its own, add runs='sample'.")
    rows = {row.method: row for row in result.rows}
    assert rows["augmented t"].conf_low > 0


def test_a_plan_settles_what_is_left_open_and_departures_are_told() -> None:
    data = data_of(
        rows_of("new-0301", [1.0, 1.0] * 20, factors={"passage": [f"p{i // 4}" for i in range(40)]}),
        rows_of("old", [1.0, 0.0] * 20, factors={"passage": [f"p{i // 4}" for i in range(40)]}),
    )
    plan = Plan(
        source="evalstats.toml",
        conf_level=0.9,
        clusters=("passage",),
        margins=(Margin(value="5pp", reason="nobody notices less"),),
        aliases={"new-0301": "new"},
    )
    planned = compare(data, "old", "new", plan=plan)
    assert (planned.conf_level, planned.margin, planned.clusters) == (0.9, 0.05, ("passage",))
    assert planned.plan.digest == plan.digest
    assert planned.plan.departures == ()
    departed = compare(data, "old", "new", plan=plan, margin="20pp", conf_level=0.95)
    assert departed.margin == 0.2
    assert departed.notes[0].text == "Departs from the plan: margin 20pp given, 5pp declared"
    assert departed.plan.digest[:12] in " ".join(str(block) for block in departed.document().method)


def test_small_units_are_not_written_as_nothing() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(0.002, 0.0002, 30)
    data = data_of(
        rows_of("a", base.tolist()), rows_of("b", (base - 0.0008 + rng.normal(0, 1e-4, 30)).tolist()), kind="continuous"
    )
    assert "\u22120.0008" in compare(data, "a", "b").summary()


def test_items_with_another_level_on_each_side_are_not_called_items_without_one() -> None:
    one: list[object] = [f"s{i % 2}" if i < 30 else None for i in range(36)]
    other: list[object] = [level if i > 2 else f"s{(i + 1) % 2}" for i, level in enumerate(one)]
    scores = [1.0, 0.0] * 18
    data = data_of(*[rows_of(m, scores, factors={"scenario": levels}) for m, levels in (("a", one), ("b", other))])
    said = " ".join(told(compare(data, "a", "b", by="scenario")))
    first = data.outcomes["item"][0]
    assert f"3 of 36 items have more than one level of scenario (item {first} has 's0' for a and 's1' for b)" in said
    assert "6 of 36 items have no level of scenario" in said
    turned: list[object] = [f"s{(i + 1) % 2}" for i in range(36)]
    plain: list[object] = [f"s{i % 2}" for i in range(36)]
    data = data_of(*[rows_of(m, scores, factors={"scenario": levels}) for m, levels in (("a", plain), ("b", turned))])
    with pytest.raises(CannotAnswerError, match=r"36 of 36 items have more than one level of .*; give each item one"):
        compare(data, "a", "b", by="scenario")


def test_items_without_a_level_are_counted() -> None:
    levels: list[object] = [f"s{i % 3}" if i < 30 else None for i in range(36)]
    data = data_of(*[rows_of(m, [1.0, 0.0] * 18, factors={"scenario": levels}) for m in "ab"])
    assert any("6 of 36 items have no level" in text for text in told(compare(data, "a", "b", by="scenario")))


def test_flips_are_gains_in_the_direction_that_is_better() -> None:
    data = data_of(rows_of("a", [1.0] * 20), rows_of("b", [0.0] * 20), kind="binary", higher_is_better=False)
    section = compare(data, "a", "b").document().section("flips")
    assert section is not None
    assert section.heading == "b gained 20 items and lost none"


def test_a_factor_that_crosses_the_clusters_is_named_as_untested() -> None:
    factors = {"user": [f"u{i // 8}" for i in range(64)], "template": [f"t{i % 8}" for i in range(64)]}
    data = data_of(*[rows_of(m, [1.0, 0.0] * 32, factors=factors) for m in "ab"])
    assert any(text.endswith("clusters: template") for text in told(compare(data, "a", "b", cluster="user")))


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "duckdb"])
def test_a_table_of_outcomes_is_accepted_as_it_is(kind: str) -> None:
    table = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [1.0] * 20)).outcomes.drop("tags")
    frames = {
        "polars": table.lazy,
        "pandas": table.to_pandas,
        "arrow": table.to_arrow,
        "duckdb": lambda: duckdb.from_arrow(table.to_arrow()),
    }
    assert compare(frames[kind](), "a", "b").estimate == pytest.approx(0.5)


def test_two_numbers_decide_nothing_however_far_apart() -> None:
    data = data_of(rows_of("a", [1.0, 2.0]), rows_of("b", [11.0, 12.01]), kind="continuous")
    result = compare(data, "a", "b")
    assert result.verdict == "powerless"
    near = data_of(rows_of("a", [1.0, 2.0]), rows_of("b", [1.001, 2.0011]), kind="continuous")
    assert compare(near, "a", "b", margin=1).verdict == "powerless"


def test_a_name_that_is_a_run_of_one_model_and_another_model_is_ambiguous() -> None:
    first = rows_of("gpt", [1.0] * 9)
    for row in first:
        row["run"] = "claude~0a1b2c3d"
    data = data_of(first, rows_of("claude", [0.0] * 9))
    with pytest.raises(InputError, match="'claude' is ambiguous: it is a run and also a system"):
        compare(data, "claude", "gpt")


def test_two_sides_never_share_rows() -> None:
    parts = [rows_of("m", [float(trial)] * 20) for trial in (0, 1)]
    for trial, part in enumerate(parts):
        for row in part:
            row.update(run=f"r{trial}", trial=trial)
    with pytest.raises(InputError, match="share 20 rows, of the runs 'r1'"):
        compare(data_of(*parts), "m", "r1")


def test_declared_dependence_that_differs_between_the_sides_is_refused() -> None:
    users = [[f"u{i // 4}" for i in range(40)], [f"v{i // 4}" for i in range(40)]]
    parts = [rows_of(m, [1.0, 0.0] * 20, factors={"user": u}) for m, u in zip("ab", users, strict=True)]
    with pytest.raises(InputError, match="'user' has no single level"):
        compare(data_of(*parts, dependence=["user"]), "a", "b")


def test_rounding_is_no_evidence() -> None:
    base = 1e6 * np.random.default_rng(0).random(20)
    data = data_of(rows_of("a", base.tolist()), rows_of("b", (base + 0.3).tolist()), kind="continuous")
    result = compare(data, "a", "b")
    assert result.conf_low is None
    assert result.verdict == "invalid"


def test_looks_while_the_run_goes_on_have_their_own_headline() -> None:
    rng = np.random.default_rng(1)
    old, new = (rng.random((2, 600)) < np.array([[0.5], [0.8]])).astype(float)
    data = data_of(rows_of("old", old.tolist()), rows_of("new", new.tolist()))
    once, looks = compare(data, "old", "new"), compare(data, "old", "new", sequential=True, margin="5pp")
    assert looks.verdict == "better"
    assert looks.conf_low < once.conf_low < once.conf_high < looks.conf_high
    assert looks.p_value == looks.sequential.p_anytime > once.p_value
    assert looks.rows[0].role == "headline"
    assert [row.role for row in looks.rows].count("headline") == 1
    assert looks.at_margin.noninferior
    with pytest.raises(InputError, match="leave out the split"):
        compare(data, "old", "new", sequential=True, by="task")
    with pytest.raises(InputError, match="planned_n"):
        compare(data, "old", "new", planned_n=100)


def test_items_that_are_not_finished_yet_shake_no_look() -> None:
    data = data_of(rows_of("old", [1.0, 0.0] * 100), rows_of("new", [1.0, 1.0] * 60))
    looks = compare(data, "old", "new", sequential=True)
    assert looks.missing.rows == ()
    assert looks.n_items == 120
    assert not any("rests on scores that are missing" in text for text in told(looks))


def test_a_refused_comparison_explains_why_and_no_method() -> None:
    data = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [1.0] * 20))
    text = compare(with_runs(data, judge=["j1", "j2"]), "a", "b").explain()
    assert "Why nothing was tested" in text
    assert "they differ in judge" in text
    assert "Tango" not in text


def test_a_plans_split_gives_way_to_looks_on_the_way() -> None:
    factors = {"scenario": ["x", "y"] * 60}
    data = data_of(rows_of("a", [1.0, 0.0] * 60, factors=factors), rows_of("b", [1.0] * 120, factors=factors))
    plan = Plan(families=("scenario",))
    assert len(compare(data, "a", "b", plan=plan).groups) == 2
    assert compare(data, "a", "b", plan=plan, sequential=True).groups == ()


def test_of_two_systems_the_first_is_the_baseline_and_of_three_some_must_be_named() -> None:
    rows = {"item": ["q", "r"] * 30, "score": [1, 0] * 30}
    items = [f"{item}{k // 4}" for k, item in enumerate(rows["item"])]
    frame = pl.DataFrame({**rows, "item": items, "model": ["old", "old", "new", "new"] * 15})
    alone, named = compare(frame), compare(frame, "old", "new")
    assert (alone.baseline.name, alone.candidate.name) == ("old", "new")
    assert alone.estimate == named.estimate
    assert compare(frame, "new").candidate.name == "old"
    with pytest.raises(InputError, match=r"holds 3 systems .*; name two of them: baseline=NAME, candidate=NAME"):
        compare(frame.with_columns(model=pl.Series(["a", "a", "b", "c"] * 15)))
