"""Micro, macro and weighted averages in compare and score: the arithmetic, the words, the refusals, and coverage."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.score.score import score
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData
from tests.typed import typed

SIZES = {"anatomy": 40, "law": 400, "physics": 80}


def subjects(seed: int = 1, *, column: str = "subject", gain: float = 0.1, **more: object) -> EvalData:
    """Three subjects of unequal size; b gains in the small ones."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for name, n in SIZES.items():
        for i in range(n):
            u = rng.random()
            for model, p in (("a", 0.6), ("b", 0.6 + (gain if name != "law" else -gain / 5))):
                rows.append({"q": f"{name}{i}", "model": model, "score": int(u < p), column: name, **more})
    return from_frame(pl.DataFrame(rows), item="q", score="score", model="model")


def differences(data: EvalData, column: str = "subject", a: str = "a", b: str = "b") -> dict[str, np.ndarray]:
    wide = data.outcomes.pivot("model", index=["item", column], values="score")
    return {name: part.select(pl.col(b) - pl.col(a)).to_series().to_numpy() for (name,), part in wide.group_by(column)}


def test_macro_is_the_mean_of_level_means_with_the_stratified_error() -> None:
    data = subjects()
    found, parts = compare(data, "a", "b", average="macro"), differences(data)
    assert found.estimate == pytest.approx(np.mean([d.mean() for d in parts.values()]))
    variance = sum(np.var(d, ddof=1) / len(d) for d in parts.values()) / 9
    n0 = 9 / sum(1 / len(d) for d in parts.values())
    # The two pseudo-items of the augmented t, on as many items as the weights are worth.
    mean = float(found.estimate or 0)
    total = n0 * (n0 - 1) * variance + 2 + 2 * n0 * mean**2 / (n0 + 2)
    assert found.std_error == pytest.approx(math.sqrt(total / ((n0 + 2) * (n0 + 1))))
    assert found.average == "macro average over 3 subjects of 40 to 400 items"
    assert (
        found.estimand
        == "mean over the levels of subject, all levels weighted equally, for new items of these same levels of subject"
    )
    for side, name in ((found.baseline, "a"), (found.candidate, "b")):
        rows = data.outcomes.filter(pl.col("model") == name).group_by("subject").agg(pl.col("score").mean())
        assert side.estimate == pytest.approx(rows["score"].mean())
    assert float(found.candidate.estimate or 0) - float(found.baseline.estimate or 0) == pytest.approx(found.estimate)


def test_micro_is_the_plain_mean_and_without_being_asked_it_is_named() -> None:
    data = subjects()
    plain, micro = compare(data, "a", "b"), compare(data, "a", "b", average="micro")
    assert micro.estimate == pytest.approx(plain.estimate)
    assert plain.method == "Tango score"
    assert plain.average == "micro average over 3 subjects of 40 to 400 items"
    assert "micro average over 3 subjects" in micro.summary()
    assert "micro average over 3 subjects" in score(data, "a").summary()


def test_weights_are_shares_of_the_levels() -> None:
    data = subjects()
    weights = {"anatomy": 2, "law": 1, "physics": 1}
    found, parts = compare(data, "a", "b", weights=weights), differences(data)
    assert found.estimate == pytest.approx(sum(weights[name] / 4 * d.mean() for name, d in parts.items()))
    assert found.average.startswith("weighted average over 3 subjects")
    equal = compare(data, "a", "b", weights=dict.fromkeys(SIZES, 5.0))
    assert equal.conf_low == compare(data, "a", "b", average="macro").conf_low


def test_verdict_p_interval_margin_and_missing_go_by_the_same_average() -> None:
    data = subjects(gain=0.5)
    found = compare(data, "a", "b", average="macro", margin="2pp")
    assert found.verdict == "better"
    assert (found.p_value or 1) < 0.05
    assert found.conf_low is not None
    assert found.conf_low > 0
    assert found.at_margin is not None
    assert found.at_margin.noninferior
    for level in (0.6, 0.9, 0.99, 0.999999):
        each = compare(data, "a", "b", average="macro", conf_level=level)
        assert ((each.conf_low or 0) > 0) == ((each.p_value or 1) < 1 - level)
    # One lost score of the smallest level moves the macro average by 1/40/3.
    lost = data.outcomes.with_columns(
        pl.when((pl.col("item") == "anatomy0") & (pl.col("model") == "b"))
        .then(None)
        .otherwise(pl.col("score"))
        .alias("score"),
        pl.when((pl.col("item") == "anatomy0") & (pl.col("model") == "b"))
        .then(pl.lit("unscored"))
        .otherwise(pl.col("status"))
        .alias("status"),
    )
    rows = compare(
        EvalData(outcomes=lost, runs=data.runs, metrics=data.metrics), "a", "b", average="macro"
    ).missing.rows
    ends = [row.estimate for row in rows]
    assert max(ends) - min(ends) == pytest.approx(1 / 40 / 3)


