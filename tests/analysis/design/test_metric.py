"""Scale, direction and codes of a metric in every answer: what is declared wins, what is not is asked about or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.gate import gate
from evalstats.analysis.score.result import Score
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.schema.data import EvalData, combine
from evalstats.schema.plan import Plan
from evalstats.testing import assert_not_worse
from tests.analysis.builders import told

N = 60
RNG = np.random.default_rng(4)
EASE = RNG.random(N)
SHARES = {"a": 0.2 + 0.7 * EASE, "b": 20 + 68 * EASE + RNG.normal(0, 2, N)}
HARM = {"a": (EASE < 0.15).astype(int), "b": (EASE < 0.6).astype(int), "c": (RNG.random(N) < 0.4).astype(int)}


def table(scores: dict[str, Any], name: str = "score", **more: Any) -> pl.DataFrame:
    rows = [{"item": i, "model": m, name: float(s)} for m, of in scores.items() for i, s in enumerate(of)]
    return pl.DataFrame(rows).with_columns(**more)


def read(scores: dict[str, Any], name: str = "score", **options: Any) -> EvalData:
    return es.from_frame(table(scores, name), item="item", model="model", score=name, **options)


def as_scores(found: Score | es.Scores) -> tuple[Score, ...]:
    return (found,) if isinstance(found, Score) else found.rows


QUESTIONS: dict[str, Callable[[EvalData], object]] = {
    "compare": lambda data: es.compare(data, "a", "b"),
    "leaderboard": es.leaderboard,
    "score": es.score,
    "scenarios": lambda data: es.scenarios(data, scenario="part"),
    "power": lambda data: es.power(pilot=data, baseline="a", candidate="b", delta=0.1),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_shares_and_percentages_are_refused_by_every_question(question: str) -> None:
    part = pl.Series("part", ["x", "y"] * N)
    data = es.from_frame(table(SHARES, part=part), item="item", model="model", score="score", part="part")
    with pytest.raises(
        InputError, match=r"cannot be of one scale: 'a' has 0\.\d+ to 0\.\d+ \(60 scores\); 'b' has .*scale="
    ):
        QUESTIONS[question](data)


def test_a_side_of_a_gap_is_refused_too() -> None:
    live = pl.DataFrame({"model": ["a", "b"], "estimate": [0.4, 0.5], "std_error": [0.01, 0.01]})
    with pytest.raises(InputError, match="cannot be of one scale"):
        es.gap(read(SHARES), live)


def test_the_levels_of_a_contrast_are_sides() -> None:
    frame = table(SHARES).with_columns(defense=pl.col("model"), model=pl.lit("m"))
    data = es.from_frame(frame, item="item", model="model", score="score", variant="defense")
    with pytest.raises(InputError, match="cannot be of one scale"):
        es.compare(data, "a", "b", contrast="variant")


def test_a_declared_scale_wins_and_is_warned_of_where_it_looks_wrong() -> None:
    found = es.compare(read(SHARES, scale="percent"), "a", "b")
    assert found.verdict == "better"
    assert any("taken for all, though the scores look like two" in text for text in told(found))
    assert es.compare(read(SHARES, scale="0.."), "a", "b").estimate == pytest.approx(found.estimate)
    assert es.compare(read(SHARES).with_metric("score", low=0.0, high=100.0), "a", "b").verdict == "better"
    with pytest.raises(InputError, match="a row has a score above 1"):
        read(SHARES, scale="proportion")


def test_a_plan_declares_for_files_of_any_format() -> None:
    plan = Plan(metrics={"score": {"low": 0.0, "high": 100.0}})
    assert es.compare(read(SHARES), "a", "b", plan=plan).verdict == "better"


def test_times_may_be_below_a_second() -> None:
    found = es.compare(read(SHARES, "latency_s", higher_is_better=False), "a", "b")
    assert found.verdict == "worse"


def test_sources_that_declare_two_ranges_are_refused() -> None:
    sides = [read({"a": [1.0, 5.0, 3.0]}, scale="1..5"), read({"b": [2.0, 3.0, 4.0]}, scale="1..10")]
    with pytest.raises(InputError, match="it runs from 1 to 5, and from 1 to 10"):
        es.compare(combine(sides), "a", "b")
    assert es.compare(combine(sides).with_metric("score", low=1.0, high=10.0), "a", "b").n_items == 3


def test_a_percentage_whose_scores_are_shares_is_refused() -> None:
    shares = {"a": SHARES["a"], "b": SHARES["a"] ** 2}
    with pytest.raises(
        InputError, match=r"'acc_pct' is called a percentage, and its scores all lie between .*scale=.percent"
    ):
        read(shares, "acc_pct")
    assert es.compare(read(shares, "acc_pct", scale="proportion"), "a", "b").verdict == "worse"


def test_published_shares_among_percentages_are_refused() -> None:
    numbers = {"model": ["x", "y", "z"], "estimate": [0.71, 64.0, 80.5], "std_error": [0.01, 1.0, 1.0]}
    with pytest.raises(InputError, match=r"'x' has 0\.71, 'y' has 64"):
        es.leaderboard(numbers)


# --- direction ---


def test_a_name_that_suggests_lower_is_asked_about_and_nobody_is_called_better() -> None:
    found = es.compare(read(HARM, "jailbroken"), "a", "b", margin="5pp")
    assert found.verdict == "inconclusive"
    assert found.direction == "asked"
    first = found.summary().partition(".")[0]
    assert first.startswith("b scores higher than a; is lower better? higher_is_better=False or higher")
    # The scores do differ, so no advice against reading them as equal.
    assert found.document().actions == ()
    assert found.at_margin is not None
    assert not found.at_margin.noninferior
    assert "nothing declares it" in found.verdict_reason
    assert "nothing declares it" in found.summary()


@pytest.mark.parametrize(("item", "rows"), [("attack_id", "runs"), ("id", "attacks")])
def test_what_succeeds_may_be_what_the_rows_are_called(tmp_path: Path, item: str, rows: str) -> None:
    for side, n in (("undefended", 20), ("defended", 4)):
        records = [{item: f"A{k}", "success": k < n} for k in range(24)]
        (tmp_path / f"{side}.json").write_text(json.dumps({rows: records, "total": 24}))
    found = es.compare(es.read(tmp_path), "undefended", "defended")
    assert (found.direction, found.verdict) == ("asked", "inconclusive")
    assert "the names of the items suggest that lower is better in 'success'" in found.summary()


def test_what_says_itself_what_is_good_is_so_of_bad_items_too(tmp_path: Path) -> None:
    rows = [f"b{k},{side},{k % 5 + (side == 'new')}" for k in range(24) for side in ("old", "new")]
    (path := tmp_path / "t.csv").write_text("\n".join(["bug_id,model,rating", *rows]))
    assert es.compare(es.read(path), "old", "new").direction == "assumed"


@pytest.mark.parametrize("rule", ["worse", "inconclusive", "not-noninferior"])
def test_no_gate_passes_on_an_open_direction(rule: str) -> None:
    found = gate(es.compare(read(HARM, "jailbroken"), "b", "a", margin="5pp"), rule)
    assert (found.passed, found.exit_status) == (None, 3)
    with pytest.raises(CannotAnswerError, match="which way is better is not known"):
        assert_not_worse(read(HARM, "jailbroken"), "b", "a")
    assert assert_not_worse(read(HARM, "jailbroken"), "b", "a", higher_is_better=False).verdict == "better"


@pytest.mark.parametrize("way", ["frame", "column", "metrics", "argument", "plan", "data"])
def test_a_direction_can_be_given_everywhere(way: str) -> None:
    frame = table(HARM, "jailbroken")
    options: dict[str, Any] = {"item": "item", "model": "model"}
    data = es.from_frame(frame, score="jailbroken", **options)
    found = {
        "frame": lambda: es.compare(
            es.from_frame(frame, score="jailbroken", higher_is_better=False, **options), "a", "b"
        ),
        "column": lambda: es.compare(es.from_frame(frame, score="jailbroken:lower", **options), "a", "b"),
        "metrics": lambda: es.compare(
            es.from_frame(frame, score="jailbroken", metrics={"jailbroken": {"higher_is_better": False}}, **options),
            "a",
            "b",
        ),
        "argument": lambda: es.compare(data, "a", "b", higher_is_better=False),
        "plan": lambda: es.compare(data, "a", "b", plan=Plan(metrics={"jailbroken": {"higher_is_better": False}})),
        "data": lambda: es.compare(data.with_metric("jailbroken", higher_is_better=False), "a", "b"),
    }[way]()
    assert (found.verdict, found.direction, found.qualifiers) == ("worse", "declared", ())


def test_every_answer_says_what_nobody_declared() -> None:
    data = read({"a": SHARES["a"], "b": SHARES["a"] ** 2})
    said = "higher assumed better"
    noted = "Higher is assumed better"
    assert any(note.text == noted for note in es.compare(data, "a", "b").document().notes)
    assert said in es.leaderboard(data).document().scope
    assert all(any(note.text == noted for note in each.document().notes) for each in as_scores(es.score(data)))
    declared = es.compare(data, "a", "b", higher_is_better=True)
    assert noted not in declared.to_markdown()
    assert said not in es.leaderboard(data, higher_is_better=True).summary()


def test_a_leaderboard_of_harm_names_no_best_before_it_is_told() -> None:
    data = read(HARM, "jailbroken")
    asked, told = es.leaderboard(data), es.leaderboard(data, higher_is_better=False)
    assert "best" not in asked.summary().partition(".")[0].replace("higher_is_better", "")
    assert "is lower better?" in asked.summary().partition(".")[0]
    assert told.rows[0].name == "a"
    assert told.qualifiers == ()


def test_published_numbers_take_a_direction() -> None:
    numbers = {"model": ["x", "y"], "estimate": [0.1, 0.4], "std_error": [0.01, 0.01], "metric": ["WER", "WER"]}
    assert "is lower better?" in es.leaderboard(numbers).summary()
    assert es.leaderboard(numbers, higher_is_better=False).best() == ("x",)
    assert es.leaderboard({**numbers, "metric": ["WER ↓", "WER ↓"]}).best() == ("x",)


def test_scenarios_and_gaps_ask_on_their_first_line() -> None:
    rows = table({m: np.tile(of, 3) for m, of in HARM.items()}, "unsafe", part=pl.Series(["x", "y", "z"] * (3 * N)))
    found = es.scenarios(es.from_frame(rows, item="item", model="model", score="unsafe", part="part"), scenario="part")
    assert "is lower better?" in found.document().headline


# --- failure codes ---

RATED = RNG.integers(1, 11, 2 * N)
RATED[[1, 2, N + 5]] = -1


def rated(**options: Any) -> EvalData:
    return read({"a": RATED[:N], "b": RATED[N:]}, **options)


def test_a_value_that_stands_alone_is_warned_of_with_the_cure() -> None:
    warnings = told(es.compare(rated(), "a", "b"))
    assert "3 scores of 'score' are -1, far from all others (1 to 10)" in warnings[0]
    assert "unscored=-1" in warnings[0]
    assert "unscored=-1" in told(es.leaderboard(rated()))[0]
    assert all("unscored=-1" in told(each)[0] for each in as_scores(es.score(rated()))[:1])


def test_outside_a_declared_scale_the_error_names_the_cure() -> None:
    with pytest.raises(InputError, match=r"a row has a score below 1 .*if -1 means no score, say unscored="):
        rated(scale="1..10")


@pytest.mark.parametrize("unscored", [-1, "-1", [-1, 99], -1.0])
def test_a_code_is_no_score(unscored: Any) -> None:
    data = rated(unscored=unscored, scale="1..10")
    lost = data.outcomes.filter(status="unscored")
    assert lost.height == 3
    assert set(lost["status_reason"]) == {"-1 stands for no score"}
    found = es.compare(data, "a", "b")
    kept = (RATED[:N] > 0) & (RATED[N:] > 0)
    assert found.estimate == pytest.approx(float((RATED[N:] - RATED[:N])[kept].mean()))
    assert not any("-1" in text for text in told(found))


def test_codes_on_the_command_line_add_up(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("item,model,score\n1,m,-1.00\n2,m,99\n3,m,7\n4,m,5\n")
    for options in (["unscored=-1", "unscored=99"], ["unscored=-1,99"]):
        data = es.read(path, column_map=ColumnMap.from_options(options))
        assert data.outcomes["status"].to_list() == ["unscored", "unscored", "scored", "scored"]


def test_where_a_metric_must_be_chosen_the_line_that_chooses_one_is_shown() -> None:
    rows = table(HARM, "f1").with_columns(accuracy=pl.col("f1") * pl.Series([1.0, 0.0, 1.0] * N))
    data = es.from_frame(rows, item="item", model="model", score=["f1", "accuracy"])
    with pytest.raises(
        InputError, match=r"2 metrics .*: 'accuracy', 'f1'; choose one, such as metric='accuracy', before"
    ):
        es.scenarios(data)
    assert es.leaderboard(data, metric="accuracy").metric == "accuracy"
