"""Formulas without a random part: ordinary linear and logistic models, against R's lm with emmeans and statsmodels."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import evalstats as es
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "mixed_means.json").read_text())
EXACT = 1e-8


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.DataFrame(GOLDEN["linear"]["data"]).with_columns(right=(pl.col("score") > 0.3).cast(pl.Int64))


def test_least_squares_is_that_of_statsmodels(table: pl.DataFrame) -> None:
    ours = es.mixed("score ~ model * scenario + lang", table)
    theirs = smf.ols("score ~ C(model) * C(scenario) + C(lang)", table.to_pandas()).fit()
    ends = theirs.conf_int()
    names = {"model": "C(model)[T.{}]", "scenario": "C(scenario)[T.{}]", "lang": "C(lang)[T.{}]"}
    assert ours.df_method == "residual"
    assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-10)
    assert ours.aic == pytest.approx(theirs.aic + 2)  # the residual variance is a parameter, as in R
    for row in ours.fixed:
        factors = [part.rstrip("]").split("[") for part in row.term.split(":")]
        name = "Intercept" if row.term == "(Intercept)" else ":".join(names[f].format(at) for f, at in factors)
        assert [row.estimate, row.std_error, row.statistic, row.p_value, row.df] == pytest.approx(
            [theirs.params[name], theirs.bse[name], theirs.tvalues[name], theirs.pvalues[name], theirs.df_resid],
            rel=EXACT,
        )
        assert [row.conf_low, row.conf_high] == pytest.approx(list(ends.loc[name]), rel=EXACT)


def test_merged_rows_are_the_same_fit(table: pl.DataFrame) -> None:
    twice = pl.concat([table, table])
    theirs = smf.ols("score ~ C(model)", twice.to_pandas()).fit()
    ours = es.mixed("score ~ model", twice)
    assert ours.n_cells == 4
    assert ours.fit.sigma == pytest.approx(math.sqrt(theirs.scale))
    assert [row.std_error for row in ours.fixed] == pytest.approx(list(theirs.bse))


def test_the_logistic_fit_is_that_of_statsmodels(table: pl.DataFrame) -> None:
    ours = es.mixed("right ~ model + lang", table, family="binomial")
    theirs = smf.glm("right ~ C(model) + C(lang)", table.to_pandas(), family=sm.families.Binomial()).fit(tol=1e-12)
    assert [row.estimate for row in ours.fixed] == pytest.approx(list(theirs.params), rel=1e-6)
    assert [row.std_error for row in ours.fixed] == pytest.approx(list(theirs.bse), rel=1e-6)
    assert [row.p_value for row in ours.fixed] == pytest.approx(list(theirs.pvalues), rel=1e-5)
    assert (ours.log_likelihood, ours.aic) == pytest.approx((theirs.llf, theirs.aic))
    assert ours.df_method == "z"


def test_means_of_lm_are_those_of_emmeans(table: pl.DataFrame) -> None:
    rows = table.filter(~((pl.col("model") == "B") & (pl.col("scenario") == "rude")))
    fit = es.mixed("score ~ model + scenario", rows, levels={"scenario": ["ideal", "vague", "rude"]})
    stored = GOLDEN["empty_cell"]["additive"]
    for row, r in zip(fit.means("model").rows, stored["model"], strict=True):
        expected = [r["emmean"], r["SE"], r["df"], r["lower.CL"], r["upper.CL"]]
        assert [row.estimate, row.std_error, row.df, row.conf_low, row.conf_high] == pytest.approx(expected, rel=EXACT)
    crossed = es.mixed("score ~ model * scenario", rows, levels={"scenario": ["ideal", "vague", "rude"]})
    for row, r in zip(crossed.means("model").rows, GOLDEN["empty_cell"]["model"], strict=True):
        assert (row.estimate is None) == (r.get("emmean") in (None, "NA"))
        if row.estimate is not None:
            assert [row.estimate, row.std_error] == pytest.approx([r["emmean"], r["SE"]], rel=EXACT)


def test_separation_is_answered_as_with_random_effects() -> None:
    frame = {"y": [0, 1] * 5 + [1] * 10, "m": ["a"] * 10 + ["b"] * 10}
    found = es.mixed("y ~ m", frame, family="binomial")
    assert "half a success and half a failure" in found.penalty
    # The log-odds of Haldane and Anscombe, log((x + 1/2) / (n - x + 1/2)), against even odds.
    assert found.effect("m[b]").estimate == pytest.approx(math.log(10.5 / 0.5))


def test_nested_models_compare_by_likelihood(table: pl.DataFrame) -> None:
    small, large = (es.mixed(f"right ~ {terms}", table, family="binomial") for terms in ("lang", "model + lang"))
    found = large.likelihood_ratio(small)
    assert found.statistic == pytest.approx(2 * (large.log_likelihood - small.log_likelihood))
    assert found.df == ((1.0, 3),)
    with pytest.raises(InputError, match="one of the models has no random effects"):
        es.mixed("right ~ model + lang + (1 | item)", table, family="binomial").likelihood_ratio(small)


def test_what_is_for_random_effects_is_refused(table: pl.DataFrame) -> None:
    fit = es.mixed("score ~ model", table)
    for ask in (fit.profile, fit.bootstrap):
        with pytest.raises(InputError, match="has no random effects"):
            ask()
    with pytest.raises(InputError, match="n_quadrature is for random effects"):
        es.mixed("right ~ model", table, family="binomial", n_quadrature=9)
    with pytest.raises(CannotAnswerError, match="fit every response exactly"):
        es.mixed("y ~ m", {"y": [1.0, 1.0, 2.0, 2.0], "m": list("aabb")})


def test_it_tells_itself_in_every_form(table: pl.DataFrame) -> None:
    for fit in (es.mixed("score ~ model", table), es.mixed("right ~ model", table, family="binomial")):
        text = to_text(fit.document(), full=True, width=100)
        assert " model " in text.splitlines()[1]
        assert any(note.kind == "dependence" for note in fit.document().cautions)
        assert fit.effects_frame().height == 0
        assert "what levels add" not in fit.explain().lower()
        assert json.loads(json.dumps(fit.to_dict(), allow_nan=False))["groups"] == []
        assert np.isfinite(fit.means("model").to_frame()["estimate"].to_numpy()).all()
