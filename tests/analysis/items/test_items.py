"""The items of a benchmark: curves and short form of a table, new models, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

import evalstats as es
from evalstats.stats import item_fit
from evalstats.stats.item_response import two_parameter
from evalstats.stats.short_form import chosen_items, form_errors, predicted_scores

N_ITEMS, N_MODELS = 120, 24


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fiftieth of the draws behind the smallest p-values: 1 in 2,000 is small enough among these items."""
    monkeypatch.setattr(item_fit, "_DRAWS", (199, 1_999))


@cache
def answers() -> np.ndarray:
    rng = np.random.default_rng(11)
    slope = rng.lognormal(0, 0.4, N_ITEMS)
    slope[5] = -2.0
    logit = np.outer(slope, rng.normal(size=N_MODELS + 1)) + rng.normal(0, 1.2, N_ITEMS)[:, None]
    return (rng.random(logit.shape) < special.expit(logit)).astype(float)


def table(right: np.ndarray, models: range) -> es.EvalData:
    rows = [
        {"item": f"q{i:03d}", "model": f"m{m:02d}", "score": int(right[i, m])}
        for m in models
        for i in range(len(right))
        if not np.isnan(right[i, m])
    ]
    return es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")


@cache
def report() -> es.ItemReport:
    return es.items(table(answers(), range(N_MODELS)), size=20)


def test_the_curves_are_those_of_the_table() -> None:
    old = answers()[:, :N_MODELS]
    curves, found = two_parameter(old), report()
    assert [row.slope for row in found.rows] == pytest.approx(curves.slope.tolist(), abs=1e-4)
    assert [row.share for row in found.rows] == pytest.approx(old.mean(axis=1).tolist())
    assert {row.item for row in found.rows if row.chosen} == {f"q{i:03d}" for i in chosen_items(curves, 20)}
    assert found.models[0].score == max(row.score for row in found.models)


def test_the_error_is_that_of_models_left_out() -> None:
    old = answers()[:, :N_MODELS]
    # From the same start: a tie between two items may else fall to the other.
    (expected,) = form_errors(old, [20], curves=two_parameter(old))
    form = report().form
    assert form is not None
    assert form.estimate == pytest.approx(expected.score_error, abs=1e-4)
    assert form.conf_low is not None
    assert form.conf_high is not None
    assert form.conf_low < form.estimate < form.conf_high
    # So many random items have the same error, by the formula of a mean of a part of all.
    spread = form.random_error**2 * 20 / (1 - 20 / N_ITEMS)
    alike = (spread / form.random_size * (1 - form.random_size / N_ITEMS)) ** 0.5
    assert alike == pytest.approx(form.estimate, rel=0.02)  # a whole number of items


def test_an_item_with_a_wrong_key_is_named() -> None:
    found = report()
    assert [row.item for row in found.rows if row.reversed] == ["q005"]
    assert found.document().section("reversed") is not None


def test_a_new_model_is_told_from_the_chosen_items_alone() -> None:
    found, new = report(), answers().copy()
    chosen = np.array([row.chosen for row in found.rows])
    told = found.predicted(table(new, range(N_MODELS, N_MODELS + 1)))["m24"]
    new[~chosen] = np.nan
    assert found.predicted(table(new, range(N_MODELS, N_MODELS + 1)))["m24"] == told
    assert told.conf_low is not None
    assert told.conf_high is not None
    assert told.conf_low <= answers()[:, N_MODELS].mean() <= told.conf_high
    new[np.flatnonzero(chosen)[0]] = np.nan
    with pytest.raises(es.InputError, match="all 20 items"):
        found.predicted(table(new, range(N_MODELS, N_MODELS + 1)))


