"""Variance components against published tables, other programs and their definition; intervals and first places by simulation."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.reliability import (
    drawn_coefficients,
    drawn_levels_needed,
    first_place_changes,
    from_components,
    levels_needed,
    reliability,
    reliability_interval,
)
from evalstats.stats.variance_components import VarianceComponents, object_scores, variance_components

GOLDEN = Path(__file__).parents[2] / "golden" / "reliability.json"

# Brennan 2001, Generalizability Theory, chapter 3: synthetic data sets 3 (10 persons x 2 occasions x 4 items) and 4
# (10 persons x 4 raters in each of 3 tasks), with the mean squares, components and coefficients printed there.
THIRD = """
2 6 7 5 2 5 5 5  4 5 6 7 6 7 5 7  5 5 4 6 5 4 5 5  5 9 8 6 5 7 7 6  4 3 5 6 4 5 6 4
4 4 4 7 6 4 7 8  2 6 6 5 2 7 7 5  3 4 4 5 6 6 6 4  0 5 4 5 5 5 5 3  6 8 7 6 6 8 8 6
"""
FOURTH = """
5 6 5 5 5 3 4 5 6 7 3 3  9 3 7 7 7 5 5 5 7 7 5 2  3 4 3 3 5 3 3 5 6 5 1 6  7 5 5 3 3 1 4 3 5 3 3 5
9 2 9 7 7 7 3 7 2 7 5 3  3 4 3 5 3 3 6 3 4 5 1 2  7 3 7 7 7 5 5 7 5 5 5 4  5 8 5 7 7 5 5 4 3 2 1 1
9 9 8 8 6 6 6 5 5 8 1 1  4 4 4 3 3 5 6 5 5 7 1 1
"""


def numbers(text):
    return np.array(text.split(), dtype=float)


def study_of(found: VarianceComponents, **options):
    named = {":".join(effect): value for effect, value in zip(found.effects, found.variances, strict=True)}
    return from_components(named, found.levels, nested=found.within, measured=next(iter(found.levels)), **options)


def test_a_crossed_design_as_published():
    person, occasion, item = (each.ravel() for each in np.indices((10, 2, 4)))
    found = variance_components({"person": person, "item": item, "occasion": occasion}, numbers(THIRD))
    assert found.balanced
    assert found.levels == {"person": 10, "item": 4, "occasion": 2}
    assert found.df.tolist() == [9, 3, 1, 27, 9, 3, 27]
    expected = [6.9111, 12.4833, 3.2, 2.0852, 1.3389, 2.5, 0.9352]
    assert found.mean_squares == pytest.approx(expected, abs=6e-5)
    assert found.variances == pytest.approx([0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352], abs=6e-5)
    point = reliability(study_of(found))
    assert (point.relative, point.absolute) == pytest.approx((0.64, 0.55), abs=6e-3)
    fixed = reliability(study_of(found, fixed=["item"]))
    assert (fixed.relative, fixed.absolute) == pytest.approx((0.81, 0.79), abs=6e-3)


def test_a_nested_design_as_published():
    person, rater = (each.ravel() for each in np.indices((10, 12)))
    found = variance_components({"person": person, "task": rater // 4, "rater": rater}, numbers(FOURTH))
    assert found.within == {"rater": ("task",)}
    assert found.levels == {"person": 10, "task": 3, "rater": 4}
    assert found.df.tolist() == [9, 2, 18, 9, 81]
    assert found.mean_squares == pytest.approx([10.2963, 24.1, 4.6185, 8.8556, 2.3802], abs=6e-5)
    assert found.variances == pytest.approx([0.4731, 0.3252, 0.5596, 0.6475, 2.3802], abs=6e-5)
    point = reliability(study_of(found))
    assert (point.relative, point.absolute) == pytest.approx((0.55, 0.46), abs=6e-3)


def test_penicillin_as_by_lme4(golden):
    stored = json.loads((golden / "r_mixed_models.json").read_text())["Penicillin"]
    frame = pl.read_csv(golden / "Penicillin.csv")
    codes = {name: frame[name].cast(pl.String).rank("dense").to_numpy() - 1 for name in ("plate", "sample")}
    found = variance_components(codes, frame["diameter"].to_numpy())
    theirs = {row["grp"]: row["vcov"] for row in stored["varcomp"]}
    assert found.variances == pytest.approx([theirs["plate"], theirs["sample"], theirs["Residual"]], rel=1e-4)
    assert reliability(study_of(found)).relative == pytest.approx(stored["gtheory"]["relative_Erho2"], abs=1e-5)


@pytest.mark.parametrize("place", [0, 1])
def test_an_unbalanced_design_as_by_statsmodels(place):
    case = json.loads(GOLDEN.read_text())["cases"][place]
    found = variance_components(case["factors"], case["score"])
    assert not found.balanced
    named = {frozenset(effect): value for effect, value in zip(found.effects, found.variances, strict=True)}
    full = frozenset(found.effects[-1])
    for name, value in case["components"].items():
        factors = full if name == "residual" else frozenset(name.split(":"))
        inside = {outer for each in factors for outer in found.within.get(each, ())}
        assert named[factors | inside] == pytest.approx(value, rel=1e-3)
    assert len(named) == len(case["components"])


def simulated(shape, sds, rng, *, nested=(), keep=1.0):
    """Scores of a design of crossed factors, all in all others; a factor in `nested` has its own levels in each of the second."""
    names = list(shape)
    places = dict(zip(names, (each.ravel() for each in np.indices(tuple(shape.values()))), strict=True))
    for name in nested:
        places[name] = places[name] + shape[name] * places[names[1]]
    score = np.zeros(len(places[names[0]]))
    for effect, sd in sds.items():
        code = np.zeros(len(score), dtype=np.int64)
        for name in effect.split(":"):
            code = code * (places[name].max() + 1) + places[name]
        score += sd * rng.normal(size=int(code.max()) + 1)[code]
    seen = rng.random(len(score)) < keep
    return {name: codes[seen] for name, codes in places.items()}, score[seen]


SHAPE = {"model": 7, "benchmark": 4, "item": 6, "scaffold": 3}
SDS = {
    "model": 1.0, "benchmark": 0.6, "item": 0.8, "scaffold": 0.5, "model:benchmark": 0.6, "model:item": 0.7,
    "model:scaffold": 0.5, "benchmark:scaffold": 0.5, "item:scaffold": 0.6, "model:benchmark:scaffold": 0.5,
    "model:item:scaffold": 1.0,
}  # fmt: skip


def test_mean_squares_and_reml_agree_where_the_design_is_balanced(monkeypatch):
    factors, score = simulated(SHAPE, SDS, np.random.default_rng(11), nested=["item"])
    by_squares = variance_components(factors, score)
    assert by_squares.balanced
    assert not by_squares.zero
    monkeypatch.setattr("evalstats.stats.variance_components._balanced_shape", lambda *_: None)
    by_likelihood = variance_components(factors, score)
    assert not by_likelihood.balanced
    assert by_likelihood.variances == pytest.approx(by_squares.variances, rel=1e-5)
    assert by_likelihood.mean_squares == pytest.approx(by_squares.mean_squares, rel=1e-5)


def test_mean_squares_by_their_definition():
    """Sums of squares of sequential least squares on indicators of each effect."""
    factors, score = simulated(SHAPE, SDS, np.random.default_rng(2), nested=["item"])
    found = variance_components(factors, score)
    columns = np.ones((len(score), 1))
    left, rank = float(((score - score.mean()) ** 2).sum()), 1
    for effect, square, df in zip(found.effects, found.mean_squares, found.df, strict=True):
        code = np.zeros(len(score), dtype=np.int64)
        for name in effect:
            code = code * 100 + factors[name]
        columns = np.hstack([columns, np.unique(code)[None, :] == code[:, None]])
        solved, *_ = np.linalg.lstsq(columns, score, rcond=None)
        now, now_rank = float(((score - columns @ solved) ** 2).sum()), int(np.linalg.matrix_rank(columns))
        assert df == now_rank - rank
        assert square == pytest.approx((left - now) / df)
        left, rank = now, now_rank


def test_repetitions_are_the_residual_and_scores_of_cells_count_as_often():
    rng = np.random.default_rng(3)
    factors, score = simulated({"model": 6, "item": 12}, {"model": 1.0, "item": 1.0, "model:item": 0.5}, rng)
    runs = score[:, None] + 0.7 * rng.normal(size=(len(score), 4))
    within = float(((runs - runs.mean(axis=1, keepdims=True)) ** 2).sum())
    cells = variance_components(
        factors, runs.mean(axis=1), counts=np.full(len(score), 4), within=within, repetition="trial"
    )
    assert cells.levels["trial"] == 4
    rows = {name: np.repeat(codes, 4) for name, codes in factors.items()} | {"trial": np.arange(4 * len(score))}
    single = variance_components(rows, runs.ravel())
    assert cells.within["trial"] == single.within["trial"]
    assert cells.variances == pytest.approx(single.variances)
    assert cells.df.tolist() == single.df.tolist()
    assert cells.weights == pytest.approx(single.weights)


def test_order_names_and_shift_of_scores_change_nothing():
    rng = np.random.default_rng(4)
    factors, score = simulated({**SHAPE, "item": 3}, SDS, rng, nested=["item"], keep=0.8)
    found = variance_components(factors, score)
    order = rng.permutation(len(score))
    other = {name: rng.permutation(int(codes.max()) + 1)[codes[order]] for name, codes in factors.items()}
    again = variance_components(other, 10.0 - 2.0 * score[order])
    assert again.variances == pytest.approx(4.0 * found.variances, rel=1e-4, abs=1e-6)
    assert again.df.tolist() == found.df.tolist()


def test_what_is_estimated_below_0_is_0_and_named():
    person, item = (each.ravel() for each in np.indices((6, 8)))
    score = np.random.default_rng(1).normal(size=(6, 8))
    score -= score.mean(axis=1, keepdims=True)  # no variance between persons is left
    found = variance_components({"person": person, "item": item}, score.ravel())
    assert found.zero[0] == ("person",)
    assert found.variances[0] == 0.0
    assert found.draws(2000, np.random.default_rng(0))[:, 0].max() < 1e-12
    assert reliability(study_of(found)).reason == (
        "the variance of person is estimated as 0: these scores do not tell them apart"
    )


ONE = np.arange(12)


@pytest.mark.parametrize(
    ("factors", "options", "error", "said"),
    [
        ({"model": ONE % 3, "item": ONE * 0}, {}, CannotAnswerError, "item has one level"),
        ({"model": ONE % 3, "scaffold": ONE % 3, "item": ONE // 3}, {}, CannotAnswerError, "every model has its own scaffold"),
        ({"model": ONE % 6, "family": ONE % 3}, {}, CannotAnswerError, "every model occurs with one family"),
        ({"model": ONE % 3, "item": ONE // 3, "task": ONE // 3}, {}, CannotAnswerError, "item and task change together"),
        ({"model": ONE % 3, "item": ONE % 2}, {}, InputError, "6 rows stand for a cell that another row has"),
        ({"model": ONE // 2, "item": (ONE + 1) // 2}, {}, CannotAnswerError, "too few cells"),
        (
            {"model": ONE // 3, "scaffold": ONE // 6 * 2 + ONE % 2, "item": ONE % 3},
            {},
            CannotAnswerError,
            "fall into 2 groups without a scaffold in common",
        ),
        ({"model": ONE % 3}, {}, InputError, "needs a facet"),
        ({"model": ONE % 3, "item": ONE // 3}, {"repetition": "trial"}, CannotAnswerError, "more than one trial"),
    ],
)  # fmt: skip
def test_what_cannot_be_estimated_is_refused(factors, options, error, said):
    with pytest.raises(error, match=said):
        variance_components(factors, np.random.default_rng(0).normal(size=12), **options)


def test_scores_without_variance_or_numbers_are_refused():
    factors = {"model": ONE % 3, "item": ONE // 3}
    with pytest.raises(CannotAnswerError, match="all scores are equal"):
        variance_components(factors, np.full(12, 0.4))
    with pytest.raises(InputError, match="NaN"):
        variance_components(factors, np.r_[np.nan, np.ones(11)])


def test_own_scaffolds_of_each_model_are_nested_in_it():
    rng = np.random.default_rng(5)
    model, scaffold, item = (each.ravel() for each in np.indices((6, 2, 10)))
    score = rng.normal(size=6)[model] + rng.normal(size=(6, 2))[model, scaffold] + rng.normal(size=120)
    found = variance_components({"model": model, "scaffold": model * 2 + scaffold, "item": item}, score)
    assert found.within == {"scaffold": ("model",)}
    assert ("model", "scaffold") in found.effects
    assert ("scaffold",) not in found.effects
    assert found.levels == {"model": 6, "scaffold": 2, "item": 10}


def test_the_interval_of_one_facet_is_that_of_the_f_distribution():
    """Feldt 1965: 1 - E rho^2 = MS_residual/MS_person is a multiple of an F variable."""
    rng = np.random.default_rng(6)
    factors, score = simulated({"model": 12, "item": 20}, {"model": 1.0, "item": 1.0, "model:item": 2.0}, rng)
    found = variance_components(factors, score)
    draws = found.draws(200_000, np.random.default_rng(0))
    ratio = found.mean_squares[2] / found.mean_squares[0]
    exact = [1 - ratio * stats.f.ppf(at, 11, 11 * 19) for at in (0.975, 0.025)]
    assert list(reliability_interval(study_of(found), draws)) == pytest.approx(exact, abs=5e-3)


def test_levels_and_weights_are_those_of_the_variance_of_plain_means():
    """By the definition of a variance: of the mean of a model's scores, with one component and no other."""
    rng = np.random.default_rng(9)
    sizes = [30, 9, 4, 3]
    repo = np.tile(np.repeat(np.arange(4), sizes), 5)
    factors = {"model": np.repeat(np.arange(5), 46), "repo": repo, "item": np.tile(np.arange(46), 5)}
    found = variance_components(factors, rng.normal(size=230))
    share = np.array(sizes) / 46
    assert found.levels["repo"] == round(1 / (share**2).sum())
    assert found.levels["item"] == round(46 * (share**2).sum())
    at = {effect: place for place, effect in enumerate(found.effects)}
    row = found.weights[at["model",]]
    assert row[at["model",]] == pytest.approx(46)
    assert row[at["model", "repo"]] == pytest.approx(46 * (share**2).sum())
    assert row[-1] == pytest.approx(1)
    assert row[at["repo",]] == row[at["repo", "item"]] == 0


