"""Influences on judges besides the answers: found where it was put in, by name, and told when it could not be checked."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.judges.biases import family_of
from evalstats.analysis.judges.judges import judges
from tests.analysis.judges.test_sources import vote, votes

MODELS = ("gpt-4o", "claude-3", "mistral-7b")


def games(
    n: int = 200, *, place: float = 0.0, length: float = 0.0, own: float = 0.0, people: bool = True, seed: int = 1
) -> list[dict[str, object]]:
    """Pairs of three models, judged by gpt-4 in both orders, with a chance that it goes by something else than the answers."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for i in range(n):
        x, y = rng.choice(MODELS, 2, replace=False)
        doublings = rng.normal()
        sizes = {x: round(1000 * 2 ** (doublings / 2)), y: round(1000 * 2 ** (-doublings / 2))}
        better = x if rng.random() < 0.5 else y
        if people:
            for person in ("ann", "ben"):
                said = better if rng.random() < 0.9 else (x if better == y else y)
                rows.append(
                    vote(i, x, y, "a" if said == x else "b", rater=person, length_a=sizes[x], length_b=sizes[y])
                )
        for a, b in ((x, y), (y, x)):
            said = better if rng.random() < 0.9 else (a if better == b else b)
            if rng.random() < place:
                said = a
            if rng.random() < length:
                said = max((a, b), key=lambda name: sizes[name])
            if rng.random() < own and "gpt-4o" in (a, b):
                said = "gpt-4o"
            outcome = "a" if said == a else "b"
            rows.append(vote(i, a, b, outcome, judge="gpt-4", order="a_first", length_a=sizes[a], length_b=sizes[b]))
    return rows


def found(report, check: str):
    return next(row for row in report.biases if row.check == check)


def test_a_fair_judge_has_none():
    report = judges(votes(games(300)))
    assert {row.check for row in report.biases} == {"place", "inconsistent", "length", "own family"}
    assert not any(row.shown for row in report.biases)
    assert not [note for note in report.notes if note.kind == "trust"]
    assert report.not_checked == ()


def test_the_place_by_hand_and_what_ties_make_of_it():
    rows = games(place=0.4)
    report = judges(votes(rows))
    judged = [row for row in rows if "judge" in row]
    assert found(report, "place").estimate == pytest.approx(np.mean([row["outcome"] == "a" for row in judged]))
    assert found(report, "place").shown
    turned = [one["outcome"] == two["outcome"] for one, two in zip(judged[::2], judged[1::2], strict=True)]
    assert found(report, "inconsistent").estimate == pytest.approx(np.mean(turned))
    assert any("prefers the first place" in note.text for note in report.notes)
    for row in report.by_place:
        assert row.when_first > row.when_second
        own = [each for each in judged if each["model_a"] == row.name]
        assert row.when_first == pytest.approx(np.mean([each["outcome"] == "a" for each in own]))
    assert sum(row.tied * row.n_pairs for row in report.by_place) == pytest.approx(200)


def test_length_and_family():
    longer = judges(votes(games(300, length=0.5)))
    assert found(longer, "length").shown
    assert found(longer, "length").estimate > 1
    assert not found(longer, "length").association
    own = judges(votes(games(300, own=0.5)))
    assert found(own, "own family").shown
    assert found(own, "own family").family == "OpenAI"
    rows = [row for row in games(300, own=0.5) if "gpt-4o" in (row["model_a"], row["model_b"])]
    people: dict[object, list[float]] = {}
    judge: dict[object, list[float]] = {}
    for row in rows:
        own_won = float((row["outcome"] == "a") == (row["model_a"] == "gpt-4o"))
        (judge if "judge" in row else people).setdefault(row["item"], []).append(own_won)
    by_hand = np.mean([value - np.mean(people[item]) for item, each in judge.items() for value in each])
    assert found(own, "own family").estimate == pytest.approx(by_hand)


def test_without_people_nothing_is_measured_and_length_is_an_association():
    report = judges(votes(games(200, length=0.5, place=0.3, people=False)))
    assert report.rows == ()
    assert found(report, "length").association
    assert found(report, "place").shown
    assert any("own family" in reason for reason in report.not_checked)
    document = report.document()
    assert "nobody knows" in document.headline
    assert "go with place and length" in report.to_markdown()


