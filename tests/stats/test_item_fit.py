"""Do curves fit, and families share them: the score test by definition and by statsmodels, its symmetries, size and power."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats import item_fit
from evalstats.stats.item_fit import FEWEST_FOR_FIT, added_terms, curvature_tests, family_tests, one_answer
from evalstats.stats.item_response import ItemCurves, two_parameter


def drawn(rng: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return (rng.random(logit.shape) < special.expit(logit)).astype(float)


def table(
    rng: np.random.Generator, n_items: int, n_models: int, *, strongly: float = 0.4
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and abilities."""
    ability = rng.normal(size=n_models)
    return np.outer(rng.lognormal(0, strongly, n_items), ability) + rng.normal(0.3, 1.3, n_items)[:, None], ability


def fitted(answers: np.ndarray) -> ItemCurves:
    return two_parameter(answers)


def test_the_score_test_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a prior the square of z is the score statistic of a logistic regression on a known ability."""
    monkeypatch.setattr(item_fit, "_PRECISION", np.zeros(2))
    monkeypatch.setattr(item_fit, "_FIRST_STEPS", 40)
    rng = np.random.default_rng(1)
    logit, ability = table(rng, 12, 80)
    answers = drawn(rng, logit)
    terms = np.stack([ability**2, (np.arange(80) < 20).astype(float)])
    found = added_terms(answers, fitted(answers), ability, terms, seed=0)
    design = sm.add_constant(ability)
    for at in np.flatnonzero(found.tested):
        model = sm.GLM(answers[at], design, family=sm.families.Binomial())
        plain = model.fit()
        for term in range(2):
            square, *_ = model.score_test(plain.params, exog_extra=terms[term][:, None])
            assert found.z[at, term] ** 2 == pytest.approx(float(np.squeeze(square)), rel=1e-6)
            assert found.excess[at, term] == pytest.approx(terms[term] @ (answers[at] - plain.fittedvalues), abs=1e-6)


def test_the_p_value_by_definition() -> None:
    """Answers drawn from the fitted curve, fitted again one at a time: the share of scores as far from 0."""
    rng = np.random.default_rng(2)
    logit, _ = table(rng, 30, 40)
    answers = drawn(rng, logit)
    curves = fitted(answers)
    found = curvature_tests(answers, curves)
    at = int(np.nanargmin(np.abs(found.p_value[:, 0] - 0.2)))
    design = item_fit._Terms(curves.ability, curves.ability[None, :] ** 2)
    start = np.array([[curves.slope[at], curves.intercept[at]]])
    own, chances = design.fitted(answers[[at]], start, design.chances(start), 30)
    z = abs(design.scores(answers[[at]], chances)[0].item())
    assert z == pytest.approx(abs(found.z[at, 0]), abs=1e-6)
    extreme = 0
    for _ in range(400):
        simulated = drawn(rng, special.logit(chances))
        extreme += abs(design.scores(simulated, design.fitted(simulated, own, chances, 30)[1])[0].item()) >= z
    # Standard errors of 199 draws at .2 (.028) and of 400 (.02); two steps of Newton in place of thirty.
    assert extreme / 400 == pytest.approx(found.p_value[at, 0], abs=0.1)


def test_symmetries() -> None:
    rng = np.random.default_rng(3)
    logit, ability = table(rng, 25, 50)
    answers, member = drawn(rng, logit), (np.arange(50) < 15).astype(float)
    curves = fitted(answers)
    found = added_terms(answers, curves, ability, np.stack([member, 1 - member]), seed=0)
    assert found.z[:, 0] == pytest.approx(-found.z[:, 1], abs=1e-9, nan_ok=True)
    # Wrong for right, and abilities turned round.
    turned = ItemCurves(**{**{n: getattr(curves, n) for n in ItemCurves.__slots__}, "intercept": -curves.intercept})
    mirrored = added_terms(1 - answers, turned, -ability, member[None, :], seed=0)
    assert mirrored.z[:, 0] == pytest.approx(-found.z[:, 0], abs=1e-9, nan_ok=True)
    order = rng.permutation(50)
    mixed = added_terms(answers[:, order], curves, ability[order], member[None, order], seed=0)
    assert mixed.z[:, 0] == pytest.approx(found.z[:, 0], abs=1e-9, nan_ok=True)


def test_items_that_nearly_all_solve_are_not_tested() -> None:
    rng = np.random.default_rng(4)
    answers = drawn(rng, table(rng, 30, 40)[0])
    answers[0], answers[1] = 1.0, 0.0
    answers[2] = np.arange(40) < 2
    found = curvature_tests(answers, fitted(answers))
    assert found.tested[:3].tolist() == [False] * 3
    assert np.isnan(found.p_value[:3]).all()
    assert (found.p_value[found.tested] > 0).all()


def test_one_trial_of_several_is_drawn() -> None:
    right, trials = np.array([[3.0, 0.0, 1.0]] * 4000), np.array([[3.0, 3.0, 2.0]] * 4000)
    found = one_answer(right, trials, seed=1)
    assert found[:, 0].min() == 1
    assert found[:, 1].max() == 0
    assert found[:, 2].mean() == pytest.approx(0.5, abs=0.03)  # four standard errors
    assert one_answer(right[:, :1] / 3, trials[:, :1] / 3) is not None


def _sizes(seed: int, n_models: int, n_items: int, repetitions: int) -> np.ndarray:
    rng, found = np.random.default_rng(seed), []
    for at in range(repetitions):
        logit, _ = table(rng, n_items, n_models, strongly=(0.2, 0.5)[at % 2])
        answers = drawn(rng, logit)
        tests = curvature_tests(answers, fitted(answers))
        found.append(tests.p_value[tests.tested, 0])
    return np.concatenate(found)


def test_fitting_items_have_small_p_as_often_as_they_should() -> None:
    p = _sizes(5, 30, 150, 2)
    assert np.mean(p <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(p))
    assert np.mean(p <= 0.05) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "repetitions"), [(20, 8), (60, 5), (300, 2)])
def test_the_size_of_the_curvature_test(n_models: int, repetitions: int) -> None:
    p = _sizes(n_models, n_models, 300, repetitions)
    for level in (0.05, 0.01):
        assert np.mean(p <= level) < level + 3 * np.sqrt(level / len(p))


def test_items_that_strong_models_fail_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_fit, "_DRAWS", (199, 1_999))  # no smaller p is asked for
    rng = np.random.default_rng(6)
    logit, ability = table(rng, 150, 60)
    logit[:5] = 2.5 - 3 * ability**2
    answers = drawn(rng, logit)
    found = curvature_tests(answers, fitted(answers))
    assert (found.p_value[:5, 0] < 0.02).all()
    assert (found.z[:5, 0] < 0).all()


def _families(n_models: int, *sizes: int) -> np.ndarray:
    named = np.repeat(np.arange(len(sizes)), sizes)
    return np.concatenate([named, np.full(n_models - len(named), -1)])


def test_items_that_a_family_knows_are_found_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_fit, "_DRAWS", (199, 1_999))  # 1 in 2,000 is small enough among 200 items
    rng = np.random.default_rng(7)
    logit, _ = table(rng, 200, 60)
    families = _families(60, 15)
    logit[:20] -= 2.5
    logit[:20, families == 0] += 8
    answers = drawn(rng, logit)
    found = family_tests(answers, fitted(answers), families)
    named = found.p_adjusted[:, 0] <= 0.05
    assert named[:20].mean() > 0.6
    assert named[20:].sum() <= 2
    assert (found.excess[:20, 0][named[:20]] > 0).all()
    assert found.settled
    assert not found.anchor[:20][named[:20]].any()


def test_purified_abilities_do_not_make_the_rest_look_hard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that knows a fifth of the items does not seem to lag on the others."""
    monkeypatch.setattr(item_fit, "_DRAWS", (1,))  # scores alone are looked at
    rng, plain, pure = np.random.default_rng(8), [], []
    families = _families(80, 25)
    for _ in range(3):
        logit, _ = table(rng, 100, 80)
        logit[:20] -= 2
        logit[:20, families == 0] += 7
        answers = drawn(rng, logit)
        curves = fitted(answers)
        plain.append(added_terms(answers, curves, curves.ability, (families == 0)[None, :] * 1.0, seed=0).z[20:, 0])
        pure.append(family_tests(answers, curves, families).z[20:, 0])
    assert np.nanmean(plain) < -0.3
    assert abs(np.nanmean(pure)) < abs(np.nanmean(plain)) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "sizes"), [(20, (6,)), (30, (6, 8, 16)), (60, (10, 20))])
