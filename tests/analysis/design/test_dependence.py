"""What a factor of the items is, and what follows where nobody declared it: for verdicts, gates, levels and boards."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.analysis.compare.gate import gate
from evalstats.analysis.compare.result import Comparison
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.testing import assert_not_worse
from tests.analysis.builders import told

GROUPS, EACH = 12, 8
Codes = np.ndarray


def table(scores: np.ndarray, **columns: Codes) -> EvalData:
    """Systems m0, m1, ... on the same items; scores of shape (systems, items), columns of shape (items,)."""
    n = scores.shape[1]
    parts = [
        pl.DataFrame(
            {
                "item": [f"q{i}" for i in range(n)],
                "model": [f"m{place}"] * n,
                "score": own.tolist(),
                **{name: levels.tolist() for name, levels in columns.items()},
            }
        )
        for place, own in enumerate(scores)
    ]
    return es.from_frame(pl.concat(parts), item="item", model="model", score="score", higher_is_better=True)


def named(prefix: str, codes: Codes) -> Codes:
    return np.array([f"{prefix}{code}" for code in codes])


def grouped(
    gains: list[float], *, each: int = EACH, seed: int = 1, name: str = "chapter", **columns: Codes
) -> EvalData:
    """Two systems on groups of items; the second gains a share of each group's items."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(gains)), each)
    draws = rng.random(len(codes))
    scores = np.stack([draws < 0.5, draws < np.clip(0.5 + np.repeat(gains, each), 0, 1)]).astype(int)
    return table(scores, **{name: named("c", codes)}, **columns)


GAINS = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 0.0, 0.0, 0.0, 0.0, -0.5]
UNEVEN, EVEN = grouped(GAINS), grouped([0.3] * 12)
THREE = grouped([0.5, 0.5, -0.3], each=32)
CATEGORIES = grouped([0.5, 0.5, 0.5, 0.5, 0.5, -0.2, -0.1, 0.0], each=12, name="category")


def numbers(result: Comparison) -> tuple[object, ...]:
    return result.verdict, result.method, result.conf_low, result.conf_high, result.p_value


# --- a sample: the wider interval decides ------------------------------------------------------------------------------


def test_what_clearly_goes_by_chapters_is_answered_as_if_they_were_declared() -> None:
    found, declared = es.compare(UNEVEN, "m0", "m1"), es.compare(UNEVEN, "m0", "m1", cluster="chapter")
    independent = es.compare(UNEVEN, "m0", "m1", cluster="none")
    assert numbers(found) == numbers(declared)
    assert (independent.verdict, found.verdict, found.clusters) == ("better", "inconclusive", ("chapter",))
    these = found.these_items
    assert these is not None
    assert (these.factor, these.n_levels, these.clear, these.turned, these.too_few) == (
        "chapter",
        12,
        True,
        True,
        False,
    )
    assert (these.verdict, these.conf_low, these.conf_high) == ("better", independent.conf_low, independent.conf_high)
    beside = next(row for row in found.rows if row.note == "if items of one chapter were independent")
    assert (beside.conf_low, beside.conf_high) == (independent.conf_low, independent.conf_high)
    assert found.document().headline == "m1 scores higher on these 96 items; whether it does on other chapters is open"
    assert "clustered by chapter (12)" in found.document().scope
    assert declared.these_items is None


def test_the_swapped_sides_are_answered_alike() -> None:
    for data in (UNEVEN, THREE, CATEGORIES, datasets.tenacious_held_out()):
        names = sorted(data.outcomes["system"].unique().to_list())
        there, back = es.compare(data, *names), es.compare(data, *reversed(names))
        turn = {"better": "worse", "worse": "better"}
        assert back.verdict == turn.get(there.verdict, there.verdict)
        assert [row.p_adjusted for row in back.dependence] == [row.p_adjusted for row in there.dependence]
        if there.conf_low is not None and back.conf_high is not None:
            assert there.conf_low == pytest.approx(-back.conf_high)


