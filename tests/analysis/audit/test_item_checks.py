"""Checks of items, answers, groups and order: planted faults are found and named, clean tables are left alone."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.audit.answers import answers_of, multiple_choice
from evalstats.analysis.audit.items import groups_and_drift, near_duplicates, uninformative_items
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, panels_of, rows_of_models
from evalstats.errors import written
from tests.analysis.audit.builders import clean, read

LETTERS = "ABCDE"


def panel_of(data: es.EvalData) -> Panel:
    return next(panels_of(data, rows_of_models(data, None), None, None, all_metrics=False, conf_level=0.95))


def finding(found: es.Audit, kind: str):
    (one,) = [each for each in found.findings if each.kind == kind]
    return one


def unchecked(found: es.Audit) -> dict[str, str]:
    return {each.kind: each.reason for each in found.unchecked}


def choices(n: int = 300, m: int = 12, *, seed: int = 0) -> pl.DataFrame:
    """Answers of models of different strength to questions with five options, all read."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 5, n)
    knows = rng.random((m, n)) < 1 / (1 + np.exp(-(np.linspace(-0.7, 1.5, m)[:, None] + rng.normal(size=n))))
    chosen = np.where(knows, keys, (keys + rng.integers(1, 5, (m, n))) % 5)
    return scored(
        pl.DataFrame(
            {
                "item": [f"q{i:03d}" for _ in range(m) for i in range(n)],
                "model": [f"m{j:02d}" for j in range(m) for _ in range(n)],
                "answer": [LETTERS[k] for _ in range(m) for k in keys],
                "pred": [LETTERS[c] for row in chosen for c in row],
                "n_options": [5] * (n * m),
            }
        )
    )


