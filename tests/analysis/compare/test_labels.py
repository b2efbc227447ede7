"""A comparison by a judge, corrected by people's labels: against the definition, by properties, and what it refuses."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import powered_mean

N, LABELLED = 400, 90


def world(seed: int = 3, scores: str = "binary") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two equal models; the judge passes a third of the candidate's failures."""
    rng = np.random.default_rng(seed)
    if scores == "binary":
        truth = (rng.random((N, 2)) < 0.6).astype(float)
        judge = (rng.random((N, 2)) < np.where(truth == 1, (0.9, 0.95), (0.1, 0.35))).astype(float)
    else:
        truth = np.clip(np.round(rng.normal(6, 1.5, (N, 2))), 1, 10)
        judge = np.clip(np.round(truth + rng.normal((0.0, 0.6), 1.0, (N, 2))), 1, 10)
    names = ("old", "new")
    rows = [
        {"item": f"q{i}", "model": name, "score": judge[i, side]} for side, name in enumerate(names) for i in range(N)
    ]
    chosen = rng.choice(N, LABELLED, replace=False)
    labels = [
        {"item": f"q{i}", "model": name, "value": truth[i, side]} for side, name in enumerate(names) for i in chosen
    ]
    return pl.DataFrame(rows), pl.DataFrame(labels)