def test_the_wider_decides_where_it_is_suspected_and_not_clear() -> None:
    """Of many tables without a true difference, some have p between .05 and .2: they are clustered if that is wider."""
    seen = 0
    for seed in (*range(5), *range(26, 32)):
        codes = np.repeat(np.arange(GROUPS), EACH)
        data = table(np.random.default_rng(seed).integers(0, 2, (2, 96)), chapter=named("c", codes))
        found, alone = es.compare(data, "m0", "m1"), es.compare(data, "m0", "m1", cluster="none")
        (row,) = found.dependence
        assert row.widens == (row.p_adjusted <= 0.2 and row.design_effect >= 1.2)
        width = lambda result: result.conf_high - result.conf_low  # noqa: E731
        if not row.widens:
            assert numbers(found) == numbers(alone)
            continue
        seen += row.flag != "warn"
        assert width(found) >= width(alone)
        assert found.clusters == (("chapter",) if width(found) > width(alone) else ())
    assert seen


def test_too_few_levels_leave_a_verdict_open_only_where_items_clearly_go_by_them() -> None:
    found = es.compare(THREE, "m0", "m1")
    assert (found.verdict, found.conf_low, found.p_value) == ("inconclusive", None, None)
    assert found.reason == "3 chapters are too few for an interval"
    assert "3 are too few to say how other chapters differ" in found.verdict_reason
    assert found.document().headline == "m1 scores higher on these 96 items; whether it does on other chapters is open"
    assert gate(found, "inconclusive").passed is False
    even = grouped([0.3] * 3, each=32)
    assert numbers(es.compare(even, "m0", "m1")) == numbers(es.compare(even, "m0", "m1", cluster="none"))
    assert es.compare(THREE, "m0", "m1", cluster="none").verdict == "better"


def test_one_large_chapter_among_small_ones_is_worth_few() -> None:
    codes = np.concatenate([np.zeros(60, int), np.repeat(np.arange(1, 7), 6)])
    scores = np.stack([np.zeros(96), codes == 0]).astype(int)
    found = es.compare(table(scores, chapter=named("c", codes)), "m0", "m1")
    (row,) = found.dependence
    assert row.effective < 5 <= row.n_levels
    assert (found.verdict, found.conf_low) == ("inconclusive", None)


def test_a_method_asked_for_does_not_rule_the_chapters_out() -> None:
    found = es.compare(UNEVEN, "m0", "m1", method="tango")
    assert numbers(found) == numbers(es.compare(UNEVEN, "m0", "m1"))


def test_equivalence_is_left_open_too() -> None:
    """Chapters that go either way by much: no difference on these items, and nothing said of others."""
    data = grouped([0.5, -0.5] * 10, each=20)
    found, alone = (es.compare(data, "m0", "m1", cluster=cluster, margin="9pp") for cluster in (None, "none"))
    assert alone.verdict == "equivalent"
    assert found.verdict != "equivalent"
    assert found.document().headline == (
        "m1 and m0 differ by less than 9 pp on these 400 items; whether they do on other chapters is open"
    )
    assert found.at_margin is not None
    assert not found.at_margin.noninferior


def test_what_one_factor_explains_is_not_counted_again() -> None:
    """Chapters lie within parts: with the chapters as clusters, three parts forbid nothing."""
    codes = np.repeat(np.arange(GROUPS), EACH)
    found = es.compare(grouped(GAINS, part=named("p", codes % 3)), "m0", "m1")
    assert found.clusters == ("chapter",)
    assert found.conf_low is not None


# --- a partition: fixed, and a finding ---------------------------------------------------------------------------------


def test_categories_are_fixed_and_a_difference_that_varies_is_a_finding() -> None:
    found, independent = es.compare(CATEGORIES, "m0", "m1"), es.compare(CATEGORIES, "m0", "m1", cluster="none")
    assert (found.verdict, found.clusters, found.these_items) == ("better", (), None)
    assert found.conf_high - found.conf_low >= independent.conf_high - independent.conf_low
    assert "for these 8 categories" in found.document().scope
    (finding,) = found.findings
    assert (finding.factor, finding.copies, len(finding.levels)) == ("category", False, 8)
    assert finding.p_value < 0.05
    assert [value for _, _, value in finding.levels] == sorted((v for _, _, v in finding.levels), reverse=True)
    high, low = finding.levels[0], finding.levels[-1]
    assert f"+{100 * high[2]:.1f} pp in {high[0]}, −{-100 * low[2]:.1f} pp in {low[0]}." in found.summary()
    assert "The difference varies by category (p" in found.summary()
    assert not [note for note in found.notes if note.kind == "dependence"]
    assert gate(found, "worse", "inconclusive").passed
    assert es.compare(CATEGORIES, "m0", "m1", cluster="category").verdict == "inconclusive"
    assert es.compare(CATEGORIES, "m0", "m1", by="category").findings == ()


