"""Mixed models from formula to result, against lme4, lmerTest, pbkrtest and emmeans."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.mixed.mixed import mixed
from evalstats.analysis.mixed.result import MixedModel
from evalstats.errors import InputError

HERE = json.loads((Path(__file__).parents[2] / "golden" / "mixing.json").read_text())["whole"]
# lme4's optimiser stops short of the optimum by about 1e-5 of a variance; standard errors and df inherit it.
LINEAR = 1e-4
DF = 2e-3  # Satterthwaite's df by lmerTest rest on numeric second derivatives
BINOMIAL = 2e-3  # lme4's PIRLS stops early


@pytest.fixture(scope="module")
def reference(golden: Path) -> dict:
    return json.loads((golden / "r_mixed_models.json").read_text())


@pytest.fixture(scope="module")
def sleep(golden: Path) -> pl.DataFrame:
    return pl.read_csv(golden / "sleepstudy.csv")


@pytest.fixture(scope="module")
def cbpp(golden: Path) -> MixedModel:
    return mixed(
        "cbind(incidence, size - incidence) ~ C(period) + (1 | herd)",
        pl.read_csv(golden / "cbpp.csv"),
        family="binomial",
    )


@pytest.fixture(scope="module")
def unbalanced() -> pl.DataFrame:
    return pl.DataFrame(HERE["data"], strict=False)


FULL = "y ~ model * scenario + x + (1 | item) + (1 | item:model)"


@pytest.fixture(scope="module")
def whole(unbalanced: pl.DataFrame) -> MixedModel:
    return mixed(FULL, unbalanced)


def close(ours, theirs, rel: float, floor: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), rtol=rel, atol=floor)


def test_sleepstudy_is_that_of_lme4(sleep: pl.DataFrame, reference: dict) -> None:
    result, r = mixed("Reaction ~ Days + (Days | Subject)", sleep), reference["sleepstudy"]
    assert -2 * result.log_likelihood == pytest.approx(r["REMLcrit"], abs=1e-5)
    close([row.estimate for row in result.fixed], [row["Estimate"] for row in r["KR"]], LINEAR)
    close([row.std_error for row in result.fixed], [row["Std. Error"] for row in r["KR"]], LINEAR)
    close([row.df for row in result.fixed], [row["df"] for row in r["KR"]], LINEAR)
    close([row.p_value for row in result.fixed], [row["Pr(>|t|)"] for row in r["KR"]], 5e-3)
    by_r = [row["vcov"] for row in r["varcomp"]]
    close([row.variance for row in result.variances], [by_r[0], by_r[1], by_r[2], by_r[3]], 1e-3)
    assert result.variance("Subject", "(Intercept)", "Days").correlation == pytest.approx(
        r["varcomp"][2]["sdcor"], abs=1e-3
    )
    effects = result.effects_frame().filter(pl.col("level") == "308")
    close(effects["estimate"], r["ranef_308"], 1e-3)
    assert (result.df_method, result.groups, result.n_rows) == ("kenward-roger", (("Subject", 18),), 180)


def test_sleepstudy_without_correlation_and_by_ml(sleep: pl.DataFrame, reference: dict) -> None:
    split = mixed("Reaction ~ Days + (Days || Subject)", sleep)
    assert -2 * split.log_likelihood == pytest.approx(reference["sleepstudy_uncorrelated"]["REMLcrit"], abs=1e-5)
    by_ml = mixed("Reaction ~ Days + (Days | Subject)", sleep, reml=False)
    assert -2 * by_ml.log_likelihood == pytest.approx(reference["sleepstudy"]["ML"]["deviance"], abs=1e-5)
    assert by_ml.df_method == "satterthwaite"
    satterthwaite = mixed("Reaction ~ Days + (Days | Subject)", sleep, df="satterthwaite")
    close([row.df for row in satterthwaite.fixed], [row["df"] for row in reference["sleepstudy"]["fixef"]], DF)
    wald = mixed("Reaction ~ Days + (Days | Subject)", sleep, df="z")
    close(
        [[row.conf_low, row.conf_high] for row in wald.fixed],
        [[row["2.5 %"], row["97.5 %"]] for row in reference["sleepstudy"]["wald_ci"]],
        LINEAR,
    )


def test_penicillin_is_that_of_lme4(golden: Path, reference: dict) -> None:
    result = mixed("diameter ~ 1 + (1 | plate) + (1 | sample)", pl.read_csv(golden / "Penicillin.csv"))
    r = reference["Penicillin"]
    assert -2 * result.log_likelihood == pytest.approx(r["REMLcrit"], abs=1e-5)
    close([row.variance for row in result.variances], [row["vcov"] for row in r["varcomp"]], 1e-3)
    plate, sample, rest = (row.variance for row in result.variances)
    g = r["gtheory"]
    assert plate / (plate + rest / g["n_facet"]) == pytest.approx(g["relative_Erho2"], abs=1e-4)
    assert sum(row.share or 0.0 for row in result.variances) == pytest.approx(1.0)
    assert result.variance("sample").share == pytest.approx(sample / (plate + sample + rest))


def test_pastes_is_one_model_however_it_is_written(golden: Path) -> None:
    frame = pl.read_csv(golden / "Pastes.csv")
    nested, named = (
        mixed("strength ~ 1 + (1 | batch/cask)", frame),
        mixed("strength ~ 1 + (1|batch) + (1|sample)", frame),
    )
    # Bates et al. 2010, lme4: Mixed-effects modeling with R, section 2.2: REML criterion 246.99, sd 2.9041, 1.2874, 0.8234.
    assert -2 * nested.log_likelihood == pytest.approx(246.99, abs=0.006)
    close([row.std_dev for row in nested.variances], [1.2874, 2.9041, 0.8234], 2e-3)
    assert nested.log_likelihood == pytest.approx(named.log_likelihood, abs=1e-8)
    assert [name for name, _ in nested.groups] == ["batch", "batch:cask"]
    assert dict(nested.groups)["batch:cask"] == dict(named.groups)["sample"] == 30


def test_cbpp_is_that_of_lme4(cbpp: MixedModel, reference: dict) -> None:
    r = reference["cbpp"]["laplace"]
    assert -2 * cbpp.log_likelihood == pytest.approx(r["deviance"], abs=4e-3)
    assert -2 * cbpp.log_likelihood <= r["deviance"] + 1e-6  # the likelihood is at least lme4's
    assert cbpp.aic == pytest.approx(r["AIC"], abs=4e-3)
    assert cbpp.bic == pytest.approx(r["BIC"], abs=4e-3)
    close([row.estimate for row in cbpp.fixed], [row["Estimate"] for row in r["fixef"]], BINOMIAL)
    # lme4's come from second differences of a deviance that is noisy to 4e-3.
    close([row.std_error for row in cbpp.fixed], [row["Std. Error"] for row in r["fixef"]], 2e-2)
    assert cbpp.variance("herd").std_dev == pytest.approx(r["varcomp"][0]["sdcor"], rel=BINOMIAL)
    assert (cbpp.df_method, cbpp.n_rows, cbpp.n_trials) == ("between-within", 56, 842)
    # Periods are within herds, of which there are 15.
    assert all(row.df is None for row in cbpp.fixed[1:])
    assert cbpp.fixed[0].df is not None


def test_cbpp_by_quadrature(golden: Path, reference: dict) -> None:
    frame = pl.read_csv(golden / "cbpp.csv")
    result = mixed(
        "cbind(incidence, size - incidence) ~ C(period) + (1 | herd)", frame, family="binomial", n_quadrature=9
    )
    r = reference["cbpp"]["agq9"]
    close([row.estimate for row in result.fixed], [row["Estimate"] for row in r["fixef"]], BINOMIAL)
    assert result.method == "AGHQ"


def test_contrasts_of_cbpp_are_those_of_emmeans(cbpp: MixedModel, reference: dict) -> None:
    for adjust in ("tukey", "holm", "none"):
        found, r = cbpp.means("period", scale="link", adjust=adjust).contrasts, reference["cbpp"][f"pairs_{adjust}"]
        assert [f"period{row.name.replace(' - ', ' - period')}" for row in found] == [row["contrast"] for row in r]
        # Differences near 0 carry the error of their parts.
        close([row.estimate for row in found], [row["estimate"] for row in r], BINOMIAL, floor=2e-3)
        close([row.p_adjusted for row in found], [row["p.value"] for row in r], 0.15, floor=2e-3)
    probability = cbpp.means("period").rows
    at_zero = reference["cbpp"]["emmeans_response"]
    assert probability[0].estimate > at_zero[0]["prob"] + 0.01  # averaged over herds, not that of the middle herd
    # Against the definition: the mean over many herds.
    drawn = np.random.default_rng(0).standard_normal(400_000) * cbpp.variance("herd").std_dev + cbpp.fixed[0].estimate
    assert probability[0].estimate == pytest.approx((1 / (1 + np.exp(-drawn))).mean(), abs=1e-3)


def test_an_unbalanced_model_is_that_of_lmertest(whole: MixedModel, unbalanced: pl.DataFrame) -> None:
    assert -2 * whole.log_likelihood == pytest.approx(HERE["reml"], abs=1e-5)
    assert whole.aic == pytest.approx(HERE["aic"], abs=1e-5)
    assert whole.bic == pytest.approx(HERE["bic"], abs=1e-5)
    by_group = {row["grp"]: row["vcov"] for row in HERE["variances"]}
    for row in whole.variances:
        close(row.variance, by_group[row.group], 2e-3)
    for name, result in (("kr", whole), ("satterthwaite", mixed(FULL, unbalanced, df="satterthwaite"))):
        theirs = {row["term"]: row for row in HERE[name]}
        for row in result.fixed:
            r = theirs[row.term.replace("[", "").replace("]", "")]
            close([row.estimate, row.std_error], [r["Estimate"], r["Std. Error"]], 5e-4, floor=1e-5)
            close(row.df, r["df"], 1e-2)


def test_tests_of_terms_are_type_three(whole: MixedModel, unbalanced: pl.DataFrame) -> None:
    for name, result in (("tests_kr", whole), ("tests_satterthwaite", mixed(FULL, unbalanced, df="satterthwaite"))):
        theirs = {row["term"]: row for row in HERE[name]}
        assert [test.term for test in result.tests] == ["model", "scenario", "x", "model:scenario"]
        for test in result.tests:
            r = theirs[test.term]
            assert test.df == r["NumDF"]
            close([test.statistic, test.p_value], [r["F value"], r["Pr(>F)"]], 2e-3, floor=1e-6)
            close(test.df_denominator, r["DenDF"], 1e-2)


def test_tests_of_terms_do_not_hang_on_the_reference(whole: MixedModel, unbalanced: pl.DataFrame) -> None:
    turned = mixed(FULL, unbalanced, levels={"model": ["c", "a", "b"], "scenario": ["t", "s"]})
    for one, other in zip(whole.tests, turned.tests, strict=True):
        close([one.statistic, one.df_denominator], [other.statistic, other.df_denominator], 1e-4)
    without = mixed(FULL.replace("~ ", "~ 0 + "), unbalanced)
    assert without.tests[0].df == 2
    close(without.tests[0].statistic, whole.tests[0].statistic, 1e-4)


def test_means_are_those_of_emmeans(whole: MixedModel) -> None:
    for weights, key in (("equal", "means"), ("observed", "proportional")):
        for row, r in zip(whole.means("model", weights=weights).rows, HERE[key], strict=True):
            assert row.levels == (("model", r["model"]),)
            close([row.estimate, row.std_error], [r["emmean"], r["SE"]], 1e-3, floor=1e-5)
            close([row.df], [r["df"]], 1e-2)
            close([row.conf_low, row.conf_high], [r["lower.CL"], r["upper.CL"]], 2e-3, floor=1e-4)
    cells = {(r["scenario"], r["model"]): r for r in HERE["cells"]}
    for row in whole.means("model", by="scenario").rows:
        r = cells[row.levels[0][1], row.levels[1][1]]
        close([row.estimate, row.std_error], [r["emmean"], r["SE"]], 1e-3, floor=1e-5)


def test_contrasts_are_those_of_emmeans(whole: MixedModel) -> None:
    for adjust in ("holm", "tukey"):
        for row, r in zip(whole.means("model", adjust=adjust).contrasts, HERE[adjust], strict=True):
            assert row.name == r["contrast"]
            close(
                [row.estimate, row.std_error, row.p_adjusted], [r["estimate"], r["SE"], r["p.value"]], 2e-3, floor=1e-5
            )
    within = whole.means("model", by="scenario", contrasts="reference").contrasts
    for row, r in zip(within, HERE["within"], strict=True):
        assert (row.name, row.family) == (f"{r['scenario']}: {r['contrast']}", r["scenario"])
        close([row.estimate, row.std_error, row.p_adjusted], [r["estimate"], r["SE"], r["p.value"]], 2e-3, floor=1e-5)


def test_means_are_public(whole: MixedModel) -> None:
    found = whole.means("model", by=None, contrasts="pairwise", adjust="tukey")
    assert isinstance(found, es.Means)
    assert found == whole.means("model", adjust="tukey")
    assert found.df_method == "kenward-roger"


def test_random_effects_are_those_of_lme4(whole: MixedModel) -> None:
    theirs = {(row["grpvar"], row["grp"]): row for row in HERE["ranef"]}
    frame = whole.effects_frame()
    assert frame.height == len(theirs)
    for row in frame.iter_rows(named=True):
        r = theirs[row["group"], row["level"]]
        close([row["estimate"]], [r["condval"]], 5e-3, floor=1e-4)
        close([row["conditional_sd"]], [r["condsd"]], 5e-3)
        assert row["conf_low"] < row["estimate"] < row["conf_high"]


def test_nested_models_compare_as_in_r(whole: MixedModel, unbalanced: pl.DataFrame) -> None:
    small = mixed(FULL.replace("*", "+"), unbalanced)
    found = whole.likelihood_ratio(small)
    r = HERE["likelihood_ratio"]
    close([found.statistic, found.p_value], [r["chisq"], r["p"]], 1e-4, floor=1e-5)
    assert found.df == ((1.0, r["df"]),)
    assert "both models were refitted by ML" in found.notes
    one, two = mixed("y ~ model + (1|item)", unbalanced), mixed("y ~ model + (x||item)", unbalanced)
    found = two.likelihood_ratio(one)
    close([found.statistic, found.p_value], [HERE["variance_ratio"]["chisq"], HERE["variance_ratio"]["p_half"]], 1e-3)


def test_models_of_single_trials_compare_though_their_cells_differ(unbalanced: pl.DataFrame) -> None:
    small = mixed("k ~ 1 + (1 | item)", unbalanced, family="binomial")
    large = mixed("k ~ model + scenario + (1 | item)", unbalanced, family="binomial")
    assert small.n_cells < large.n_cells
    assert -2 * large.log_likelihood == pytest.approx(HERE["binomial"]["deviance"], abs=4e-3)
    assert large.bic == pytest.approx(HERE["binomial"]["bic"], abs=4e-3)
    close([row.estimate for row in large.fixed], list(HERE["binomial"]["beta"].values()), BINOMIAL)
    found = large.likelihood_ratio(small)
    assert found.statistic == pytest.approx(2 * (large.log_likelihood - small.log_likelihood), abs=1e-5)
    assert found.df == ((1.0, 3),)


def test_models_that_are_not_nested_are_refused(whole: MixedModel, unbalanced: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="nothing to test"):
        whole.likelihood_ratio(whole)
    with pytest.raises(InputError, match="which the larger has not"):
        mixed(FULL.replace("*", "+"), unbalanced).likelihood_ratio(whole)
    with pytest.raises(InputError, match="rows, or to other responses"):
        mixed("y ~ x + (1|item)", unbalanced).likelihood_ratio(mixed("y ~ 1 + (1|item)", unbalanced[:-5]))
    with pytest.raises(InputError, match="differ in fixed and in random effects"):
        whole.likelihood_ratio(mixed("y ~ 1 + (1|item)", unbalanced))
    with pytest.raises(InputError, match="give one response"):
        whole.likelihood_ratio(mixed("x ~ 1 + (1|item)", unbalanced))


def test_profile_intervals_are_those_of_lme4(sleep: pl.DataFrame, reference: dict) -> None:
    found = mixed("Reaction ~ Days + (Days | Subject)", sleep).profile()
    r = {row["term"]: row for row in reference["sleepstudy"]["profile_ci"]}
    ends = {row["term"]: (row["conf_low"], row["conf_high"]) for row in found.iter_rows(named=True)}
    for ours, theirs in (("Days", "Days"), ("(Intercept)", "(Intercept)"), ("sigma", "sigma")):
        close(ends[ours], [r[theirs]["2.5 %"], r[theirs]["97.5 %"]], 2e-3)


def test_a_bootstrap_covers_every_parameter(unbalanced: pl.DataFrame) -> None:
    result = mixed("y ~ model + (1 | item)", unbalanced)
    found = result.bootstrap(n_resamples=60, conf_level=0.9, workers=1)
    assert found["term"].to_list() == ["(Intercept)", "model[b]", "model[c]", "(Intercept)", ""]
    assert found["group"].to_list() == ["", "", "", "item", "Residual"]
    close(found["estimate"][:3], [row.estimate for row in result.fixed], 1e-12)
    # 60 draws know a standard deviation to about 1 in 10.
    close(found["std_error"][1:3], [row.std_error for row in result.fixed[1:]], 0.35)
    assert (found["conf_low"] < found["conf_high"]).all()
    assert found.equals(result.bootstrap(n_resamples=60, conf_level=0.9, workers=1))


def test_a_singular_fit_is_said() -> None:
    y = [1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0, 1.0, 1.0, 3.0, 4.0, 2.0]  # every group has the mean 2.5
    result = mixed("y ~ 1 + (1 | g)", {"y": y, "g": list("aaaabbbbcccc")})
    assert result.variance("g").variance == 0.0
    fit = [note.text for note in result.notes if note.kind == "fit"]
    assert any(text.startswith("singular fit: the variance of g") for text in fit)
    assert any("g has only 3 levels" in text.lower() for text in fit)
    assert result.document().label == "singular"
    assert result.effects_frame()["conf_low"].null_count() == 3  # 0 is an estimate, not certainty
    assert result.variance("g").correlation is None


def test_separation_is_answered_and_said() -> None:
    rng = np.random.default_rng(7)
    item = np.tile(np.arange(30), 2)
    frame = {"y": np.r_[rng.integers(0, 2, 30), np.ones(30, dtype=int)], "m": ["a"] * 30 + ["b"] * 30, "item": item}
    result = mixed("y ~ m + (1 | item)", frame, family="binomial")
    assert result.penalty
    assert np.isfinite(result.effect("m[b]").estimate)
    assert result.document().label in ("penalised", "singular")
    assert f"weakly informative prior: {result.penalty}"[1:] in result.explain()
    with pytest.raises(InputError, match="no likelihood to profile"):
        result.profile()


def test_bad_options_are_said(unbalanced: pl.DataFrame) -> None:
    for options, said in (
        ({"df": "satterthwait"}, "df is 'satterthwait'"),
        ({"conf_level": 95}, "conf_level is 95"),
        ({"n_quadrature": 9}, "n_quadrature is for random effects of binomial models"),
        ({"reml": False, "df": "kenward-roger"}, "REML"),
        ({"family": "binomial", "df": "satterthwaite"}, "is for linear models"),
    ):
        with pytest.raises(InputError, match=said):
            mixed("k ~ model + (1 | item)", unbalanced, **options)


def test_bad_means_are_said(whole: MixedModel, cbpp: MixedModel) -> None:
    for options, said in (
        ({"specs": "modle"}, "'modle' is no fixed factor"),
        ({"specs": "x"}, "'x' is no fixed factor"),
        ({"specs": []}, "no factor is named"),
        ({"specs": "model", "by": "model"}, "named twice"),
        ({"specs": "model", "scale": "logit"}, "scale is 'logit'"),
        ({"specs": "model", "contrasts": "all"}, "contrasts is 'all'"),
        ({"specs": "model", "reference": "a"}, "pass contrasts='reference'"),
        ({"specs": "model", "contrasts": "reference", "reference": "z"}, "'z' is not one of"),
        ({"specs": "model", "weights": {"scenario": {"u": 1}}}, "names 'u'"),
        ({"specs": "model", "adjust": "scheffe"}, "adjustment is 'scheffe'"),
    ):
        with pytest.raises(InputError, match=said):
            whole.means(**options)
    with pytest.raises(InputError, match="compared in pairs"):
        cbpp.means("period", contrasts="mean")


def test_means_of_an_empty_cell_are_null(unbalanced: pl.DataFrame) -> None:
    frame = unbalanced.filter(~((pl.col("model") == "b") & (pl.col("scenario") == "t")))
    result = mixed("y ~ model * scenario + (1 | item)", frame)
    rows = {row.name: row for row in result.means("model").rows}
    assert rows["b"].estimate is None
    assert "not estimable" in (rows["b"].reason or "")
    assert rows["a"].estimate is not None
    by = result.means("model", by="scenario")
    assert [row.estimate is None for row in by.rows] == [False, False, False, False, True, False]
    assert sum(row.estimate is None for row in by.contrasts) == 2
    assert {test.term: test.n_lost for test in result.tests} == {"model": 1, "scenario": 1, "model:scenario": 1}
    binomial = mixed("k ~ model * scenario + (1 | item)", frame, family="binomial")
    assert [row.estimate is None for row in binomial.means("model").rows] == [False, True, False]


def test_a_saved_result_holds_its_tables_and_no_data(whole: MixedModel, cbpp: MixedModel, tmp_path: Path) -> None:
    for result in (whole, cbpp):
        assert "numbers" not in result.to_dict()
        result.save(tmp_path / "saved.json")
        saved = es.load_result(tmp_path / "saved.json")
        assert saved == result
        with pytest.raises(InputError, match="a saved model holds no data"):
            saved.means("model")  # type: ignore[attr-defined]  # what is loaded is known to be a model
        assert result.to_frame()["term"].to_list() == [row.term for row in result.fixed]
        assert result.variances_frame().height == len(result.variances)
        assert result.tests_frame().height == len(result.tests)
    found = whole.means("model", by="scenario")
    assert found.to_frame().columns[:2] == ["scenario", "model"]
    assert found.contrasts_frame().height == 6
    assert repr(found) == "<Means: y for model by scenario: 6 means and 6 contrasts, holm>"


def test_one_table_gives_one_result(unbalanced: pl.DataFrame) -> None:
    first = mixed(FULL, unbalanced)
    for other in (unbalanced.sample(fraction=1.0, shuffle=True, seed=1), unbalanced.to_pandas(), unbalanced.to_arrow()):
        assert mixed(FULL, other).to_dict() == first.to_dict()


def test_names_of_models_move_nothing(unbalanced: pl.DataFrame) -> None:
    names = {"a": "zeta", "b": "alpha", "c": "mid"}
    renamed = unbalanced.with_columns(pl.col("model").replace(names))
    here = {row.name: row.estimate for row in mixed(FULL, unbalanced).means("model").rows}
    there = {row.name: row.estimate for row in mixed(FULL, renamed).means("model").rows}
    for old, new in names.items():
        assert there[new] == pytest.approx(here[old], abs=1e-6)


def test_swapped_signs_swap_effects(unbalanced: pl.DataFrame) -> None:
    turned = mixed(FULL, unbalanced.with_columns(-pl.col("y")))
    close(
        [-row.estimate for row in turned.fixed],
        [row.estimate for row in mixed(FULL, unbalanced).fixed],
        1e-6,
        floor=1e-8,
    )
    flipped = mixed("k ~ model + (1|item)", unbalanced.with_columns((1 - pl.col("k")).alias("k")), family="binomial")
    straight = mixed("k ~ model + (1|item)", unbalanced, family="binomial")
    close([-row.estimate for row in flipped.fixed], [row.estimate for row in straight.fixed], 1e-4, floor=1e-5)


def test_a_table_in_the_place_of_the_formula_is_said_to_be_one(sleep: pl.DataFrame) -> None:
    with pytest.raises(InputError, match=r"the formula comes first, and then the table; .* is a DataFrame"):
        mixed(sleep, "Reaction ~ Days")  # type: ignore[arg-type]