def arrays(rows: pl.DataFrame, labels: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return judge's and people's differences by item, NaN where nobody labelled: the slow obvious way."""
    items = rows["item"].unique().sort().to_list()
    held = {(item, model): value for item, model, value in rows.select("item", "model", "score").rows()}
    known = {(item, model): value for item, model, value in labels.select("item", "model", "value").rows()}
    judge = np.array([held[item, "new"] - held[item, "old"] for item in items])
    people = [known.get((item, "new"), np.nan) - known.get((item, "old"), np.nan) for item in items]
    return judge, np.array(people)


def test_the_difference_is_the_prediction_powered_one_of_items():
    rows, labels = world()
    found = es.compare(rows, "old", "new", labels=labels)
    f, d = arrays(rows, labels)
    both = np.isfinite(d)
    expected = powered_mean(f[~both], f[both], d[both], pseudo=0.5)
    by_hand = expected.tuning * f[~both].mean() + (d[both] - expected.tuning * f[both]).mean()
    assert found.estimate == pytest.approx(by_hand, abs=1e-12)
    assert (found.conf_low, found.conf_high) == pytest.approx((expected.estimate.conf_low, expected.estimate.conf_high))
    assert found.labels.judged.estimate == pytest.approx(f.mean())
    assert found.labels.labels_only.estimate == pytest.approx(d[both].mean())
    assert found.labels.estimate == pytest.approx((f[both] - d[both]).mean())
    assert (found.labels.n_labels, found.labels.n_judged) == (LABELLED, N)


@pytest.mark.parametrize("scores", ["binary", "graded"])
def test_the_two_scores_are_corrected_and_add_up_with_the_difference(scores):
    rows, labels = world(scores=scores)
    found = es.compare(rows, "old", "new", labels=labels)
    assert found.candidate.estimate - found.baseline.estimate == pytest.approx(found.estimate, abs=1e-12)
    judged = es.compare(rows, "old", "new")
    for side, plain in ((found.baseline, judged.baseline), (found.candidate, judged.candidate)):
        assert side.labels.judged.estimate == pytest.approx(plain.estimate)
        assert side.conf_high - side.conf_low > plain.conf_high - plain.conf_low
    section = next(each for each in found.document().evidence if each.id == "scores")
    assert section.heading.startswith("Each side on its own, corrected: ")


def test_labels_where_two_of_three_systems_differ_are_refused_by_all_questions_alike():
    """Once `score` took them, which looked at one system alone; so did a comparison with the third."""
    rows, _ = world()
    third = rows.filter(model="old").with_columns(
        model=pl.lit("third"), score=pl.Series(np.random.default_rng(9).integers(0, 2, N).astype(float))
    )
    data = pl.concat([rows, third])
    wide = rows.pivot("model", index="item", values="score")
    apart = wide.with_columns(apart=pl.col("old") != pl.col("new")).sort("apart", descending=True)["item"][:LABELLED]
    labels = data.filter(pl.col("item").is_in(apart.to_list())).rename({"score": "value"})
    for ask in (
        lambda: es.score(data, "new", labels=labels),
        lambda: es.score(data, "third", labels=labels),
        lambda: es.compare(data, "old", "new", labels=labels),
        lambda: es.compare(data, "old", "third", labels=labels),
        lambda: es.leaderboard(data, labels=labels),
    ):
        with pytest.raises(CannotAnswerError, match="the judge sets two systems far apart on 100% of them"):
            ask()


@pytest.mark.parametrize("name", ["item", "task", "score", "level"])
def test_a_system_may_have_the_name_of_a_column(name):
    rows, labels = world()
    called = {"model": pl.col("model").replace({"new": name})}
    found = es.compare(rows.with_columns(**called), "old", name, labels=labels.with_columns(**called))
    assert found.estimate == pytest.approx(es.compare(rows, "old", "new", labels=labels).estimate)


def test_a_judge_that_favours_a_side_is_found_and_undone():
    rows, labels = world()
    naive, found = es.compare(rows, "old", "new"), es.compare(rows, "old", "new", labels=labels)
    assert naive.verdict == "better"
    assert found.verdict == "inconclusive"
    told = [note.text for note in found.notes if note.kind == "trust"]
    assert any("favours new" in text for text in told)
    assert "the judge alone says" in found.summary()
    assert found.labels.by_errors.estimate == pytest.approx(found.estimate, abs=0.06)


def test_graded_scores_have_no_error_rates():
    rows, labels = world(scores="graded")
    found = es.compare(rows, "old", "new", labels=labels)
    assert found.labels.by_errors is None
    assert found.labels.judged.estimate > 0.35
    assert abs(found.estimate) < 0.5


def test_swapping_sides_flips_the_sign_and_shuffling_moves_nothing():
    rows, labels = world()
    one = es.compare(rows, "old", "new", labels=labels)
    other = es.compare(rows, "new", "old", labels=labels)
    assert (-other.estimate, -other.conf_high, -other.labels.estimate) == pytest.approx(
        (one.estimate, one.conf_low, one.labels.estimate)
    )
    mixed = es.compare(
        rows.sample(fraction=1, shuffle=True, seed=1),
        "old",
        "new",
        labels=labels.sample(fraction=1, shuffle=True, seed=2),
    )
    assert (mixed.estimate, mixed.conf_low, mixed.p_value) == pytest.approx((one.estimate, one.conf_low, one.p_value))


def test_a_wide_table_and_ratings_say_the_same():
    rows, labels = world()
    one = es.compare(rows, "old", "new", labels=labels)
    wide = labels.pivot("model", index="item", values="value")
    ratings = es.from_ratings(labels.with_columns(rater=pl.lit("ann")), humans="ann", model="model")
    for each in (wide, ratings, labels.to_pandas()):
        again = es.compare(rows, "old", "new", labels=each)
        assert (again.estimate, again.conf_low) == pytest.approx((one.estimate, one.conf_low))
    assert es.compare(rows, "old", "new", labels=ratings).labels.people == ("ann",)


def test_several_people_are_averaged_and_judges_among_them_left_aside():
    rows, labels = world()
    ann = labels.with_columns(rater=pl.lit("ann"), rater_kind=pl.lit("human"))
    ben = ann.with_columns(rater=pl.lit("ben"), value=1 - pl.col("value"))
    bot = ann.with_columns(rater=pl.lit("bot"), rater_kind=pl.lit("judge"), value=pl.lit(1.0))
    alone = es.compare(rows, "old", "new", labels=pl.concat([ann, bot]))
    assert alone.estimate == pytest.approx(es.compare(rows, "old", "new", labels=labels).estimate)
    halves = es.compare(rows, "old", "new", labels=pl.concat([ann, ben, bot]))
    assert halves.labels.labels_only.estimate == pytest.approx(0.0)


def test_the_margin_is_tested_by_the_corrected_interval():
    rows, labels = world()
    found = es.compare(rows, "old", "new", labels=labels, margin="40pp")
    assert found.verdict == "equivalent"
    assert found.at_margin.noninferior
    assert found.conf_low < found.equivalence_low < found.equivalence_high < found.conf_high
    tight = es.compare(rows, "old", "new", labels=labels, margin="12pp")
    assert tight.verdict == "powerless"
    assert tight.labels.labels_for_margin is None or tight.labels.labels_for_margin > LABELLED


def test_clusters_widen_and_two_are_refused():
    rows, labels = world()
    group = pl.col("item").str.strip_prefix("q").cast(pl.Int64)
    passed = pl.when(group % 20 < 6).then(1.0).otherwise(pl.col("score"))
    rows = rows.with_columns(topic=(group % 20).cast(pl.String), half=(group % 16).cast(pl.String), score=passed)
    found = es.compare(rows, "old", "new", labels=labels, cluster="topic")
    assert found.n_clusters == 20
    with pytest.raises(InputError, match="one cluster column"):
        es.compare(rows, "old", "new", labels=labels, cluster=["topic", "half"])


def test_known_chances_undo_labels_of_odd_items():
    rng = np.random.default_rng(8)
    corrected, naive, refused = [], [], 0
    for seed in range(7):
        rows, _ = world(seed)
        n = N
        truth = (rng.random((n, 2)) < (0.5, 0.6)).astype(float)
        judge = np.where(rng.random((n, 2)) < 0.85, truth, 1 - truth)
        chance = np.where(judge[:, 1] > judge[:, 0], 0.6, 0.15)
        chosen = np.flatnonzero(rng.random(n) < chance)
        rows = rows.with_columns(score=pl.Series(np.concatenate((judge[:, 0], judge[:, 1]))))
        labels = pl.DataFrame(
            {
                "item": [f"q{i}" for i in chosen],
                "old": truth[chosen, 0],
                "new": truth[chosen, 1],
                "label_prob": chance[chosen],
            }
        )
        corrected.append(es.compare(rows, "old", "new", labels=labels).estimate)
        naive.append((truth[chosen, 1] - truth[chosen, 0]).mean())
        try:
            es.compare(rows, "old", "new", labels=labels.drop("label_prob"))
        except CannotAnswerError as error:
            refused += "not a random sample" in str(error)
    # The standard error of one is near 0.05, that of a mean of seven near 0.019.
    assert np.mean(corrected) == pytest.approx(0.1, abs=0.06)
    assert np.mean(naive) > 0.17
    assert refused == 7


def test_it_is_saved_and_written_in_every_form(tmp_path):
    rows, labels = world()
    found = es.compare(rows, "old", "new", labels=labels)
    found.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == found
    assert "Labels alone" in found.to_markdown("labels")
    assert "Angelopoulos" in found.explain()
    assert found.figure() is not None
    roles = found.to_frame()["role"].to_list()
    assert roles[0] == "headline"
    assert roles.count("headline") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.with_columns(item=pl.lit("x") + pl.col("item")), "no label is for an item"),
        (lambda t: t.with_columns(model=pl.lit("other")), "expected labels of both 'old', 'new'"),
        (lambda t: t.filter(model="old"), "expected labels of both"),
        (lambda t: t.with_columns(value=pl.col("value") * 5), "on its scale"),
        (lambda t: t.with_columns(value=pl.lit("good")), "words"),
        (lambda t: t.with_columns(value=pl.lit(None, pl.Float64), label=pl.lit("good")), "column label are words"),
        (lambda t: t.with_columns(value=pl.lit(None, pl.Float64)), "column value of the labels is empty"),
        (lambda t: t.with_columns(value=pl.lit(float("inf"))), "infinite"),
        (lambda t: t.drop("value"), "expected item, model and value"),
        (lambda t: pl.concat([t, t]).with_columns(rater=pl.lit("ann")), "labels repeat"),
        (lambda t: t.with_columns(label_prob=pl.lit(0.0)), "above 0"),
        (lambda t: t.with_columns(rater_kind=pl.lit("judge")), "all raters of the labels are judges"),
        (lambda t: t.with_columns(criterion=pl.Series(["a", "b"] * LABELLED)), "several criteria"),
    ],
)
def test_labels_that_cannot_be_used_say_why(change, words):
    rows, labels = world()
    with pytest.raises(InputError, match=words):
        es.compare(rows, "old", "new", labels=change(labels))


def test_what_labels_cannot_answer():
    rows, labels = world()
    few = labels.filter(pl.col("item").is_in(labels["item"].unique().sort().to_list()[:19]))
    with pytest.raises(CannotAnswerError, match="19 items have labels for both sides"):
        es.compare(rows, "old", "new", labels=few)
    all_of_them = rows.rename({"score": "value"})
    with pytest.raises(CannotAnswerError, match="compare the labels themselves"):
        es.compare(rows, "old", "new", labels=all_of_them)
    for option in ({"by": "item"}, {"sequential": True}, {"method": "t"}, {"pass_hat": 2}):
        with pytest.raises(InputError, match="leave out"):
            es.compare(rows, "old", "new", labels=labels, **option)


def test_items_without_a_pair_are_told():
    rows, labels = world()
    odd = pl.concat([labels, pl.DataFrame({"item": ["zz", "zz"], "model": ["old", "new"], "value": [1.0, 0.0]})])
    found = es.compare(rows, "old", "new", labels=odd)
    assert any("1 of 91 labelled items" in note.text for note in found.notes)
    one_side = labels.filter(~((pl.col("model") == "old") & (pl.col("item") == labels["item"][0])))
    found = es.compare(rows, "old", "new", labels=one_side)
    assert found.labels.n_labels == LABELLED - 1
    assert any("one side alone" in note.text for note in found.notes)