def test_levels_that_are_asked_about_by_name_are_no_sample() -> None:
    """Whoever asks by `bin` asks about these bins, as by a column that is called category; unasked, bins are a sample."""
    bins = grouped([0.5, 0.5, 0.5, 0.5, 0.5, -0.2, -0.1, 0.0], each=12, name="bin")
    found, unasked = es.compare(bins, "m0", "m1", by="bin"), es.compare(bins, "m0", "m1")
    assert (found.clusters, found.ends) == ((), es.compare(CATEGORIES, "m0", "m1", by="category").ends)
    assert (unasked.clusters, unasked.verdict) == (("bin",), "inconclusive")


def test_categories_that_are_alike_are_no_finding() -> None:
    assert es.compare(grouped([0.3] * 8, each=12, name="category"), "m0", "m1").findings == ()


def test_the_stratified_interval_decides_where_it_is_the_wider() -> None:
    """Categories that go the same way by more than chance would have them: within them more varies than over all."""
    first = np.tile([1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], 8)
    scores = np.stack([first, 1 - first])
    found = es.compare(table(scores, category=named("c", np.repeat(np.arange(8), 12))), "m0", "m1")
    independent = es.compare(table(scores), "m0", "m1")
    d = scores[1] - scores[0]
    variance = sum((12 / 96) ** 2 * np.var(d[12 * s : 12 * s + 12], ddof=1) / 12 for s in range(8))
    assert found.method == "stratified mean, Satterthwaite t"
    assert found.std_error == pytest.approx(np.sqrt(variance))
    assert found.conf_high - found.conf_low > independent.conf_high - independent.conf_low
    assert [row.method for row in found.rows[:2]] == ["stratified mean, Satterthwaite t", "Tango score"]


@pytest.mark.parametrize("sign", [1, -1])
def test_levels_that_are_all_or_nothing_are_the_units(sign: int) -> None:
    scores = np.stack([np.zeros(96), np.repeat([1, 1, 1, 1, 0, 0, 0, 0], 12)])[::sign].astype(int)
    found = es.compare(table(scores, category=named("c", np.repeat(np.arange(8), 12))), "m0", "m1")
    (row,) = found.dependence
    assert (row.kind, row.copies, found.clusters, found.verdict) == ("partition", True, ("category",), "inconclusive")
    verb = "gains" if sign > 0 else "loses"
    assert f"m1 {verb} all 48 items of 4 categories and changes nothing in the other 4." in found.summary()


def test_one_item_that_goes_its_own_way_makes_no_new_test_of_its_level() -> None:
    scores = np.stack([np.zeros(96), np.repeat([1, 1, 1, 1, 0, 0, 0, 0], 12)]).astype(int)
    scores[1, 5] = 0
    found = es.compare(table(scores, category=named("c", np.repeat(np.arange(8), 12))), "m0", "m1")
    assert (found.clusters, found.verdict) == (("category",), "inconclusive")


CODES = np.repeat(np.arange(8), 12)