def scored(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns((pl.col("pred") == pl.col("answer")).cast(pl.Float64).alias("score"))


def shifted(column: str) -> pl.Expr:
    """The next letter."""
    return pl.col(column).replace_strict(dict(zip(LETTERS, "BCDEA", strict=True)))


def test_a_sound_test_of_choices_has_no_finding():
    found = es.audit(read(choices()))
    assert [each.kind for each in found.findings] == []
    assert {"wrong keys", "guessed answers", "answer position", "agreement", "near-duplicate items"} <= set(
        found.passed
    )


def test_wrong_keys_are_found_with_the_option_that_strong_models_choose():
    wrong = ["q005", "q100", "q250"]
    frame = choices(400, 16, seed=1)
    strong = pl.col("item").is_in(wrong) & (pl.col("model") >= "m05")
    frame = scored(frame.with_columns(pl.when(strong).then(shifted("answer")).otherwise("pred").alias("pred")))
    found = finding(es.audit(read(frame)), "wrong keys")
    assert found.n_items == 3
    assert found.text.startswith("3 of 400 keys look wrong: strong models agree on another option, as on q")
    assert " of 16 say " in found.text
    assert sorted(found.examples) == wrong
    assert {each.treatment for each in found.shifts} == {
        "without these items",
        "scored by the option that strong models choose",
    }


def test_scoring_by_the_rival_is_scoring_by_the_corrected_keys():
    frame = choices(400, 16, seed=1)
    strong = (pl.col("item") == "q100") & (pl.col("model") >= "m05")
    frame = scored(frame.with_columns(pl.when(strong).then(shifted("answer")).otherwise("pred").alias("pred")))
    right = scored(
        frame.with_columns(
            pl.when(pl.col("item") == "q100").then(shifted("answer")).otherwise("answer").alias("answer")
        )
    )
    panel, corrected = panel_of(read(frame)), panel_of(read(right))
    (seen,) = [each for each in multiple_choice(panel) if isinstance(each, Observation)]
    rekeyed = seen.treatments[1]
    np.testing.assert_array_equal(panel.table(rekeyed), corrected.scores)


def test_without_answers_keys_are_judged_by_who_meets_them_and_few_models_are_refused():
    frame = clean(300, 24, seed=3, spread=2.5)
    turned = pl.when(pl.col("item") == "q017").then((pl.col("model").str.slice(1).cast(pl.Int64) < 12).cast(pl.Float64))
    found = finding(es.audit(read(frame.with_columns(turned.otherwise("score").alias("score")))), "wrong keys")
    assert "weak models match them" in found.text
    assert found.examples == ("q017",)
    few = unchecked(es.audit(read(clean(60, 5))))
    assert few["wrong keys"] == "8 models are needed, and there are 5"
    assert "answers behind the scores" in few["agreement"]
    assert "no single item of 500" in unchecked(es.audit(read(clean(500, 8, seed=2))))["wrong keys"]


def test_keys_that_changed_between_runs_are_told_apart():
    frame = choices(200, 8)
    changed = pl.col("item").is_in(["q001", "q002"]) & (pl.col("model") == "m07")
    frame = scored(frame.with_columns(pl.when(changed).then(shifted("answer")).otherwise("answer").alias("answer")))
    found = finding(es.audit(read(frame)), "versions")
    assert (found.n_items, found.examples) == (2, ("q001", "q002"))
    kept = answers_of(panel_of(read(frame)))
    assert kept is not None
    assert (kept.choices[1:3, 7] == -1).all()
    assert (kept.choices[1:3, :7] >= 0).all()


def test_unread_answers_are_counted_wrong_or_as_luck_and_blind_models_are_named():
    frame = choices(300, 6, seed=4)
    lost = (pl.col("model") == "m05") & (pl.col("item") < "q100")
    rng = np.random.default_rng(0)
    blind = pl.Series([LETTERS[k] for k in rng.integers(0, 5, frame.height)])
    frame = frame.with_columns(pl.when(pl.col("model") == "m00").then(blind).otherwise("pred").alias("pred"))
    frame = scored(frame.with_columns(pl.when(lost).then(None).otherwise("pred").alias("pred")))
    found = es.audit(read(frame))
    unread, random = [each for each in found.findings if each.kind == "guessed answers"]
    assert unread.text.startswith("100 of 1,800 answers could not be read, 33% of m05's")
    assert "would add 6.7 points" in unread.text  # a third of the answers, a fifth of them right
    assert {each.treatment for each in unread.shifts} == {"counted as wrong", "with the chance of a random pick"}
    assert random.models == ("m00",)
    assert random.text.startswith("No better than a random pick: m00 (")
    assert "chance 20.0%" in random.text


def test_runs_without_an_unread_answer_stand_out_among_many_that_have_some():
    frame = choices(600, 5, seed=5)
    rng = np.random.default_rng(1)
    lost = (pl.col("model") != "m02") & pl.Series(rng.random(frame.height) < 0.15)
    found = es.audit(read(scored(frame.with_columns(pl.when(lost).then(None).otherwise("pred").alias("pred")))))
    (told,) = [each for each in found.findings if "no unread answer" in each.text]
    assert told.models == ("m02",)


def test_a_favourite_position_and_a_copied_model_are_described():
    frame = choices(500, 8, seed=6)
    rng = np.random.default_rng(2)
    favoured = (pl.col("model") == "m01") & (pl.col("score") == 0) & pl.Series(rng.random(frame.height) < 0.5)
    frame = scored(frame.with_columns(pl.when(favoured).then(pl.lit("C")).otherwise("pred").alias("pred")))
    copied = frame.filter(pl.col("model") == "m03").with_columns(model=pl.lit("m04"))
    frame = pl.concat([frame.filter(pl.col("model") != "m04"), copied])
    found = es.audit(read(frame))
    position = finding(found, "answer position")
    assert position.models == ("m01",)
    assert "m01 says C" in position.text
    alike = finding(found, "agreement")
    assert alike.models == ("m03", "m04")
    assert "same wrong answer on 100%" in alike.text
    assert "Consistent with" in written(alike.remedy)


def test_answers_must_be_what_the_scores_say():
    frame = choices(100, 4)
    assert answers_of(panel_of(read(frame))) is not None
    rng = np.random.default_rng(0)
    other = frame.with_columns(score=pl.Series(rng.integers(0, 2, frame.height).astype(float)))
    assert answers_of(panel_of(read(other))) is None
    assert answers_of(panel_of(read(frame.drop("answer")))) is None
    free = frame.with_columns(pred=pl.format("text {}", pl.int_range(pl.len())))
    assert answers_of(panel_of(read(free.with_columns(pl.lit(0.0).alias("score"))))) is None
    shuffled = answers_of(panel_of(read(frame.sample(fraction=1.0, shuffle=True, seed=1))))
    kept = answers_of(panel_of(read(frame)))
    assert shuffled is not None
    assert kept is not None
    np.testing.assert_array_equal(shuffled.choices, kept.choices)
    assert kept.labels == tuple(LETTERS)


def test_numbers_of_options_are_positions_from_0_or_1():
    frame = choices(100, 4)
    for first in (0, 1):
        digits = {letter: str(place + first) for place, letter in enumerate(LETTERS)}
        found = answers_of(
            panel_of(read(frame.with_columns(pl.col(name).replace_strict(digits) for name in ("pred", "answer"))))
        )
        kept = answers_of(panel_of(read(frame)))
        assert found is not None
        assert kept is not None
        assert found.ordered
        np.testing.assert_array_equal(found.choices, kept.choices)


def test_items_that_tell_nothing_are_counted():
    frame = clean(200, 8, seed=7)
    easy, hard = pl.col("item") < "q090", pl.col("item") >= "q170"
    frame = frame.with_columns(pl.when(easy).then(1.0).when(hard).then(0.0).otherwise("score").alias("score"))
    panel = panel_of(read(frame))
    saturated, unsolvable = (each for each in uninformative_items(panel) if isinstance(each, Observation))
    tied = [len(set(row)) == 1 for row in panel.scores]
    assert saturated.n_items == sum(tied)
    assert saturated.text.startswith(f"{200 - sum(tied):,} of 200 items tell models apart")
    assert unsolvable.n_items == int((panel.scores.max(axis=1) == 0).sum())
    assert all(isinstance(each, NotChecked) for each in uninformative_items(panel_of(read(clean(50, 2)))))


def test_a_metric_where_low_is_good_turns_right_and_wrong():
    frame = clean(100, 8, seed=8).with_columns(
        pl.when(pl.col("item") < "q060").then(0.0).otherwise("score").alias("score")
    )
    data = es.from_frame(frame, item="item", model="model", score="score", benchmark="@planted", higher_is_better=False)
    seen = [each for each in uninformative_items(panel_of(data)) if isinstance(each, Observation)]
    assert [each.kind for each in seen] == ["saturated items"]


def test_copies_are_found_by_text_and_by_graded_scores():
    frame = clean(100, 3, seed=9)
    text = pl.format("What is the meaning of {}?", pl.col("item"))
    copied = pl.when(pl.col("item") == "q001").then(pl.lit("What is the meaning of q000?")).otherwise(text)
    (told,) = near_duplicates(panel_of(read(frame.with_columns(copied.alias("question")))))
    assert isinstance(told, Observation)
    assert told.text == "2 of 100 items share a question with another (1 in all)"
    assert told.examples == ("q000, q001",)
    codes = told.treatments[0].clusters
    assert codes is not None
    assert np.unique(codes).size == 99
    assert codes[0] == codes[1]
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.normal(50, 10, (20, 3)).round(2), 3, axis=0)
    graded = pl.DataFrame(
        {
            "item": [f"q{i:02d}" for i in range(60)] * 3,
            "model": ["a"] * 60 + ["b"] * 60 + ["c"] * 60,
            "score": scores.T.ravel(),
        }
    )
    (told,) = near_duplicates(panel_of(read(graded)))
    assert isinstance(told, Observation)
    assert told.text.startswith("60 items have only 20 different rows of scores, where about ")
    assert told.treatments[0].clusters is not None