def test_the_task_comes_before_the_scenario_and_over_before_both() -> None:
    data = subjects(column="task", scenario="one", category="x")
    assert compare(data, "a", "b", average="macro").average.startswith("macro average over 3 tasks")
    with pytest.raises(InputError, match="no task or scenario with several levels"):
        compare(subjects(column="whatever"), "a", "b", average="macro")
    assert compare(subjects(column="whatever"), "a", "b", average="macro", over="whatever").average.endswith(
        "over 3 whatevers of 40 to 400 items"
    )


def test_levels_of_one_size_are_not_worth_a_word() -> None:
    rng = np.random.default_rng(0)
    rows = {
        "item": [f"{i}" for i in range(60)] * 2,
        "model": ["a"] * 60 + ["b"] * 60,
        "score": rng.integers(0, 2, 120),
        "scenario": (["x"] * 30 + ["y"] * 30) * 2,
    }
    assert compare(from_frame(rows, item="item", score="score", model="model"), "a", "b").average == ""


def test_the_levels_averaged_over_are_no_suspects_and_no_clusters() -> None:
    data = subjects(gain=0.9)
    assert any(row.factor == "subject" for row in compare(data, "a", "b").dependence)
    assert not compare(data, "a", "b", average="macro").dependence
    with pytest.raises(InputError, match="is averaged over, so its levels are fixed"):
        compare(data, "a", "b", average="macro", cluster="subject")