def test_random_items_with_an_archive_hold_the_score() -> None:
    """Over random parts the estimate is unbiased and its 95% interval holds the score on all items, more often than not less."""
    found, rng, new = report(), np.random.default_rng(12), answers()[:, N_MODELS:]
    parts, errors, held = np.full((N_ITEMS, 150), np.nan), [], []
    for part in parts.T:
        drawn = rng.choice(N_ITEMS, 40, replace=False)
        part[drawn] = new[drawn, 0]
    for told in found.estimated(table(parts, range(150))).values():
        assert None not in (told.estimate, told.conf_low, told.conf_high)
        errors.append(told.estimate - new.mean())
        held.append(told.conf_low <= new.mean() <= told.conf_high)
    plain = np.nanmean(parts, axis=0) - new.mean()
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(150) + 0.005
    assert np.std(errors) < np.std(plain)
    assert np.mean(held) >= 0.91  # 2.5 standard errors of 150 draws below 95%


def test_answers_to_another_benchmark_do_not_count() -> None:
    new, found = answers()[:, N_MODELS], report()
    rows = [
        {"benchmark": name, "item": f"q{i:03d}", "model": "m24", "score": int(value)}
        for name, values in (("table", new), ("other", 1 - new))
        for i, value in enumerate(values)
    ]
    both, other = es.from_frame(pl.DataFrame(rows)), es.from_frame(pl.DataFrame(rows[len(new) :]))
    alone = table(answers(), range(N_MODELS, N_MODELS + 1))
    assert found.predicted(both) == found.predicted(alone)
    assert found.estimated(both) == found.estimated(alone)
    with pytest.raises(es.InputError, match="among the answers"):
        found.predicted(other)


def test_trials_of_a_new_model_count_as_those_of_the_old() -> None:
    found, new = report(), answers()[:, N_MODELS]
    again = np.stack([new, new, 1 - new])
    rows = [
        {"item": f"q{i:03d}", "model": "m24", "trial": t, "score": int(again[t, i])}
        for t in range(3)
        for i in range(len(new))
    ]
    told = found.predicted(es.from_frame(pl.DataFrame(rows)))["m24"]
    form = np.flatnonzero([row.chosen for row in found.rows])
    right = again.sum(axis=0)[form, None]
    expected = predicted_scores(found.curves(), form, right, np.full(right.shape, 3.0))
    assert told.estimate == pytest.approx(expected[0], rel=1e-12)


def test_all_items_are_the_score_and_few_no_estimate_of_it() -> None:
    found, new = report(), answers()[:, : N_MODELS + 1].copy()
    whole = found.estimated(table(new, range(N_MODELS, N_MODELS + 1)))["m24"]
    assert (whole.conf_low, whole.estimate, whole.conf_high) == (None, new[:, -1].mean(), None)
    assert whole.reason
    new[7:, -1] = np.nan
    with pytest.raises(es.CannotAnswerError, match="'m24' answered 7 of 120 items; at least 20"):
        found.estimated(table(new, range(N_MODELS, N_MODELS + 1)))


def test_a_form_no_better_than_random_items_is_not_advised() -> None:
    """All models solve all items: any one item says as much."""
    found = es.items(table(np.ones((60, 12)), range(12)), size=1)
    form, told = found.form, found.document()
    assert form is not None
    assert form.random_size == 1
    assert (told.tone, told.label) == ("caution", "no gain")
    assert told.headline == "1 chosen item tells a new model's score no better than random ones"
    assert told.actions == ()


def test_a_saved_report_predicts_the_same(tmp_path: Path) -> None:
    found = report()
    found.save(tmp_path / "items.json")
    again = es.load_result(tmp_path / "items.json")
    assert isinstance(again, es.ItemReport)
    new = table(answers(), range(N_MODELS, N_MODELS + 1))
    assert again.predicted(new) == found.predicted(new)


@cache
def families() -> es.EvalData:
    """60 models of three makers: the first knows eight hard items by heart; two items the strongest models fail."""
    rng = np.random.default_rng(3)
    ability, maker = rng.normal(size=60), np.repeat(["Alpha", "Beta", "Gamma"], [15, 20, 25])
    logit = np.outer(rng.lognormal(0, 0.3, 120), ability) + rng.normal(0.3, 1.3, 120)[:, None]
    logit[3] = logit[40] = 2.5 - 3 * ability**2
    logit[20:28] -= 2
    logit[20:28, maker == "Alpha"] += 7
    right = rng.random(logit.shape) < special.expit(logit)
    rows = [
        {"item": f"q{i:03d}", "model": f"m{m:02d}", "maker": str(maker[m]), "score": int(right[i, m])}
        for m in range(60)
        for i in range(120)
    ]
    return es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")


