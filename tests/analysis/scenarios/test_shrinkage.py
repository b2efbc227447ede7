"""Scores of sampled scenarios: how wide their intervals are, whether these hold, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.scenarios import cells
from evalstats.analysis.scenarios.cells import NO_SPREAD, NO_VARIANCE, plain_scenarios
from evalstats.analysis.scenarios.contrasts import cell_rows, drop_rows, mean_rows
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.analysis.scenarios.variation import effect_rows
from tests.analysis.scenarios.inner import LEVEL, inner, without_the_split
from tests.analysis.scenarios.tables import binary, table

NODES, SHARES = np.polynomial.hermite_e.hermegauss(40)


def averaged(logits):
    """Probabilities averaged over items whose difficulty has the SD 1."""
    return (1 / (1 + np.exp(-(logits[..., None] + NODES)))) @ SHARES / SHARES.sum()


def drawn(seed, *, between, own=0.0, shape=(3, 12), n_items=15, kind="binary"):
    """A table of sampled scenarios, items in one each, and the true scores of its cells."""
    rng = np.random.default_rng([31, seed])
    n_models, n_scenarios = shape
    logits = (
        0.3 + 0.4 * np.arange(n_models)[:, None] + between * rng.normal(size=n_scenarios) + own * rng.normal(size=shape)
    )
    if kind == "binary":
        return table(binary(rng, logits=logits, n_items=n_items, nested=True), kind=kind, nested=True), averaged(logits)
    item = rng.normal(size=(n_scenarios, n_items))
    scores = logits[:, :, None] + item + rng.normal(size=(n_models, n_scenarios, n_items))
    return table(scores, kind=kind, nested=True), logits


def held(answer, truth):
    """Shares of the intervals that hold the truth: of scenarios, and of cells."""
    n = truth.shape[1]
    means = mean_rows(answer.table, answer.fitted, [1 / n] * n, LEVEL)[1]
    of_means = [row.conf_low <= truth[:, int(row.name[1:])].mean() <= row.conf_high for row in means]
    of_cells = [
        row.conf_low <= truth[int(row.model[1:]), int(row.scenario[1:])] <= row.conf_high for row in answer.cells()
    ]
    return np.mean(of_means), np.mean(of_cells)


@pytest.fixture(scope="module")
def flat():
    """A table in which both standard deviations of scenarios are estimated as 0, though true ones are not."""
    for seed in range(20):
        data, _ = drawn(seed, between=0.25, n_items=8, kind="continuous")
        answer = inner(data, as_="random")
        theta = answer.fitted.fit.theta
        if (theta[[1, 2]] == 0).all():
            return data, answer
    raise AssertionError("no such table was drawn")


def test_an_estimate_of_0_leaves_scenarios_open(flat):
    """Each scenario keeps a number of its own, and an interval nearly as wide as what is known of it alone."""
    _, answer = flat
    rows = answer.cells()
    for model in ("m0", "m1", "m2"):
        own = [row for row in rows if row.model == model]
        assert len({round(row.estimate, 6) for row in own}) == len(own)
        plain = np.corrcoef([row.observed for row in own], [row.estimate for row in own])[0, 1]
        assert plain > 0.3
    alone = plain_scenarios(answer.table, answer.fitted.laid)
    n = len(answer.table.scenarios)
    wide = [row.conf_high - row.conf_low for row in mean_rows(answer.table, alone, [1 / n] * n, LEVEL)[1]]
    shrunk = [row.conf_high - row.conf_low for row in mean_rows(answer.table, answer.fitted, [1 / n] * n, LEVEL)[1]]
    assert 0.4 * np.mean(wide) < np.mean(shrunk) < np.mean(wide)


def test_every_change_is_judged_where_the_estimate_is_0(flat, monkeypatch):
    data, _ = flat
    without_the_split(monkeypatch)
    answer = scenarios(data, as_="random", n_resamples=0)
    assert all(row.verdict == "not shown" and row.p_value is not None for row in answer.drops)
    page = answer.document()
    assert not [note for note in page.notes if "not judged" in note.text]
    assert "all scores are the same" not in answer.summary()


def test_the_first_screen_says_that_scores_are_shrunk(flat, monkeypatch):
    data, _ = flat
    without_the_split(monkeypatch)
    answer = scenarios(data, as_="random", n_resamples=0)
    assert "Scores are shrunk towards each model's mean" in answer.summary()
    assert answer.document().tables["scenarios"].columns[1].title.startswith("Shrunk")
    assert "shrunk" in answer.document().tables["cells"].caption
    fixed = replace(answer, scenario_as="fixed")
    assert "shrunk" not in fixed.summary()
    assert fixed.document().tables["scenarios"].columns[1].title.startswith("Mean")


def test_the_reason_for_no_interval_is_the_true_one(flat):
    """A fit that did not converge has one point, in which the standard deviations are 0: scores differ all the same."""
    _, answer = flat
    fit = answer.fitted.fit
    assert len(np.unique(answer.table.frame["score"])) > 100
    assert answer.fitted.without_spread == NO_VARIANCE != NO_SPREAD
    stopped = replace(fit, convergence=replace(fit.convergence, converged=False))
    fitted = cells._sampled(answer.table, answer.fitted.laid, stopped)
    drops = drop_rows(answer.table, fitted, None, None, reference="average", conf_level=LEVEL)
    assert {row.verdict_reason for row in drops} == {NO_VARIANCE}
    assert all(row.conf_low is not None for row in cell_rows(answer.table, fitted, None, LEVEL))


def test_levels_agree_with_their_scores(flat):
    """The effect of a scenario and of its pairs add up to its cells."""
    _, answer = flat
    effect = {(row.group, row.level): row for row in effect_rows(answer.fitted, LEVEL)}
    law = answer.fitted.cells.sampled.law
    beta = law.mean(np.stack([fit.beta for fit in law.fits]))
    for row in answer.cells():
        own = effect["scenario", row.scenario], effect["model:scenario", f"{row.model}:{row.scenario}"]
        total = beta[answer.table.models.index(row.model)] + sum(each.estimate for each in own)
        assert total == pytest.approx(row.estimate, abs=1e-9)
        assert all(each.conf_low < each.estimate < each.conf_high for each in own)


def test_intervals_hold_on_average_over_scenarios():
    """Few tables: the slow one below has more, and shares of right and wrong."""
    made = [drawn(seed, between=0.4, n_items=6, kind="continuous") for seed in range(4)]
    rates = np.array([held(inner(data, as_="random"), truth) for data, truth in made])
    assert (rates.mean(axis=0) > 0.9).all()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 12), (2, 20)], ids=["12 scenarios", "20 scenarios"])
@pytest.mark.parametrize(("between", "own"), [(0.0, 0.0), (0.15, 0.0), (0.3, 0.0), (0.6, 0.0), (0.3, 0.3)])
def test_coverage_of_scenarios_and_cells(shape, between, own, request):
    """At least what is promised. Where scenarios hardly differ more: an interval cannot know that they do not."""
    n_items = 15 if shape[1] == 12 else 30
    rates, ratios = [], []
    for seed in range(60):
        data, truth = drawn(1000 + seed, between=between, own=own, shape=shape, n_items=n_items)
        answer = inner(data, as_="random")
        rates.append(held(answer, truth))
        alone = cell_rows(answer.table, plain_scenarios(answer.table, answer.fitted.laid), None, LEVEL)
        widths = [np.mean([row.conf_high - row.conf_low for row in rows]) for rows in (answer.cells(), alone)]
        ratios.append(widths[0] / widths[1])
    mean, noise = np.mean(rates, axis=0), np.std(rates, axis=0, ddof=1) / np.sqrt(len(rates))
    request.node.user_properties.append(("held", mean.tolist()))
    assert (mean + 3 * noise > 0.93).all()
    assert np.mean(ratios) < 1.0