def test_a_second_metric_without_any_score_is_passed_over():
    rows = clean(60, 3, seed=9).with_columns(pl.lit("correct").alias("metric"))
    unscored = rows.with_columns(pl.lit(None, pl.Float64).alias("score"), pl.lit("perplexity").alias("metric"))
    columns = {"item": "item", "model": "model", "score": "score", "metric": "metric"}
    found = es.audit(es.from_frame(pl.concat([rows, unscored]), **columns), metric="correct")
    assert [each.metric for each in found.metrics] == ["correct"]


def grouped(seed: int, spread: float, n_groups: int = 12) -> pl.DataFrame:
    """Two models whose difference goes by passage with this spread."""
    rng = np.random.default_rng(seed)
    passage = np.repeat(np.arange(n_groups), 12)
    effect = rng.normal(0, spread, n_groups)[passage]
    n = passage.size
    return pl.DataFrame(
        {
            "item": [f"q{i:03d}" for i in range(n)] * 2,
            "model": ["a"] * n + ["b"] * n,
            "score": np.concatenate([rng.normal(0, 1, n), rng.normal(0, 1, n) + effect + 0.3]),
            "chapter": [f"c{p}" for p in passage] * 2,
        }
    )


def test_dependence_by_a_factor_is_a_treatment_by_clusters():
    found = es.audit(read(grouped(1, 1.5)))
    told = finding(found, "dependence")
    assert told.text.startswith("Differences between models go by chapter (12 levels, design effect ")
    assert written(told.remedy) == "If these 12 chapters are all you ask about, add cluster='none'"
    (shift,) = told.shifts
    assert shift.treatment == "clustered by chapter"
    compared = es.compare(read(grouped(1, 1.5)), "a", "b", cluster="chapter")
    flip = shift.flips[0]
    assert abs(flip.after.estimate or 0) == pytest.approx(abs(compared.estimate or 0))
    assert flip.after.std_error == pytest.approx(compared.std_error, rel=0.02)
    named = es.audit(read(grouped(1, 1.5)), cluster="chapter")
    assert "dependence" not in {each.kind for each in named.findings}


