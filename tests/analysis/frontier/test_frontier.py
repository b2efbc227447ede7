"""The frontier of score and cost: what counts, what is settled, and how often a claim of dominance is false."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.frontier.frontier import frontier
from evalstats.analysis.frontier.result import Frontier
from evalstats.analysis.score.score import score
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.model import Text
from evalstats.document.terminal import headline, to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.many.pareto import frontier_shares
from tests.analysis.builders import data_of, rows_of

Costs = Sequence[float | None]


def system(
    name: str, scores: Sequence[float | None], costs: Costs, *, cost: str = "cost_usd", trials: int = 1, **options: Any
) -> list[dict[str, object]]:
    """Rows of one system: a score and a cost for every trial of every item."""
    rows = rows_of(name, scores, trials=trials, **options)
    return [{**row, cost: value} for row, value in zip(rows, costs, strict=True)]


def data_with(systems: Mapping[str, tuple[Sequence[float | None], Costs]], **options: Any) -> EvalData:
    return data_of(*(system(name, *both, **options) for name, both in systems.items()), kind="binary")


def example(n: int = 60, seed: int = 1) -> EvalData:
    """Cheap and weak, dear and strong, dear and weak, and one just behind the strong one."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    return data_with(
        {
            name: ((hard < share).astype(float).tolist(), (price * rng.lognormal(sigma=0.4, size=n)).tolist())
            for name, share, price in (
                ("cheap", 0.3, 0.01),
                ("strong", 0.8, 0.1),
                ("waste", 0.25, 0.2),
                ("near", 0.78, 0.11),
            )
        }
    )


def texts(result: Frontier, kind: str) -> str:
    return " ".join(note.line for note in result.notes if note.kind == kind)


@pytest.fixture(scope="module")
def found() -> Frontier:
    return frontier(example(), n_resamples=1000)


def test_who_is_on_it_who_is_behind_whom_and_who_is_dominated_for_certain(found: Frontier) -> None:
    assert [row.name for row in found.rows] == ["cheap", "strong", "near", "waste"]
    assert [row.on_frontier for row in found.rows] == [True, True, False, False]
    assert [row.beaten_by for row in found.rows] == [(), (), ("strong",), ("cheap", "strong", "near")]
    # The dear and weak one is shown to be worse than those that score far more; "cheap" is cheaper, its score too close.
    assert found.row("waste").dominated_by == ("strong", "near")
    assert [row.standing for row in found.rows] == ["on the frontier", "on the frontier", "open", "dominated"]
    assert found.row("cheap").share == 1.0
    assert 0 < found.row("near").share < 0.5
    with pytest.raises(InputError, match=r"no model 'nera'; closest: near"):
        found.row("nera")


def test_numbers_are_means_over_items_with_the_intervals_of_a_score_alone(found: Frontier) -> None:
    data = example()
    for row in found.rows:
        own = data.outcomes.filter(model=row.name)
        assert row.cost == pytest.approx(own["cost_usd"].mean())
        alone = score(data, row.name)
        assert (row.estimate, row.conf_low, row.conf_high, row.method) == (
            alone.estimate,
            alone.conf_low,
            alone.conf_high,
            alone.method,
        )
        assert 0 < row.cost_low < row.cost < row.cost_high
    assert (found.n_items, found.n_items_any, found.cost_unit, found.n_resamples) == (60, 60, "US dollars", 1000)


def test_shares_are_those_of_one_bootstrap_of_all_systems(found: Frontier) -> None:
    data = example()
    names = [row.name for row in found.rows]
    tables = [
        data.outcomes.pivot("model", index="item", values=column).sort("item").select(names).to_numpy()
        for column in ("score", "cost_usd")
    ]
    expected = frontier_shares(*tables, n_resamples=1000, seed=0)
    # the same resamples, whatever the order of the systems
    assert [row.share for row in found.rows] == expected.shares.tolist()
    assert [row.share_error for row in found.rows] == expected.errors.tolist()