def test_clusters_within_levels_are_the_unit() -> None:
    rng = np.random.default_rng(5)
    rows: list[dict[str, object]] = []
    for s in range(4):
        for g in range(8):
            shift = rng.normal(0, 0.3)
            for i in range(3 + s):
                for model in "ab":
                    value = rng.normal(0.5 + (model == "b") * shift, 0.1)
                    rows.append(
                        {"item": f"{s}{g}{i}", "model": model, "score": value, "task": f"t{s}", "passage": f"{s}{g}"}
                    )
    data = from_frame(pl.DataFrame(rows), item="item", score="score", model="model")
    found = compare(data, "a", "b", average="macro")
    assert found.n_clusters == 32
    assert found.method == "stratified mean, CR2, Satterthwaite t"
    alone = compare(data, "a", "b", average="macro", cluster="none")
    assert (found.std_error or 0) > 1.5 * (alone.std_error or 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"over": "subject"}, "say how as well"),
        ({"average": "macro", "weights": {"law": 1}}, "give one of the two"),
        ({"weights": {"law": 1, "anatomy": 1}}, "'physics' of subject has no share"),
        ({"weights": {"law": 1, "anatomy": 1, "physics": 1, "chess": 1}}, "no item has that level"),
        ({"weights": {"law": -1, "anatomy": 1, "physics": 1}}, "the weight of 'law' is -1"),
        ({"weights": {"law": 0, "anatomy": 1, "physics": 1}}, "the weight of 'law' is 0"),
        ({"average": "macro", "over": "nothing"}, "no column 'nothing'"),
        ({"average": "macro", "method": "tango"}, "weights every item equally"),
        ({"average": "macro", "sequential": True}, "weight all items equally"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compare(subjects(), "a", "b", **options)


def test_items_without_a_level_are_refused() -> None:
    data = subjects()
    rows = data.outcomes.with_columns(pl.when(pl.col("item") != "law0").then(pl.col("subject")).alias("subject"))
    with pytest.raises(InputError, match="1 of 520 items have no single level of subject"):
        compare(
            EvalData(outcomes=rows, runs=data.runs, metrics=data.metrics), "a", "b", average="macro", over="subject"
        )


def test_every_form_tells_the_average() -> None:
    found = compare(subjects(), "a", "b", average="macro")
    assert json.loads(json.dumps(found.to_dict()))["average"].startswith("macro average over 3 subjects")
    own = es.score(subjects(), "a", average="macro")
    assert isinstance(own, es.Score)
    assert "macro average over 3 subjects of 40 to 400 items" in found.summary()
    assert "macro average over 3 subjects of 40 to 400 items" in own.summary()


def test_the_groups_are_each_on_their_own() -> None:
    data = subjects()
    by, plain = compare(data, "a", "b", average="macro", by="subject"), compare(data, "a", "b", by="subject")
    assert [(row.level, row.estimate, row.conf_low) for row in by.groups] == [
        (row.level, row.estimate, row.conf_low) for row in plain.groups
    ]


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    data = subjects()
    data.outcomes.select("item", "model", "score", "subject").write_csv(tmp_path / "t.csv")
    (tmp_path / "w.csv").write_text("level,share\nanatomy,50%\nlaw,25%\nphysics,25%\n")
    sides = ("t.csv", "--baseline", "a", "--candidate", "b", "-f", "json")
    macro = json.loads(typed("compare", *sides, "--average", "macro", folder=tmp_path).stdout)
    assert macro["estimate"] == pytest.approx(compare(data, "a", "b", average="macro").estimate)
    weighted = json.loads(
        typed("compare", *sides, "--weights", "w.csv", "--average-over", "subject", folder=tmp_path).stdout
    )
    assert weighted["average"].startswith("weighted average over 3 subjects")
    scores = json.loads(typed("score", "t.csv", "--average", "macro", "-f", "json", folder=tmp_path).stdout)
    assert {each["average"] for each in scores["rows"]} == {"macro average over 3 subjects of 40 to 400 items"}


def board(seed: int = 1, lost: int = 0) -> EvalData:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for name, n in SIZES.items():
        for i in range(n):
            u = rng.random()
            for model, p in (("a", 0.5), ("b", 0.55), ("c", 0.9 if name != "law" else 0.3)):
                gone = model == "b" and name == "law" and i < lost
                rows.append(
                    {"item": f"{name}{i}", "model": model, "score": None if gone else int(u < p), "subject": name}
                )
    return from_frame(pl.DataFrame(rows, infer_schema_length=None), item="item", score="score", model="model")


def test_a_leaderboard_ranks_by_the_average() -> None:
    data = board()
    micro, macro = leaderboard(data), leaderboard(data, average="macro")
    assert [row.name for row in micro.rows] == ["b", "a", "c"]
    assert [row.name for row in macro.rows] == ["c", "b", "a"]
    assert micro.average == "micro average over 3 subjects of 40 to 400 items"
    assert macro.average == "macro average over 3 subjects of 40 to 400 items"
    assert "macro average" in macro.summary()
    for row in macro.rows:
        own = score(data, row.name, average="macro")
        assert isinstance(own, es.Score)
        assert (row.estimate, row.conf_low, row.conf_high) == pytest.approx((own.estimate, own.conf_low, own.conf_high))
    for pair in macro.pairs:
        found = compare(data, pair.second, pair.first, average="macro")
        parts = differences(data, "subject", pair.second, pair.first)
        assert pair.estimate == pytest.approx(found.estimate)
        # The stratified error as it stands; `compare` adds two pseudo-items.
        assert pair.std_error == pytest.approx(math.sqrt(sum(np.var(d, ddof=1) / len(d) for d in parts.values()) / 9))
    assert macro.row("c").rank_low == 1
    weighted = leaderboard(data, weights=dict.fromkeys(SIZES, 1.0))
    assert [row.ranks for row in weighted.rows] == [row.ranks for row in macro.rows]


def test_a_leaderboard_says_what_an_average_leaves_out() -> None:
    data = board(lost=30)
    found = leaderboard(data, average="macro")
    assert "30 items without a score of every model are dropped where models are compared" in [
        note.text for note in found.notes
    ]
    row = found.row("b")
    assert (row.n_missing, row.n_items) == (30, 490)
    rows = data.outcomes.filter((pl.col("model") == "b") & (pl.col("status") == "scored"))
    levels = rows.group_by("subject").agg(pl.col("score").sum(), pl.len().alias("n"))
    assert row.estimate == pytest.approx((levels["score"] / levels["n"]).mean())
    right = dict(levels.select("subject", "score").iter_rows())
    low = np.mean([right[name] / n for name, n in SIZES.items()])
    assert row.missing_low == pytest.approx(low)
    assert row.missing_high == pytest.approx(low + 30 / 400 / 3)
    with pytest.raises(CannotAnswerError, match="needs items that every model has"):
        leaderboard(board(lost=300), average="macro")


def test_a_leaderboard_of_few_differences_separates_nothing() -> None:
    rows = {
        "item": [f"{i}" for i in range(60)] * 2,
        "model": ["a"] * 60 + ["b"] * 60,
        "score": [1] * 60 + [0] * 5 + [1] * 55,
        "task": (["x"] * 20 + ["y"] * 40) * 2,
    }
    found = leaderboard(from_frame(rows, item="item", score="score", model="model"), average="macro")
    assert not found.pairs[0].separated


def test_published_numbers_have_nothing_to_average() -> None:
    table = {"model": ["a", "b"], "estimate": [0.9, 0.8], "std_error": [0.01, 0.01]}
    with pytest.raises(InputError, match="no items to average over"):
        leaderboard(table, average="macro")


def test_the_board_takes_the_options_on_the_command_line(tmp_path: Path) -> None:
    board().outcomes.select("item", "model", "score", "subject").write_csv(tmp_path / "t.csv")
    run = typed("leaderboard", "t.csv", "--average", "macro", "-f", "json", folder=tmp_path)
    assert json.loads(run.stdout)["average"] == "macro average over 3 subjects of 40 to 400 items"


def test_a_leaderboard_does_not_take_silence_in_heavy_levels_for_certainty() -> None:
    """All differences lie in the level of 500 items, which weighs a quarter; the 10 of each other level never differ."""
    sizes = {"w": 10, "x": 10, "y": 10, "z": 500}
    task = [name for name, n in sizes.items() for _ in range(n)]
    b = [1] * 530
    a = [1] * 500 + [0] * 30
    rows = {
        "item": [f"{i}" for i in range(530)] * 2,
        "model": ["a"] * 530 + ["b"] * 530,
        "score": a + b,
        "task": task * 2,
    }
    data = from_frame(rows, item="item", score="score", model="model")
    assert leaderboard(data).pairs[0].separated
    # 30 items of a 50th of the weight count for less than one of the heaviest.
    assert not leaderboard(data, average="macro").pairs[0].separated
    assert compare(data, "a", "b", average="macro").verdict != "better"