def test_clusters_too_few_to_decide_anything_are_told_and_not_tried():
    told = finding(es.audit(read(grouped(3, 2.0, 5).filter(pl.col("item") > "q007"))), "dependence")
    assert told.effect == "open"
    assert "chapter (5 levels" in told.text


def test_unrelated_groups_are_no_finding():
    alarms = 0
    for seed in range(16):
        panel = panel_of(read(grouped(seed, 0.0)))
        alarms += any(isinstance(each, Observation) for each in groups_and_drift(panel))
    assert alarms / 16 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 16)


def test_a_run_that_breaks_off_is_told_with_its_place():
    frame = clean(600, 4, seed=10)
    rng = np.random.default_rng(3)
    order = rng.permutation(600)
    frame = frame.with_columns(place=pl.Series(np.tile(order, 4))).sort("model", "place")
    broken = (pl.col("model") == "m3") & (pl.col("place") >= 400) & pl.Series(rng.random(frame.height) < 0.6)
    frame = frame.with_columns(pl.when(broken).then(0.0).otherwise("score").alias("score")).drop("place")
    told = finding(es.audit(read(frame)), "drift")
    assert told.models == ("m3",)
    share = told.shifts[0].treatment.removeprefix("without what m3 did after the first ").rstrip("%")
    assert 57 <= float(share) <= 77
    days = pl.lit("2026-01-01").str.to_datetime(time_zone="UTC") + pl.duration(seconds=pl.int_range(pl.len()))
    timed = frame.with_columns(days.alias("timestamp")).sample(fraction=1.0, shuffle=True, seed=2)
    assert finding(es.audit(read(timed)), "drift").models == ("m3",)
    untimed = frame.sample(fraction=1.0, shuffle=True, seed=2)
    assert "drift" not in {each.kind for each in es.audit(read(untimed)).findings}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "choices"])
def test_clean_tables_have_few_findings(kind: str):
    """Share of 200 clean tables with any finding of a test: five of them, each at most 5%."""
    tests = ("wrong keys", "near-duplicate items", "dependence", "drift", "answer position", "agreement")
    counts = dict.fromkeys(tests, 0)
    for seed in range(200):
        frame = clean(150, 9, seed=seed) if kind == "scores" else choices(150, 9, seed=seed)
        for each in {each.kind for each in es.audit(read(frame)).findings} & set(tests):
            counts[each] += 1
    assert {name: n for name, n in counts.items() if n / 200 > 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)} == {}


def test_mmlu_pro_has_keys_that_were_changed_and_answers_that_were_not_read(shared_data):
    frame = pl.read_parquet(shared_data / "mmlu_pro" / "predictions_long.parquet")
    data = es.from_frame(frame, item="question_id", score="correct", model="model", benchmark="@MMLU-Pro")
    panel = panel_of(data)
    seen = [each for each in multiple_choice(panel) if isinstance(each, Observation)]
    keys = frame.group_by("question_id").agg(pl.col("answer").n_unique().alias("n"))
    versions = next(each for each in seen if each.kind == "versions")
    assert versions.n_items == keys.filter(pl.col("n") > 1).height == 33
    unread = next(each for each in seen if each.kind == "guessed answers")
    assert unread.n_rows == frame["pred"].null_count() == 32_697
    assert next(each for each in seen if each.kind == "wrong keys").n_items == 286


def test_tasks_that_follow_one_another_are_no_drift():
    """A model that is weak at the last two tasks of a file, of 30 items each after 600, has not changed on the way."""
    rng = np.random.default_rng(21)
    place = np.repeat([0, 1, 2], [600, 30, 30])
    gain = {"A": (0.0, 0.0, 0.0), "B": (0.6, -2.2, -2.0), "C": (0.3, 0.0, 0.2)}
    hard = rng.normal(size=place.size)
    frame = pl.DataFrame(
        {
            "item": [f"q{k}" for k in range(place.size)] * 3,
            "task": [f"t{k}" for k in place] * 3,
            "model": np.repeat(list(gain), place.size),
            "score": np.concatenate(
                [rng.random(place.size) < 1 / (1 + np.exp(-hard - np.array(own)[place])) for own in gain.values()]
            ).astype(float),
        }
    )
    found = es.audit(read(frame))
    assert not [each for each in found.findings if each.kind == "drift"]