def test_only_the_shares_depend_on_the_seed(found: Frontier) -> None:
    other = frontier(example(), n_resamples=1000, seed=7)
    pairs = list(zip(found.rows, other.rows, strict=True))
    assert any(one.share != two.share for one, two in pairs)
    for one, two in pairs:
        assert (one.estimate, one.conf_low, one.cost_low, one.dominated_by) == (
            two.estimate,
            two.conf_low,
            two.cost_low,
            two.dominated_by,
        )
    assert frontier(example(), n_resamples=1000).to_dict() == found.to_dict()


def test_order_of_rows_and_unit_of_cost_mean_nothing(found: Frontier) -> None:
    data = example()
    moved = EvalData(
        outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=3).with_columns(pl.col("cost_usd") * 1000),
        runs=data.runs,
        metrics=data.metrics,
    )
    again = frontier(moved, n_resamples=1000)
    assert [(row.name, row.share, row.dominated_by) for row in again.rows] == [
        (row.name, row.share, row.dominated_by) for row in found.rows
    ]
    assert again.row("waste").cost_high == pytest.approx(1000 * found.row("waste").cost_high)


def test_complete_cases_alone_count_and_how_many_is_said() -> None:
    costs = [0.1 * (1 + n % 3) for n in range(30)]
    systems = {
        "a": ([1.0, 0.0] * 15, [None, *costs[1:]]),
        "b": ([1.0, 0.0, 0.0] * 10, costs),
        "c": ([None, 1.0, *[0.0, 1.0] * 14], costs),
    }
    result = frontier(data_with(systems), n_resamples=200)
    assert (result.n_items, result.n_items_any) == (29, 30)
    [note] = [note for note in result.notes if note.kind == "missing"]
    assert note.caution
    assert "Only 29 of 30 items have a score and cost_usd of all 3 systems" in note.text
    assert result.row("a").estimate == pytest.approx(14 / 29)
    whole = frontier(data_with({name: (both[0][1:], both[1][1:]) for name, both in systems.items()}), n_resamples=200)
    assert [(row.name, row.estimate, row.cost) for row in whole.rows] == [
        (row.name, row.estimate, row.cost) for row in result.rows
    ]


def test_systems_without_a_cost_or_with_none_known_are_left_out_by_name() -> None:
    scores, costs = [1.0, 0.0] * 10, [0.1, 0.2] * 10
    systems = {
        "a": (scores, costs),
        "b": (scores[::-1], costs[::-1]),
        "silent": (scores, [None] * 20),
        "free": (scores, [0.0] * 20),
    }
    result = frontier(data_with(systems), n_resamples=100)
    assert [row.name for row in result.rows] == ["a", "b"]
    assert result.left_out == ("silent", "free")
    notes = texts(result, "left_out")
    assert "none of their scored rows has cost_usd: silent" in notes
    assert "0 on every item, as harnesses write if the price is unknown: free" in notes
    # One that is dropped might beat all others, so the first screen says it.
    assert all(note.caution for note in result.notes if "Dropped, since" in note.text)
    # A time of 0 is a time.
    timed = frontier(data_with({"a": (scores, costs), "b": (scores, [0.0] * 20)}, cost="latency_s"), cost="latency_s")
    assert [row.name for row in timed.rows] == ["b", "a"]
    assert "machine" in texts(timed, "comparability")
    assert (timed.rows[0].cost, timed.rows[0].cost_low, timed.rows[0].cost_reason) == (
        0.0,
        None,
        "it is 0 on every item",
    )


def test_lower_is_better_turns_the_scores_round() -> None:
    rng = np.random.default_rng(4)
    rows = [
        system(name, (rng.random(40) < share).astype(float).tolist(), (price * rng.lognormal(size=40)).tolist())
        for name, share, price in (("good", 0.1, 1.0), ("bad", 0.9, 9.0))
    ]
    result = frontier(data_of(*rows, kind="binary", higher_is_better=False), n_resamples=200)
    assert [(row.name, row.on_frontier, row.dominated_by) for row in result.rows] == [
        ("good", True, ()),
        ("bad", False, ("good",)),
    ]