def test_one_order_alone_tells_the_place_between_equals():
    rows = [row for k, row in enumerate(games(400, place=0.5)) if "judge" not in row or k % 2]
    row = found(judges(votes(rows)), "place")
    assert "between equals" in row.method
    assert row.shown
    assert row.estimate == pytest.approx(0.75, abs=0.08)


def test_what_could_not_be_checked_is_said():
    rows = [
        {key: value for key, value in row.items() if key not in ("order", "length_a", "length_b")} for row in games(80)
    ]
    for row in rows:
        if "judge" in row:
            row["judge"] = "our-judge"
    once = [row for k, row in enumerate(rows) if "judge" not in row or k % 2]
    report = judges(votes(once))
    told = " ".join(report.not_checked)
    assert "order" in told
    assert "length_a" in told
    assert "and nothing declares it" in told
    named = judges(votes(once), families={"our-judge": "OpenAI"})
    assert found(named, "own family").family == "OpenAI"


def scores(*, length: float = 0.0, own: float = 0.0, seed: int = 2) -> es.EvalData:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(120):
        for model in ("gpt-4o", "claude-3"):
            doublings = rng.normal()
            truth = rng.integers(2, 9)
            judge = truth + rng.normal() + length * doublings + own * (model == "gpt-4o")
            common = {"item": i, "model": model, "n_tokens": round(500 * 2**doublings)}
            rows.append({**common, "rater": "ann", "value": float(truth)})
            rows.append({**common, "rater": "gpt-4", "value": float(np.clip(round(judge), 1, 10))})
    return es.from_ratings(pl.DataFrame(rows), humans="ann", model="model")


def test_ratings_one_by_one():
    fair = judges(scores())
    assert not any(row.shown for row in fair.biases)
    assert any("rated one by one" in reason for reason in fair.not_checked)
    longer = found(judges(scores(length=0.6)), "length")
    assert longer.estimate == pytest.approx(0.6, abs=0.15)
    assert longer.shown
    own = found(judges(scores(own=1.0)), "own family")
    assert own.estimate == pytest.approx(1.0, abs=0.3)
    assert own.shown


def test_ratings_with_an_order_are_preferences():
    rng = np.random.default_rng(3)
    rows = []
    for i in range(60):
        better = rng.random() < 0.5
        rows.append({"item": i, "rater": "ann", "label": "a" if better else "b", "order": "a_first"})
        for order in ("a_first", "b_first"):
            said = "a" if order == "a_first" and rng.random() < 0.6 else "a" if better else "b"
            rows.append({"item": i, "rater": "gpt-4", "label": said, "order": order})
    frame = pl.DataFrame(rows).with_columns(
        run=pl.col("order"),
        rater_kind=pl.when(pl.col("rater") == "ann").then(pl.lit("human")).otherwise(pl.lit("judge")),
    )
    report = judges(frame)
    assert report.unit == "pair"
    assert found(report, "place").shown
    assert found(report, "place").estimate > 0.55


def test_families_by_name():
    known = {
        "gpt-4-turbo-2024-04-09": "OpenAI",
        "o3-mini": "OpenAI",
        "bedrock_claude": "Anthropic",
        "gemma-7b-it": "Google",
        "Mixtral-8x7B-Instruct-v0.1": "Mistral",
        "Llama-3-8B-OpenHermes-243K": "Meta",
        "our-judge": None,
    }
    assert {name: family_of(name, {}) for name in known} == known


@pytest.mark.slow
def test_alpaca_evals_judges_go_with_length(shared_data):
    """AlpacaEval corrects for length since its judges go with it (Dubois et al. 2024, arXiv:2404.04475); nobody else judged."""
    report = judges(es.read(shared_data / "alpaca_eval" / "annotations_long.parquet"))
    assert report.rows == ()
    odds = {row.judge: row for row in report.biases if row.check == "length"}
    assert len(odds) == 6
    for name in ("alpaca_eval_gpt4_turbo_fn", "weighted_alpaca_eval_gpt4_turbo", "alpaca_eval_gpt4"):
        assert odds[name].association
        assert odds[name].conf_low > 1
    assert any("order" in reason for reason in report.not_checked)