def test_scores_adjusted_for_what_was_met_are_those_of_least_squares():
    rng = np.random.default_rng(7)
    factors, score = simulated(SHAPE, SDS, rng, nested=["item"], keep=0.6)
    found = object_scores(factors, score)
    columns = np.hstack([np.eye(int(codes.max()) + 1)[codes] for codes in factors.values()])
    solved, *_ = np.linalg.lstsq(columns, score, rcond=None)
    assert np.diff(found) == pytest.approx(np.diff(solved[:7]), abs=1e-6)
    everything, full = simulated(SHAPE, SDS, rng, nested=["item"])
    assert object_scores(everything, full) == pytest.approx(full.reshape(7, -1).mean(axis=1))


def test_levels_needed_of_a_draw_are_those_of_its_components():
    factors, score = simulated(SHAPE, SDS, np.random.default_rng(0), nested=["item"])
    found = variance_components(factors, score)
    study = study_of(found)
    draws = np.maximum(found.draws(40, np.random.default_rng(1)), 0.0)
    for coefficient in ("relative", "absolute"):
        for facet in ("benchmark", "item", "scaffold"):
            drawn = drawn_levels_needed(study, draws, facet, 0.7, coefficient=coefficient)
            for at, row in enumerate(draws):
                named = dict(zip((part.name for part in study.components), row, strict=True))
                own = from_components(named, found.levels, nested=found.within)
                n = levels_needed(own, facet, 0.7, coefficient=coefficient).n
                assert drawn[at] == (np.inf if n is None else n)
                assert drawn_coefficients(own, row[None])[coefficient][0] == pytest.approx(
                    getattr(reliability(own), coefficient) or 0.0
                )