def test_trials_are_averaged_and_errors_cost_nothing_here() -> None:
    rows = [
        *system("a", [1, 0, 1] * 12, [1.0, 2.0, 6.0] * 12, trials=3),
        *system("b", [1, None, 0] * 12, [2.0, 99.0, 4.0] * 12, trials=3, status="error"),
    ]
    result = frontier(data_of(rows, kind="binary"), n_resamples=100)
    assert [(row.name, row.cost, row.estimate) for row in result.rows] == [
        ("a", pytest.approx(3.0), pytest.approx(2 / 3)),
        ("b", pytest.approx(3.0), pytest.approx(0.5)),
    ]
    assert [row.n_trials for row in result.rows] == [36, 24]


def test_clusters_are_the_unit_and_few_of_them_leave_the_shares_open() -> None:
    rng = np.random.default_rng(5)
    passage = [f"p{n // 5}" for n in range(60)]
    shared = np.repeat(rng.normal(size=12), 5)
    systems = {
        name: (
            (rng.random(60) < 1 / (1 + np.exp(-level - 2 * shared))).astype(float).tolist(),
            rng.lognormal(size=60).tolist(),
        )
        for name, level in (("a", 0.0), ("b", 0.6))
    }
    data = data_with(systems, factors={"passage": passage})
    plain, by_passage = frontier(data, n_resamples=500), frontier(data, n_resamples=500, cluster="passage")
    assert (by_passage.n_clusters, by_passage.clusters) == (12, ("passage",))
    assert "passage" in by_passage.estimand
    assert by_passage.rows[0].conf_high - by_passage.rows[0].conf_low > plain.rows[0].conf_high - plain.rows[0].conf_low
    few = frontier(data_with(systems, factors={"passage": [f"p{n // 20}" for n in range(60)]}), cluster="passage")
    assert "3 clusters are too few" in str(few.share_reason)
    assert {(row.share, row.share_error, row.standing, row.conf_low, row.cost_low) for row in few.rows} == {
        (None, None, "open", None, None)
    }
    section = few.document().section("open")
    assert section is not None
    assert section.blocks == (Text(text=str(few.share_reason)),)


def test_a_single_dear_item_is_no_proof_of_a_dear_system() -> None:
    """Six items that differ are needed, as in a comparison of two."""
    scores, costs = np.zeros(40), np.ones(40)
    better, dearer = scores.copy(), costs.copy()
    better[:5], dearer[:5] = 1.0, 0.0
    result = frontier(
        data_with({"a": (scores.tolist(), costs.tolist()), "b": (better.tolist(), dearer.tolist())}), n_resamples=99
    )
    assert result.row("a").beaten_by == ("b",)
    assert result.row("a").dominated_by == ()
    better[:9], dearer[:9] = 1.0, 0.0
    result = frontier(
        data_with({"a": (scores.tolist(), costs.tolist()), "b": (better.tolist(), dearer.tolist())}), n_resamples=99
    )
    assert result.row("a").dominated_by == ("b",)


@pytest.mark.parametrize("contrast", ["variant", "task", "defence"])
def test_whatever_column_names_the_systems(contrast: str) -> None:
    scores, costs = [1.0, 0.0, 0.0] * 10, [0.1, 0.2, 0.4] * 10
    rows = [
        {**row, "model": "m", "system": "m", contrast: name}
        for name, values, prices in (("x", scores, costs), ("y", scores[::-1], [2 * cost for cost in costs]))
        for row in system(name, values, prices)
    ]
    result = frontier(data_of(rows, kind="binary"), contrast=contrast, n_resamples=100)
    assert [(row.name, row.cost) for row in result.rows] == [
        ("x", pytest.approx(7 / 30)),
        ("y", pytest.approx(14 / 30)),
    ]
    assert (result.n_items, result.contrast, result.clusters) == (30, contrast, ())