@pytest.mark.parametrize("ahead", [0.0, 1.0])
def test_the_size_of_the_family_test(n_models: int, sizes: tuple[int, ...], ahead: float) -> None:
    """Also where the first family is stronger than the others by a standard deviation."""
    rng, found = np.random.default_rng(n_models), []
    families = _families(n_models, *sizes)
    for _ in range(3):
        ability = rng.normal(size=n_models) + ahead * (families == 0)
        logit = np.outer(rng.lognormal(0, 0.4, 300), ability) + rng.normal(0.3, 1.3, 300)[:, None]
        answers = drawn(rng, logit)
        found.append(family_tests(answers, fitted(answers), families).p_value.ravel())
    p = np.concatenate(found)
    p = p[~np.isnan(p)]
    for level in (0.05, 0.01):
        # Tests of several families on one item go together.
        assert np.mean(p <= level) < level + 4 * np.sqrt(level / len(p))


def test_what_is_refused() -> None:
    rng = np.random.default_rng(9)
    answers = drawn(rng, table(rng, 30, FEWEST_FOR_FIT - 1)[0])
    curves = fitted(answers)
    with pytest.raises(CannotAnswerError, match="at least 20 models; with the 19"):
        curvature_tests(answers, curves)
    with pytest.raises(InputError, match="one answer of every model"):
        curvature_tests(answers / 2, curves)
    for families in (_families(19, 4), _families(19, 15), _families(19)):
        with pytest.raises(CannotAnswerError, match="at least 5 models"):
            family_tests(answers, curves, families)
    with pytest.raises(InputError, match="one for each of 19 models"):
        family_tests(answers, curves, _families(18, 6))


def test_families_that_differ_on_most_items() -> None:
    rng = np.random.default_rng(10)
    logit, _ = table(rng, 60, 80)
    families = _families(80, 20, 20, 20)
    for family in range(3):
        logit[:, families == family] += rng.normal(0, 6, 60)[:, None]
    answers = drawn(rng, logit)
    with pytest.raises(CannotAnswerError, match="no items to compare"):
        family_tests(answers, fitted(answers), families)
