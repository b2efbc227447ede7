"""Profile likelihood intervals against lme4, against the likelihood itself, and by how often they cover."""

import csv
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.profile_likelihood import (
    _away_from_zero,
    _interval,
    _Profile,
    _sizes,
    _surface,
    profile,
    variance_targets,
)
from tests.stats.mixed.dense import (
    deviance,
    dummies,
    fit_at,
    golden_cases,
    golden_design,
    numeric_gradient,
    rows_design,
    term,
)

# Of the distance between the ends: lme4 interpolates its profile by splines.
LME4 = 1e-4
LME4_BINOMIAL = 3e-4  # its nonlinear optimiser stops earlier there
CASES = ("sleepstudy", "sleepstudy_holes", "sleepstudy_uncorrelated", "penicillin", "pastes", "crossed")


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


@pytest.fixture(scope="module")
def pastes(cases):
    return fit_linear(golden_design("pastes", cases["pastes"]), reml=False)


def lme4_name(name):
    what, _, group = name.partition(" by ")
    if what.startswith("sd of "):
        return f"sd_{what[6:]}|{group}"
    if what.startswith("correlation of "):
        first, second = what[15:].split(" and ")
        return f"cor_{second}.{first}|{group}"
    return what


def agree(found, expected, tolerance):
    assert len(found) == len(expected)
    by_term = {row["term"]: row for row in expected}
    for interval in found:
        name = lme4_name(interval.name)
        row = next(by_term[key] for key in by_term if key == name or (key.endswith(name) and "|" not in key))
        width = row["high"] - row["low"]
        assert interval.conf_low == pytest.approx(row["low"], abs=tolerance * width), name
        assert interval.conf_high == pytest.approx(row["high"], abs=tolerance * width), name
        assert interval.conf_low <= interval.estimate <= interval.conf_high


@cache
def profiled(name):
    fit = fit_linear(golden_design(name, golden_cases()[name]), reml=False)
    return profile(fit, contrasts=np.eye(len(fit.beta)))


