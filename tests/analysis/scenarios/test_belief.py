"""What is done where a binomial mixed model would mislead, and what the headline test sees."""

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.loaders.frames import from_frame
from tests.analysis.scenarios.tables import lines


def _data(rows):
    return from_frame(
        pl.DataFrame(rows), item="question", score="score", model="model", variant="variant", scenario="scenario"
    )


def _row(model, question, scenario, score, **more):
    return {"model": model, "question": question, "scenario": scenario, "variant": scenario, "score": score, **more}


def test_items_that_always_succeed_or_always_fail_leave_the_plain_means():
    """Most items are 0 or 10 of 10: log-odds are far from normal, and the answer is that of the shares, said so."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(60):
        for scenario, rate in (("input", 0.4), ("output", 0.35)):
            p = float(rng.random() < rate) if rng.random() < 0.85 else 0.5
            rows += [_row("m", f"q{i}", scenario, float(rng.random() < p), trial=k) for k in range(10)]
    frame = pl.DataFrame(rows)
    data = from_frame(
        frame, item="question", score="score", model="model", variant="variant", scenario="scenario", trial="trial"
    )
    found = scenarios(data, n_resamples=0)
    assert found.family == "gaussian"
    assert any("most items always succeed or always fail" in text for text in lines(found))
    plain = dict(frame.group_by("scenario").agg(pl.col("score").mean()).iter_rows())
    for cell in found.cells:
        assert cell.estimate == pytest.approx(
            plain[cell.scenario], abs=1e-9
        )  # balanced: the plain mean, up to rounding


def test_a_collapse_to_none_right_is_seen_by_the_headline():
    """A cell of 0 of 100 is an ordinary mean for the test: it is not left out."""
    rng = np.random.default_rng(0)
    rows = [
        _row(model, f"q{i}", scenario, float(rng.random() < (0.0 if (model, scenario) == ("B", "x") else 0.6)))
        for i in range(100)
        for model in "AB"
        for scenario in "xyz"
    ]
    found = scenarios(_data(rows), n_resamples=0)
    assert found.interaction is not None
    assert found.interaction.p_value == pytest.approx(5e-4)  # the least that 1,999 draws can give
    assert found.drop("B", "x").verdict == "drop"
    assert found.penalty


def test_of_two_scenarios_the_better_is_the_reference():
    rng = np.random.default_rng(2)
    rows = [
        _row(model, f"q{i}", scenario, float(rng.random() < rate))
        for i in range(40)
        for model in "AB"
        for scenario, rate in (("bn", 0.3), ("en", 0.8))
    ]
    found = scenarios(_data(rows), n_resamples=0)
    assert found.reference == "en"
    assert [(row.model, row.scenario) for row in found.drops] == [(name, "bn") for name in found.model_names]


def test_an_interaction_that_the_formula_lacks_is_not_tested():
    rng = np.random.default_rng(3)
    rows = [
        _row(model, f"q{i}", scenario, float(rng.normal())) for i in range(20) for model in "AB" for scenario in "xyz"
    ]
    found = scenarios(_data(rows), formula="score ~ model + scenario + (1 | item)", n_resamples=0)
    assert found.interaction is None
    assert any("is assumed, not tested" in text for text in lines(found))