@cache
def of_families() -> es.ItemReport:
    return es.items(families(), size=20, family="maker")


def test_items_that_no_curve_fits_are_named_and_drawn() -> None:
    found = of_families()
    assert {row.item for row in found.rows if row.misfit} >= {"q003", "q040"}
    assert sum(row.misfit for row in found.rows) <= 3
    assert all(row.bend is not None and row.bend < 0 for row in found.rows if row.item in ("q003", "q040"))
    section = found.document().section("misfit")
    assert section is not None
    assert section.heading.endswith("no curve fits")
    assert "item-curves" in found.document().figures
    assert found.item_curves("q003", "q050").axes
    with pytest.raises(es.InputError, match="no item 'q9'"):
        found.item_curves("q9")


def test_the_shares_drawn_are_those_of_the_models() -> None:
    found, outcomes = of_families(), families().outcomes
    weakest = [row.name for row in sorted(found.models, key=lambda row: row.ability)][: found.groups[0].n_models]
    own = outcomes.filter(pl.col("model").is_in(weakest), item="q003")["score"]
    (row,) = (row for row in found.rows if row.item == "q003")
    assert row.group_shares[0] == pytest.approx(own.mean())
    assert sum(group.n_models for group in found.groups) == found.n_models
    # A band for each item, and a dot for each group.
    figure = found.curve_figure([row])
    assert len(figure.options["marks"]["x"]) == len(found.groups)
    assert min(row for row in figure.rows["conf_low"] if isinstance(row, float)) >= 0


def test_items_that_a_family_knows_are_named() -> None:
    found = of_families()
    known = {f"q{i:03d}" for i in range(20, 28)}
    named = [row for row in found.family_items if row.family == "Alpha" and row.share > row.expected]
    assert len({row.item for row in named} & known) >= 5
    assert len({row.item for row in found.family_items} - known) <= 1
    (alpha, *others) = sorted(found.families, key=lambda row: row.name)
    assert (alpha.name, alpha.models, alpha.n_more) == ("Alpha", 15, len(named))
    assert [row.models for row in others] == [20, 25]
    document = found.document()
    section = document.section("families")
    assert section is not None
    assert section.heading == f"Alpha solves {len(named)} items more often than its ability explains"
    assert f"{section.heading}." in found.summary()
    assert any("contamination" in action for action in document.actions)


def test_families_by_name_are_those_of_a_column() -> None:
    some = families().where(item=[f"q{i:03d}" for i in range(16, 36)])
    makers = dict(some.outcomes.select("model", "maker").unique().iter_rows())
    by_column, by_name = (es.items(some, size=10, family=family) for family in ("maker", makers))
    assert by_name.family_items == by_column.family_items
    assert by_column.family_items