# The others are these with holes, fewer parts or a part within another: their fits are held against lme4 elsewhere.
QUICK = {"sleepstudy", "penicillin", "crossed"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_lme4(cases, name):
    agree(profiled(name), cases[name]["profile"], LME4)


def test_golden_sleepstudy(golden):
    expected = json.loads((golden / "r_mixed_models.json").read_text())["sleepstudy"]["profile_ci"]
    rows = [
        {
            "term": row["term"].replace("Subject", "subject").replace("Days", "days"),
            "low": row["2.5 %"],
            "high": row["97.5 %"],
        }
        for row in expected
    ]
    agree(profiled("sleepstudy"), rows, LME4)


def cbpp(golden):
    with (golden / "cbpp.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    size, incidence = (np.array([float(row[key]) for row in rows]) for key in ("size", "incidence"))
    fixed = [("(Intercept)", np.ones(len(rows))), *dummies([row["period"] for row in rows])]
    design = rows_design(fixed, [term("herd", [row["herd"] for row in rows])], incidence / size)
    return replace(design, count=size)


def test_lme4_binomial_and_quadrature(cases, golden):
    """Nine points move the ends by less than a tenth of the interval, and the estimate is theirs."""
    found = profile(fit_binomial(cbpp(golden)), contrasts=np.eye(4))
    agree(found, cases["cbpp"]["profile"], LME4_BINOMIAL)
    fit = fit_binomial(cbpp(golden), n_quadrature=9)
    laplace, (nine,) = found[0], profile(fit)
    assert nine.estimate == pytest.approx(float(fit.theta[0]))
    width = laplace.conf_high - laplace.conf_low
    assert 0.0 < abs(nine.conf_high - laplace.conf_high) < 0.1 * width


def test_ends_lie_where_the_deviance_has_risen_by_the_quantile(pastes):
    """The density of the normal law, minimised over everything else."""
    design = pastes.design
    names = ["sd of (Intercept) by sample", "sigma"]
    found = {interval.name: interval for interval in profile(pastes, names=names, conf_level=0.9)}
    quantile = stats.chi2.ppf(0.9, 1)

    def at(sd=None, sigma=None):
        def value(x):
            s = np.exp(x[1]) if sigma is None else sigma
            theta = [x[0] if sd is None else sd / s, x[2]]
            return deviance(design, theta, s, restricted=False)

        start = [pastes.theta[0], np.log(pastes.sigma), pastes.theta[1]]
        return optimize.minimize(value, start, method="Nelder-Mead", options={"fatol": 1e-9, "xatol": 1e-7}).fun

    least = at()
    for key, end in (("sd", found["sd of (Intercept) by sample"].conf_low), ("sigma", found["sigma"].conf_high)):
        assert at(**{key: end}) - least == pytest.approx(quantile, abs=1e-4)


def test_ends_at_a_bound_are_the_bound(cases, pastes):
    batch = profile(pastes, names=["sd of (Intercept) by batch"])[0]
    assert batch.conf_low == 0.0
    assert batch.notes == ("the lower end is the bound 0",)
    flat = fit_linear(golden_design("boundary", cases["boundary"]), reml=False)
    zero = profile(flat, names=["sd of (Intercept) by model:item"])[0]
    assert (zero.estimate, zero.conf_low) == (pytest.approx(0.0, abs=1e-5), 0.0)
    assert zero.conf_high > 0.1


def test_a_correlation_of_few_groups_reaches_one(cases):
    case = cases["sleepstudy"]
    keep = np.isin(case["data"]["subject"], ["308", "309", "310", "330"])
    data = {key: np.asarray(values)[keep].tolist() for key, values in case["data"].items()}
    fit = fit_linear(golden_design("sleepstudy", {"data": data}), reml=False)
    found = profile(fit, names=["correlation of (Intercept) and days by subject"])[0]
    assert found.conf_high == 1.0
    assert "the upper end is the bound 1" in found.notes
    assert -1.0 <= found.conf_low <= found.estimate


def test_scale_and_sign(cases, pastes):
    design = pastes.design
    times = fit_linear(replace(design, response=-1000.0 * design.response), reml=False)
    wanted = {"names": ["sd of (Intercept) by sample"], "contrasts": [0.0, 1.0, 0.0]}
    for one, other in zip(profile(pastes, **wanted), profile(times, **wanted), strict=True):
        ends = np.array([one.conf_low, one.conf_high]) * (1000.0 if "sd" in one.name else -1000.0)
        width = 1000.0 * (one.conf_high - one.conf_low)
        assert sorted([other.conf_low, other.conf_high]) == pytest.approx(sorted(ends), abs=1e-4 * width)


def test_a_contrast_of_two_effects(cases):
    """The interval of m2 - m3 is that of the coefficient d in b0 + d m2 + b3 (m2 + m3) + b4 m4."""
    design = golden_design("crossed", cases["crossed"])
    found = profile(fit_linear(design, reml=False), names=[], contrasts=[0.0, 1.0, -1.0, 0.0])[0]
    one, m2, m3, m4 = design.fixed.at().T
    turned = replace(design, fixed=distinct_rows(np.column_stack([one, m2, m2 + m3, m4])))
    other = profile(fit_linear(turned, reml=False), names=[], contrasts=[0.0, 1.0, 0.0, 0.0])[0]
    assert found.estimate == pytest.approx(other.estimate, abs=1e-6)
    assert (found.conf_low, found.conf_high) == pytest.approx((other.conf_low, other.conf_high), abs=1e-4)


def test_a_restricted_fit_is_profiled_by_its_likelihood(pastes):
    reml = fit_linear(pastes.design)
    assert reml.sigma != pytest.approx(pastes.sigma, rel=1e-6)
    one, other = (profile(fit, names=["sigma"])[0] for fit in (reml, pastes))
    assert (one.conf_low, one.conf_high) == pytest.approx((other.conf_low, other.conf_high), rel=1e-5)


def test_progress_and_refusals(pastes):
    steps = []
    profile(pastes, names=["sigma"], contrasts=np.eye(3)[:1], on_step=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
    with pytest.raises(InputError, match="no variance parameter 'tau'; give some of sd of"):
        profile(pastes, names=["tau"])
    with pytest.raises(InputError, match="prior against separation"):
        profile(replace(pastes, penalty="a prior"))
    with pytest.raises(InputError, match="one column for each of 3"):
        profile(pastes, contrasts=[1.0])
    wrong = replace(pastes, theta=pastes.theta * 1.5)
    with pytest.raises(CannotAnswerError, match="not at its maximum"):
        profile(wrong, names=["sigma"])


def three_effects():
    """A design with a term of three effects after one of one, and parameters (theta, log sigma) of no special kind."""
    rng = np.random.default_rng(3)
    n = 60
    ones, x, z = (("(Intercept)", np.ones(n)), ("x", rng.normal(size=n)), ("z", rng.normal(size=n) + 1.0))
    terms = [term("h", np.arange(n) % 7), term("g", np.arange(n) // 6, ones, x, z)]
    design = rows_design([ones], terms, rng.normal(size=n))
    fit = fit_at(design, [0.6, 0.9, -0.4, 0.3, -0.7, 0.5, 0.8], 1.3)
    return fit, np.append(fit.theta, np.log(fit.sigma))


def at_parameters(fit, parameters):
    return replace(fit, theta=parameters[:-1], sigma=float(np.exp(parameters[-1])))


def test_a_quantity_that_is_held_has_its_value_and_what_is_free_of_it_stays():
    fit, parameters = three_effects()
    targets = variance_targets(fit)
    assert [target.name for target in targets] == [
        "sd of (Intercept) by h",
        "sd of (Intercept) by g",
        "sd of x by g",
        "correlation of (Intercept) and x by g",
        "sd of z by g",
        "correlation of (Intercept) and z by g",
        "correlation of x and z by g",
        "sigma",
    ]
    before = [target.value(fit) for target in targets]
    covariance = fit.covariances()[1]
    assert before[0] == pytest.approx(1.3 * 0.6)
    assert before[4] == pytest.approx(np.sqrt(covariance[2, 2]))
    assert before[6] == pytest.approx(covariance[1, 2] / np.sqrt(covariance[1, 1] * covariance[2, 2]))
    for k, target in enumerate(targets):
        wanted = -0.35 if target.kind == "correlation" else 0.77
        after = [each.value(at_parameters(fit, target.held(fit.design, parameters, wanted))) for each in targets]
        assert after[k] == pytest.approx(wanted)
        assert target.value(at_parameters(fit, target.held(fit.design, parameters, before[k]))) == pytest.approx(
            before[k]
        )
        if target.kind == "sd":  # the length of one row of the factor: all else stays
            assert np.delete(after, k) == pytest.approx(np.delete(before, k))
        if target.kind == "correlation":
            sds = [i for i, each in enumerate(targets) if each.kind != "correlation"]
            assert [after[i] for i in sds] == pytest.approx([before[i] for i in sds])
        assert target.bounds == ((-1.0, 1.0) if target.kind == "correlation" else (0.0, np.inf))
        h = 1e-4
        slopes = [
            (target.held(fit.design, parameters + e, wanted) - target.held(fit.design, parameters - e, wanted))
            / (2 * h)
            for e in h * np.eye(8)
        ]
        assert target.jacobian(fit.design, parameters, wanted) == pytest.approx(np.array(slopes).T, abs=1e-6)


def test_a_factor_of_turned_signs_is_held_all_the_same():
    fit, parameters = three_effects()
    for signs in ([1, 1, 1, 1, -1, -1, 1, 1], [1, 1, 1, 1, -1, -1, -1, 1], [1, -1, -1, -1, 1, 1, 1, 1]):
        turned = parameters * signs
        for target in variance_targets(fit)[1:7]:
            held = target.held(fit.design, turned, 0.4)
            assert target.value(at_parameters(fit, held)) == pytest.approx(0.4)
    none = at_parameters(fit, parameters * [1, 0, 0, 0, 1, 1, 1, 1])
    values = [target.value(none) for target in variance_targets(none)]
    assert np.isnan([values[3], values[5]]).all()
    held = variance_targets(fit)[1].held(fit.design, np.append(none.theta, 0.0), 0.7)
    assert variance_targets(fit)[1].value(at_parameters(fit, held)) == pytest.approx(0.7)


@pytest.mark.parametrize("n_quadrature", [1, 5])
def test_the_surface_of_a_binomial_fit_is_its_deviance_whatever_sigma(golden, n_quadrature):
    fit = fit_binomial(cbpp(golden), n_quadrature=n_quadrature)
    surface, at = _surface(fit), np.concatenate([fit.theta, [0.0], fit.beta])
    assert surface(at)[0] == pytest.approx(fit.deviance, abs=1e-6)
    off = at + 0.1
    slope = numeric_gradient(lambda x: surface(x)[0], off, 1e-3)
    assert surface(off)[1] == pytest.approx(slope, abs=1e-4)
    assert surface(off)[1][1] == 0.0


def test_the_surface_of_a_linear_fit_is_its_deviance_by_theta_and_the_logarithm_of_sigma():
    fit, parameters = three_effects()
    value, slope = _surface(fit)(parameters)
    assert value == pytest.approx(deviance(fit.design, fit.theta, fit.sigma, restricted=False))
    assert slope == pytest.approx(numeric_gradient(lambda x: _surface(fit)(x)[0], parameters), abs=1e-5)


class Cone:
    """A profile that rises by 1 in each unit to the left and by 2 to the right of 3, up to a height."""

    what = "a cone"

    def __init__(self, height=np.inf):
        self.height, self.begun = height, 0

    def back(self):
        self.begun += 1

    def __call__(self, value):
        return min(2.0 * (value - 3.0) if value > 3.0 else 3.0 - value, self.height)


@pytest.mark.parametrize("step", [0.01, 0.3, 1.0, 5.0])
def test_ends_are_where_the_profile_reaches_the_quantile_or_the_bound(step):
    q = stats.norm.isf(0.05)
    free = (-np.inf, np.inf)
    found = _interval(Cone(), 3.0, step=step, bounds=free, conf_level=0.9)
    assert (found.conf_low, found.conf_high) == pytest.approx((3.0 - q, 3.0 + q / 2), abs=1e-5)
    assert (found.name, found.notes) == ("a cone", ())
    near = _interval(Cone(), 3.0, step=step, bounds=(2.0, 3.5), conf_level=0.9)
    assert (near.conf_low, near.conf_high) == (2.0, 3.5)
    assert near.notes == ("the lower end is the bound 2", "the upper end is the bound 3.5")
    far = _interval(Cone(), 3.0, step=step, bounds=(1.0, 4.0), conf_level=0.9)
    assert (far.conf_low, far.conf_high) == pytest.approx((3.0 - q, 3.0 + q / 2), abs=1e-5)
    at_bound = _interval(Cone(), 3.0, step=step, bounds=(3.0, np.inf), conf_level=0.9)
    assert (at_bound.conf_low, at_bound.conf_high) == (3.0, pytest.approx(3.0 + q / 2, abs=1e-5))
    flat = _interval(Cone(1.0), 3.0, step=step, bounds=free, conf_level=0.9)
    assert (flat.conf_low, flat.conf_high) == (None, None)
    assert [note[:9] for note in flat.notes] == ["the lower", "the upper"]


def test_a_walk_over_a_bowl_knows_its_profile():
    """Deviance d'Hd + 5 about (1, 2, 3): with the first held at v the least is 5 + (v - 1)^2 / (H^-1)_11."""
    root = np.random.default_rng(2).normal(size=(3, 3))
    hessian, centre, searches = root @ root.T + np.eye(3), np.array([1.0, 2.0, 3.0]), []

    def held(value):
        searches.append(value)

        def surface(x):
            d = np.array([value, *x]) - centre
            return float(d @ hessian @ d) + 5.0, (2.0 * hessian @ d)[1:]

        return surface

    walk = _Profile(held, start=centre[1:], spread=0.3 * np.eye(2), least=5.0, what="first")
    for value in (1.0, 1.4, -2.0, 1.4):
        assert walk(value) == pytest.approx(abs(value - 1.0) / np.sqrt(np.linalg.inv(hessian)[0, 0]), abs=1e-5)
    assert searches == [1.0, 1.4, -2.0]
    wrong = _Profile(held, start=centre[1:], spread=np.eye(2), least=6.0, what="first")
    with pytest.raises(CannotAnswerError, match="falls by 1 below that of the fit where first is 1"):
        wrong(1.0)


def test_a_variance_of_0_is_left_by_a_tenth_of_what_would_count():
    """Of each term the relative sd at which a level's effects are as uncertain as its mean: 1 / root of the squares a level."""
    fit, parameters = three_effects()
    design = replace(fit.design, count=np.full(60, 4.0))
    t = design.terms[1]
    per_level = [np.sqrt(7 / 240.0), 1.0 / np.sqrt(4.0 * (t.values**2).mean(axis=1).sum() / 10)]
    assert _sizes(design) == pytest.approx(per_level)
    sizes = np.repeat(per_level, [1, 6])
    # Diagonals are the entries 0 of the first, and 0, 3 and 5 of the second.
    small = parameters * [0.0, 1.0, 0.0, 1.0, 0.01, 0.0, 1.0, 1.0]
    start, spread = _away_from_zero(replace(fit, design=design), small, 1e-9 * np.eye(8))
    changed = np.array([True, False, False, False, True, False, False, False])
    assert start == pytest.approx(np.where(changed, 0.1 * np.append(sizes, 0.0), small))
    assert np.diag(spread) == pytest.approx(np.where(changed, 0.1 * np.append(sizes, 0.0), 1e-9))
    wide = _away_from_zero(replace(fit, design=design), small, np.eye(8))[1]
    np.testing.assert_array_equal(wide, np.eye(8))


@pytest.mark.slow
def test_coverage_with_twenty_groups():
    """Fifteen groups of four: sigma and the mean near 95 %; the groups' sd a little below, as the ML criterion is biased."""
    rng = np.random.default_rng(15)
    group = np.repeat(np.arange(15), 4)
    design = rows_design([("(Intercept)", np.ones(60))], [term("g", group)], np.zeros(60))
    n_rep, hits = 400, np.zeros(3)
    truth = (0.8, 1.0, 2.0)
    for _ in range(n_rep):
        y = 2.0 + 0.8 * rng.normal(size=15)[group] + rng.normal(size=60)
        found = profile(fit_linear(replace(design, response=y), reml=False), contrasts=[1.0])
        hits += [i.conf_low <= value <= i.conf_high for i, value in zip(found, truth, strict=True)]
    noise = 3 * np.sqrt(0.95 * 0.05 / n_rep)
    assert hits[1] / n_rep == pytest.approx(0.95, abs=noise)
    assert np.all(hits[[0, 2]] / n_rep > 0.95 - 0.02 - noise)


def test_a_correlation_with_a_variance_of_0_has_no_profile(cases):
    fit = fit_at(golden_design("sleepstudy", cases["sleepstudy"]), [0.9, 0.0, 0.0], 25.0, method="ML")
    name = next(target.name for target in variance_targets(fit) if target.kind == "correlation")
    (found,) = profile(fit, names=[name], conf_level=0.9)
    assert (found.estimate, found.conf_low, found.conf_high, found.conf_level) == (None, None, None, 0.9)
    assert "no correlation" in found.notes[0]