@pytest.mark.parametrize(
    ("name", "codes", "kind"),
    [
        ("category", CODES, "partition"),
        ("Topic", CODES, "partition"),
        ("task_type", CODES, "partition"),
        ("userBehaviours", CODES, "partition"),
        ("language", CODES, "partition"),
        ("category_id", CODES, "sample"),
        ("category", np.arange(96) // 2, "sample"),  # two items in each: ids, whatever the name
        ("topic", np.arange(96) // 4, "sample"),
        ("chapter", CODES, "sample"),
        ("document", CODES, "sample"),
        ("source", CODES, "sample"),
        ("zone", CODES, "sample"),
    ],
)
def test_name_and_shape_tell_a_partition_from_a_sample(name: str, codes: Codes, kind: str) -> None:
    rng = np.random.default_rng(2)
    data = table(rng.integers(0, 2, (2, 96)), **{name: named("x", codes)})
    (row,) = es.compare(data, "m0", "m1").dependence
    assert row.kind == kind


@pytest.mark.parametrize("levels", [np.array([True, False]), np.array(["no", "Yes"]), np.array([0, 1])])
def test_yes_and_no_are_all_there_are(levels: np.ndarray) -> None:
    half = np.arange(96) % 2
    rng = np.random.default_rng(3)
    scores = np.stack([rng.random(96) < 0.4, rng.random(96) < 0.4 + 0.55 * half]).astype(int)
    found = es.compare(table(scores, multi_hop=levels[half]), "m0", "m1")
    (row,) = found.dependence
    assert (row.kind, row.varies, found.verdict) == ("partition", True, "better")


def test_a_topic_of_one_item_is_no_partition() -> None:
    rng = np.random.default_rng(2)
    codes = np.concatenate([np.arange(90), np.arange(6)])
    assert es.compare(table(rng.integers(0, 2, (2, 96)), topic=named("x", codes)), "m0", "m1").dependence == ()


# --- declared: that holds ----------------------------------------------------------------------------------------------


def test_groups_that_are_ruled_out_decide_nothing() -> None:
    ruled_out = es.compare(UNEVEN, "m0", "m1", cluster="none")
    planned = es.compare(UNEVEN, "m0", "m1", plan=Plan(clusters=("none",)))
    for result in (ruled_out, planned):
        assert (result.verdict, result.clusters, result.these_items) == ("better", (), None)
        assert not any("behave alike" in text for text in told(result))
        assert result.dependence == es.compare(UNEVEN, "m0", "m1").dependence
    assert planned.plan is not None
    assert planned.plan.departures == ()


def test_a_plan_that_names_a_cluster_holds() -> None:
    data = grouped(GAINS, category=named("k", np.arange(96) % 4))
    found = es.compare(data, "m0", "m1", plan=Plan(clusters=("category",)))
    assert (found.clusters, found.these_items) == (("category",), None)


def test_a_plan_that_names_a_cluster_is_departed_from_by_none() -> None:
    result = es.compare(UNEVEN, "m0", "m1", cluster="none", plan=Plan(clusters=("chapter",)))
    assert told(result)[0] == "Departs from the plan: cluster none given, chapter declared"


def test_an_average_that_is_declared_holds_and_chapters_decide_within_it() -> None:
    data = grouped([0.5, -0.3] * 8, each=12, category=named("k", np.repeat(np.arange(16), 12) // 4))
    found = es.compare(data, "m0", "m1", average="macro", over="category")
    assert found.clusters == ("chapter",)
    assert "category" not in [row.factor for row in found.dependence]


def test_none_sets_aside_what_the_data_declare() -> None:
    data = grouped([0.3] * 12, name="passage")
    assert es.compare(data, "m0", "m1").clusters == ("passage",)
    result = es.compare(data, "m0", "m1", cluster="none")
    assert result.clusters == ()
    assert any(
        "passage is declared as a source of dependence in the data and set aside" in note for note in told(result)
    )


def test_none_stands_alone() -> None:
    with pytest.raises(InputError, match="name the columns, or 'none' alone"):
        es.compare(UNEVEN, "m0", "m1", cluster=["chapter", "none"])


@pytest.mark.parametrize("answer", [es.score, es.leaderboard, es.frontier])
def test_none_is_taken_wherever_a_cluster_is(answer: Callable[..., object]) -> None:
    outcomes = UNEVEN.outcomes.with_columns(cost_usd=pl.lit(0.1))
    assert answer(es.EvalData(outcomes=outcomes, runs=UNEVEN.runs, metrics=UNEVEN.metrics), cluster="none")


# --- gates, levels, several metrics, boards ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["inconclusive", "not-noninferior"])
def test_no_gate_that_asks_for_proof_passes_on_these_items_alone(rule: str) -> None:
    assert gate(es.compare(UNEVEN, "m0", "m1", margin="5pp"), rule).passed is False
    with pytest.raises(AssertionError):
        assert_not_worse(UNEVEN, "m0", "m1", margin="5pp", fail_on=rule)
    assert assert_not_worse(UNEVEN, "m0", "m1", margin="5pp", fail_on=rule, cluster="none").verdict == "better"
    assert gate(es.compare(EVEN, "m0", "m1", margin="5pp"), rule).passed


def test_the_gate_of_what_is_worse_on_these_items_says_both_facts() -> None:
    found = gate(es.compare(UNEVEN, "m1", "m0"), "worse")
    assert found.passed
    assert found.reason == "it is worse on these 96 items, and not shown to be on other chapters"
    assert not gate(es.compare(UNEVEN, "m1", "m0", cluster="none"), "worse").passed


def test_a_level_is_clustered_by_what_decides_where_it_holds_enough_of_it() -> None:
    """The first part holds eight chapters, the last one three: these are too few, and the items clearly go by chapters."""
    codes = np.repeat(np.arange(GROUPS), EACH)
    data = grouped(GAINS, part=np.where(codes < 8, "first", np.where(codes < 11, "middle", "last")))
    found = es.compare(data, "m0", "m1", by="part")
    rows = {row.level: row for row in found.groups}
    kept = pl.col("part") == "first"
    first = es.EvalData(outcomes=data.outcomes.filter(kept), runs=data.runs, metrics=data.metrics)
    declared = es.compare(first, "m0", "m1", cluster="chapter", conf_level=1 - 0.05 / 3)
    assert (rows["first"].conf_low, rows["first"].conf_high) == (declared.conf_low, declared.conf_high)
    assert (rows["middle"].verdict, rows["middle"].conf_low) == ("inconclusive", None)
    # One chapter alone is asked about itself.
    assert rows["last"].conf_low is not None
    by_chapter = es.compare(data, "m0", "m1", by="chapter")
    assert all(row.conf_low is not None and row.n_clusters is None for row in by_chapter.groups)


def test_the_best_of_a_leaderboard_is_best_on_these_items() -> None:
    board = es.leaderboard(datasets.tenacious_held_out())
    assert set(board.best()) == {"trained", "baseline"}
    assert board.clusters == ("dimension",)
    assert board.document().headline == (
        "trained scores best on these 43 items; whether it does on other dimensions is open"
    )
    assert es.leaderboard(datasets.tenacious_held_out(), cluster="none").best() == ("trained",)


def test_pairs_of_a_leaderboard_are_separated_by_what_decides() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(10), 10)
    lean = np.where(np.arange(10) < 6, 0.95, 0.05)[groups]
    scores = np.stack([rng.random(100) < lean, rng.random(100) < lean, rng.random(100) < 0.3]).astype(int)
    data = table(scores, chapter=named("c", groups))
    board, declared, alone = (es.leaderboard(data, cluster=cluster) for cluster in (None, "chapter", "none"))
    assert [pair.separated for pair in board.pairs] == [pair.separated for pair in declared.pairs]
    these = board.these_items
    assert these is not None
    assert these.n_separated == sum(pair.separated for pair in alone.pairs) > these.n_kept
    assert these.best == alone.best()


def test_a_frontier_is_clustered_by_what_decides() -> None:
    outcomes = UNEVEN.outcomes.with_columns(cost_usd=pl.lit(0.1) + (pl.col("system") == "m1") * 0.1)
    data = es.EvalData(outcomes=outcomes, runs=UNEVEN.runs, metrics=UNEVEN.metrics)
    found = es.frontier(data, n_resamples=200)
    assert found.clusters == ("chapter",)
    assert es.frontier(data, cluster="none", n_resamples=200).clusters == ()
    assert any("Items of one chapter behave alike" in text for text in told(found))


def test_neither_an_answer_nor_its_key_groups_items() -> None:
    """A key by which differences go is a group of items until the answers stand beside it."""
    felt = np.repeat(np.arange(GROUPS), EACH)
    gains = np.repeat([0.6] * 6 + [0.0] * 6, EACH)
    draws = np.random.default_rng(1).random(len(felt))
    right = np.stack([draws < 0.5, draws < np.clip(0.5 + gains, 0, 1)]).astype(int)
    rows = pl.DataFrame(
        {
            "item": [f"q{i}" for i in range(len(felt))] * 2,
            "model": np.repeat(["m0", "m1"], len(felt)),
            "score": right.ravel(),
            "felt": [f"c{code}" for code in felt] * 2,
            "seen": [
                f"C{code if ok else (code + 1) % GROUPS}" for own in right for code, ok in zip(felt, own, strict=True)
            ],
            "begun": [f"c{code % 5}" for code in felt] * 2,  # labels in common are not enough
        }
    )
    tables = (rows.drop("seen"), rows)
    found = [es.compare(es.from_frame(each, item="item", score="score", model="model"), "m0", "m1") for each in tables]
    assert [each.clusters for each in found] == [("felt",), ()]