def test_first_places_change_as_often_as_is_said():
    """600 worlds: a board by 3 scaffolds and 5 items, and again with other scaffolds; 8 models whose order is uncertain."""
    rng = np.random.default_rng(8)
    shape = {"model": 8, "scaffold": 3, "item": 5}
    sds = {
        "model": 0.6,
        "scaffold": 0.3,
        "item": 0.5,
        "model:scaffold": 0.5,
        "model:item": 0.4,
        "model:scaffold:item": 0.8,
    }
    variances = {effect: sd**2 for effect, sd in sds.items()}
    study = from_components({"residual": variances.pop("model:scaffold:item"), **variances}, shape)
    known = np.array([[part.variance for part in study.components]])
    said, seen = [], []
    for _ in range(600):
        model, item, both = rng.normal(size=8) * 0.6, rng.normal(size=5) * 0.5, rng.normal(size=(8, 5)) * 0.4

        def board(model=model, item=item, both=both):
            scaffold = rng.normal(size=(8, 3, 1)) * 0.5 + rng.normal(size=3)[:, None] * 0.3
            score = model[:, None, None] + item + both[:, None] + scaffold + rng.normal(size=(8, 3, 5)) * 0.8
            return score.mean(axis=(1, 2))

        first = board()
        said.append(first_place_changes(study, known, first, ["scaffold"], rng=rng)[0])
        seen.append(board().argmax() != first.argmax())
    assert 0.2 < np.mean(seen) < 0.6
    assert np.mean(said) == pytest.approx(np.mean(seen), abs=3 * 0.5 / np.sqrt(600))


def covered(shape, sds, n_rounds, seed):
    """How often intervals of E rho^2 and Phi hold the true ones."""
    rng = np.random.default_rng(seed)
    variances = {effect: sd**2 for effect, sd in sds.items()}
    residual = variances.pop(":".join(shape))
    truth = reliability(from_components({**variances, "residual": residual}, shape))
    hits = np.zeros(2)
    for _ in range(n_rounds):
        factors, score = simulated(shape, sds, rng)
        found = variance_components(factors, score)
        study = study_of(found)
        draws = found.draws(1000, rng)
        for place, name in enumerate(("relative", "absolute")):
            low, high = reliability_interval(study, draws, coefficient=name)
            hits[place] += low <= getattr(truth, name) <= high
    return hits / n_rounds


BOARD = {
    "model": 0.14, "scaffold": 0.1, "item": 0.25, "model:scaffold": 0.08, "model:item": 0.17, "scaffold:item": 0.08,
    "model:scaffold:item": 0.32,
}  # fmt: skip


@pytest.mark.parametrize("n_models", [5, 30])
def test_intervals_cover(n_models):
    found = covered({"model": n_models, "scaffold": 3, "item": 20}, BOARD, 60, n_models)
    assert (found > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 60)).all()