@pytest.mark.parametrize(
    ("family", "error", "words"),
    [
        ({"m00": "A"}, es.CannotAnswerError, "at least 5 models; A has 1 of 60"),
        ({"nobody": "A"}, es.InputError, "'nobody', which is no system"),
        ("nowhere", es.InputError, "no column 'nowhere'"),
        ("item", es.InputError, "has 120 levels of 'item'"),
        ({f"m{m:02d}": "all" for m in range(58)}, es.CannotAnswerError, "all has 58 of 60"),
    ],
)
def test_families_that_cannot_be_tested(family: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        es.items(families(), family=family)


def test_curves_of_one_slope() -> None:
    found = es.items(table(answers(), range(N_MODELS)), size=20, irt="1pl")
    assert len({row.slope for row in found.rows}) == 1
    assert sum(row.chosen for row in found.rows) == 20
    assert "with one slope" in found.method
    assert "the slope that they share" in found.explain()


def test_few_models_say_nothing_of_fit() -> None:
    found = es.items(_rows(n_models=12), size=10)
    assert found.fit_reason == "whether curves fit takes at least 20 models; with the 12 found no misfit would show"
    assert all(row.bend is None and not row.misfit for row in found.rows)
    assert "Whether curves fit takes at least 20 models" in found.to_markdown()


def test_new_models_have_scores_by_what_they_answered(tmp_path: Path) -> None:
    """The short form and no more: predicted. A part: estimated. Too few: a reason. All: known."""
    new, rng = answers()[:, N_MODELS], np.random.default_rng(1)
    chosen = np.array([row.chosen for row in report().rows])
    parts = {
        "form": chosen,
        "part": np.isin(np.arange(N_ITEMS), rng.choice(N_ITEMS, 50, replace=False)),
        "few": np.arange(N_ITEMS) < 7,
        "whole": np.ones(N_ITEMS, dtype=bool),
    }
    rows = [
        {"item": f"q{i:03d}", "model": name, "score": int(new[i])}
        for name, part in parts.items()
        for i in np.flatnonzero(part)
    ]
    some = es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")
    found = es.items(table(answers(), range(N_MODELS)), size=20, new=some)
    of = {row.name: row for row in found.new}
    assert of["form"].estimate == found.predicted(some)["form"].estimate
    assert of["part"] == found.estimated(some.where(model="part"))["part"]
    assert (of["few"].estimate, of["whole"].estimate) == (None, new.mean())
    assert "at least 20" in str(of["few"].reason)
    assert of["part"].effective_items is not None
    assert of["part"].effective_items > 50
    document = found.document()
    assert document.headline == "Scores of 3 models on all 120 items, estimated from a part of them"
    assert "for a difference the archive gains nothing" in " ".join(document.actions)
    found.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == found


def test_a_model_of_the_archive_is_not_new() -> None:
    with pytest.raises(es.InputError, match="'m03' is one of the 12 models"):
        es.items(_rows(), size=20, new=table(answers(), range(3, 4)))


def test_easy_items_are_no_random_part() -> None:
    new = answers()[:, : N_MODELS + 1].copy()
    new[np.argsort(new.mean(axis=1))[:80], -1] = np.nan
    found = es.items(table(answers(), range(N_MODELS)), size=20, new=table(new, range(N_MODELS, N_MODELS + 1)))
    (note,) = (note for note in found.notes if note.kind == "selection")
    assert note.line == (
        "m24 answered 40 items on which the archive scores higher than on a random part, so its score may be wrong. "
        "Draw the items at random, or run the short form."
    )
    assert found.document().headline.startswith("m24 scores")


def test_these_items_and_a_domain() -> None:
    """The more of the archive's items are answered, the less is open of their score, and not of a domain's."""
    found, new = report(), answers()[:, : N_MODELS + 1].copy()
    new[np.random.default_rng(2).permutation(N_ITEMS)[:20], -1] = np.nan
    answered = table(new, range(N_MODELS, N_MODELS + 1))
    of_items, of_domain = found.estimated(answered)["m24"], found.estimated(answered, of="domain")["m24"]
    assert None not in (of_items.std_error, of_domain.std_error)
    # Without help: s sqrt((1 - 100/120) / 100) against s / sqrt(100).
    assert of_items.std_error / of_domain.std_error < 0.6
    whole = found.estimated(table(answers(), range(N_MODELS, N_MODELS + 1)), of="domain")["m24"]
    assert whole.conf_low is not None
    assert "domain" in of_domain.method
    with pytest.raises(es.InputError, match="'items' or 'domain'"):
        found.estimated(answered, of="all")  # type: ignore[arg-type]


def test_intervals_of_a_domain_hold_its_score() -> None:
    """Archives drawn from a domain, and the scores of other models on the whole of it."""
    rng, held = np.random.default_rng(14), []
    slope, ability = rng.lognormal(0, 0.4, 3000), rng.normal(size=21)
    logit = np.outer(slope, ability) + rng.normal(0, 1.2, 3000)[:, None]
    truth = special.expit(logit).mean(axis=0)
    for _ in range(12):
        right = (rng.random((150, 21)) < special.expit(logit[rng.choice(3000, 150, replace=False)])).astype(float)
        found = es.items(table(right, range(9)), size=20)
        for m in range(9, 21):
            right[rng.permutation(150)[:50], m] = np.nan
        for name, told in found.estimated(table(right, range(9, 21)), of="domain").items():
            assert told.conf_low is not None
            assert told.conf_high is not None
            held.append(told.conf_low <= truth[int(name[1:])] <= told.conf_high)
    assert np.mean(held) >= 0.88  # three standard errors of 12 archives below 95%: their shares vary by 0.08


def _rows(**changed: Any) -> es.EvalData:
    right = answers()
    return table(right[: changed.get("n_items", 60)], range(changed.get("n_models", 12)))


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        (_rows(n_models=4), {}, es.CannotAnswerError, "a curve for every item needs at least 5 systems"),
        (_rows(n_models=1), {}, es.CannotAnswerError, "needs at least 5 systems with 'score'; there is 'm00' alone"),
        (_rows(n_items=8), {}, es.CannotAnswerError, "8 items of 8"),
        (_rows(), {"size": 61}, es.InputError, "61 items of 60"),
        (_rows(), {"size": 0}, es.InputError, "short form"),
    ],
)
def test_what_is_refused(data: es.EvalData, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        es.items(data, **options)


def test_graded_scores_are_refused() -> None:
    rows = [{"item": i, "model": f"m{m}", "score": (i * m % 7) / 7} for m in range(12) for i in range(30)]
    with pytest.raises(es.InputError, match="right or wrong"):
        es.items(es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score"))


def test_few_models_have_curves_and_no_error() -> None:
    found = es.items(_rows(n_models=7))
    assert found.sizes == ()
    assert "10 models are needed" in str(found.sizes_reason)
    with pytest.raises(es.InputError, match=r"10 models are needed .*, and there are 7"):
        found.predicted(_rows(n_models=1))
    # What is known of items all the same: which tell nothing apart, and where the slopes of the others are.
    alike = sum(row.share in (0.0, 1.0) for row in found.rows)
    document = found.document()
    assert f"{alike} items on which all score alike tell none apart" in document.scope
    assert "the CSV has all slopes" in document.answer[0].text


def test_items_that_some_model_lacks_are_left_out_and_counted() -> None:
    right = answers().copy()
    right[:7, 3] = np.nan
    found = es.items(table(right, range(9)), size=10)
    assert (found.n_items, found.n_items_any) == (N_ITEMS - 7, N_ITEMS)
    assert any("7 items" in note.text for note in found.notes)


def test_errors_have_the_form_of_the_mirrored_scores() -> None:
    """Right answers, or wrong ones of which fewer are better: the same items, and every score the other's complement."""
    right, mirrored = report(), es.items(table(1 - answers(), range(N_MODELS)), size=20, higher_is_better=False)
    assert [row.chosen for row in mirrored.rows] == [row.chosen for row in right.rows]
    assert [row.slope for row in mirrored.rows] == [row.slope for row in right.rows]
    assert [row.reversed for row in mirrored.rows] == [row.reversed for row in right.rows]
    assert mirrored.sizes == right.sizes
    assert [row.share for row in mirrored.rows] == pytest.approx([1 - row.share for row in right.rows])
    new = range(N_MODELS, N_MODELS + 1)
    of_right, of_wrong = (
        right.predicted(table(answers(), new))["m24"],
        mirrored.predicted(table(1 - answers(), new))["m24"],
    )
    assert of_wrong.estimate == pytest.approx(1 - of_right.estimate)
    assert of_right.conf_high is not None
    assert of_wrong.conf_low == pytest.approx(1 - of_right.conf_high)