def test_variants_of_an_item_are_one_cluster() -> None:
    rows = []
    for name, shift in (("a", 0), ("b", 1)):
        for n in range(40):
            [row] = system(name, [float((n // 2 + shift) % 3 > 0)], [0.1 * (1 + n % 4 + shift)], items=[f"q{n // 2}"])
            rows.append({**row, "variant": f"v{n % 2}"})
    result = frontier(data_of(rows, kind="binary"), n_resamples=100)
    assert (result.n_items, result.n_clusters, result.clusters) == (40, 20, ("item",))
    assert "the variants of one item are one cluster" in texts(result, "choice")


def test_equal_systems_are_both_on_it() -> None:
    rng = np.random.default_rng(6)
    scores, costs = (rng.random(30) < 0.5).astype(float).tolist(), rng.lognormal(size=30).tolist()
    result = frontier(data_with({"a": (scores, costs), "b": (scores, costs)}), n_resamples=300)
    assert [(row.on_frontier, row.share, row.standing) for row in result.rows] == [(True, 1.0, "on the frontier")] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, "n_resamples is 0"),
        ({"cluster": "nothing"}, "there is no column 'nothing'"),
        ({"models": ["cheap"]}, "a frontier of score and cost needs two"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        frontier(example(), **options)


def test_data_without_an_answer_say_why() -> None:
    scores = [1.0, 0.0] * 5
    with pytest.raises(CannotAnswerError, match="a frontier needs two systems with latency_s, and no system has it"):
        frontier(example(), cost="latency_s")
    with pytest.raises(CannotAnswerError, match="two systems with cost_usd, and 'a' alone has it"):
        frontier(data_with({"a": (scores, [1.0] * 10), "b": (scores, [None] * 10)}))
    apart = data_with({"a": (scores, [1.0] * 5 + [None] * 5), "b": (scores, [None] * 5 + [1.0] * 5)})
    with pytest.raises(CannotAnswerError, match="0 items of 10 have a score and cost_usd of both systems"):
        frontier(apart)


def test_systems_measured_by_another_ruler_are_left_out_and_it_is_said_how_to_keep_them() -> None:
    data = example()
    versions = {"cheap-run": "1", "strong-run": "1", "waste-run": "2", "near-run": "1"}
    runs = data.runs.with_columns(pl.col("run").replace_strict(versions).alias("task_version"))
    apart = EvalData(outcomes=data.outcomes, runs=runs, metrics=data.metrics)
    result = frontier(apart, n_resamples=100)
    assert [row.name for row in result.rows] == ["cheap", "strong", "near"]
    assert result.left_out == ("waste",)
    assert "accept=['task_version']" in texts(result, "comparability")
    kept = frontier(apart, n_resamples=100, accept=["task_version"])
    assert (len(kept.rows), kept.left_out) == (4, ())
    with pytest.raises(CannotAnswerError, match="no two systems were measured alike"):
        frontier(apart, n_resamples=100, models=["waste", "near"])


def test_a_lead_in_cost_that_rare_dear_items_could_undo_leaves_the_place_open() -> None:
    rng = np.random.default_rng(5)
    strong = [1.0] * 28 + [0.0] * 2
    steady = [0.9 + 0.013 * i for i in range(30)]
    weak = rng.permutation([0.0, 1.0] * 15).tolist()
    tailed = frontier(data_with({"strong": (strong, steady), "weak": (weak, [0.4] * 28 + [3.0, 4.0])}))
    row = tailed.row("weak")
    assert (row.on_frontier, row.standing, row.unseen_tail) == (True, "open", True)
    assert row.share is not None
    assert row.share >= 0.95
    said = tailed.document()
    assert said.headline == "No system beats strong in both score and cost; weak is not settled"
    assert texts(tailed, "fit") == "Rare extreme items could undo the lead of weak in cost, so its place is left open."
    assert len(to_text(said).splitlines()) <= 15
    # A steady low price settles it, and so does one that is shown firmly.
    for costs in ([0.4 + 0.001 * i for i in range(30)], [0.01] * 28 + [0.1, 0.2]):
        sure = frontier(data_with({"strong": (strong, steady), "weak": (weak, costs)}))
        assert (sure.row("weak").standing, sure.row("weak").unseen_tail, texts(sure, "fit")) == (
            "on the frontier",
            False,
            "",
        )


def test_without_a_settled_place_the_headline_names_nobody() -> None:
    rng = np.random.default_rng(1)
    alike = {name: (rng.permutation([0.0, 1.0] * 15).tolist(), rng.normal(1, 0.1, 30).tolist()) for name in "abc"}
    found = frontier(data_with(alike), n_resamples=500)
    assert {row.standing for row in found.rows} == {"open"}
    assert found.document().headline == "Which systems are beaten in both score and cost is not settled"


# Outputs


def test_the_frame_and_the_dict_hold_what_the_rows_hold(found: Frontier) -> None:
    frame = found.to_frame()
    assert frame["system"].to_list() == [row.name for row in found.rows]
    assert frame["dominated_by"].to_list() == [None, None, None, "strong, near"]
    assert frame["estimate"].to_list() == [row.estimate for row in found.rows]
    held = json.loads(json.dumps(found.to_dict()))
    assert held["rows"][3]["dominated_by"] == ["strong", "near"]
    assert held["rows"][2]["share"] == found.rows[2].share


def test_answer_names_who_is_worth_it_who_is_beaten_and_what_is_open(found: Frontier) -> None:
    said = found.document()
    assert (said.label, said.tone) == ("partly open", "caution")
    assert said.headline == "No system beats cheap and strong in both score and cost; near is not settled"
    assert said.scope == "Scores are means of correct on the 60 items that every system has"
    assert said.actions == (
        "Drop waste: strong and near scored more for less cost.",
        "More items would settle the place of near.",
    )
    assert not said.evidence
    assert said.tables["systems"].written()[2][-1] == "not settled"
    assert repr(found) == "<Frontier: 4 systems on bench, correct by cost_usd: cheap, strong>"
    for written in (to_text(said, full=True), to_markdown(said), to_html(said)):
        assert all(row.name in written for row in found.rows)
        assert "seed 0" in written
    assert len(to_text(said).splitlines()) <= 15
    assert headline(said).count("\n") == 0


def test_of_many_systems_to_drop_the_first_are_named_and_the_rest_counted() -> None:
    beaten = {f"waste-{k}": ([0.0] * 40, [2.0 + k] * 40) for k in range(7)}
    actions = (
        frontier(data_with({"best": ([1.0, 1.0, 1.0, 0.0] * 10, [1.0] * 40), **beaten}), n_resamples=200)
        .document()
        .actions
    )
    assert [each.startswith("Drop waste-") for each in actions[:5]] == [True] * 4 + [False]
    assert actions[4] == "And 3 more."


def test_real_costs_of_four_models(shared_data: Path) -> None:
    """SWE-bench Verified: the sums of the file itself, and the frontier by its definition."""
    held = json.loads((shared_data / "swebench_verified_mini" / "info_for_leaderboard.json").read_text())
    systems = {
        name: ([float(each["resolved"]) for each in items.values()], [each["cost"] for each in items.values()])
        for name, items in held.items()
    }
    rows = [system(name, *systems[name], items=list(held[name])) for name in systems]
    result = frontier(data_of(*rows, kind="binary"), n_resamples=2000)
    assert {row.name: (row.cost, row.estimate) for row in result.rows} == {
        name: (pytest.approx(np.mean(both[1])), pytest.approx(np.mean(both[0]))) for name, both in systems.items()
    }
    assert [row.name for row in result.rows if row.on_frontier] == ["gpt-5-mini", "gpt-5", "sonnet-4-5"]
    # sonnet-4 solves one issue less than gpt-5 (324 and 325 of 500) and costs a third more: nothing is settled
    assert result.row("sonnet-4").beaten_by == ("gpt-5",)
    assert result.row("sonnet-4").standing == "open"
    assert 0.3 < result.row("sonnet-4").share < 0.6
