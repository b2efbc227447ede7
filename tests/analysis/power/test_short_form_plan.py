"""A short form offered beside a plan: the smallest that is worth as many random items, and none where none is known."""

from functools import cache

import numpy as np
import polars as pl
from scipy import special

import evalstats as es
from evalstats.stats.item_response import two_parameter
from evalstats.stats.short_form import form_errors


@cache
def right() -> np.ndarray:
    rng = np.random.default_rng(5)
    logit = np.outer(rng.lognormal(0, 0.6, 300), rng.normal(size=24)) + rng.normal(0, 1.0, 300)[:, None]
    return (rng.random(logit.shape) < special.expit(logit)).astype(float)


def table(n_models: int) -> es.EvalData:
    rows = [
        {"item": f"q{i:03d}", "model": f"m{m:02d}", "score": int(right()[i, m])}
        for m in range(n_models)
        for i in range(300)
    ]
    return es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")


def test_a_pilot_of_many_models_offers_the_smallest_form_that_is_worth_the_plan() -> None:
    plan = es.power(pilot=table(24), baseline="m00", candidate="m01", delta="20pp")
    form = plan.short_form
    assert plan.n_items is not None
    assert form is not None
    assert form.size < plan.n_items <= form.random_size
    assert (form.n_items, form.n_models) == (300, 24)
    tried = {each.size: each for each in form_errors(right(), [20, 50, 100], curves=two_parameter(right()))}
    assert abs(form.score_error - tried[form.size].score_error) < 1e-3
    (words,) = (text for text in plan.document().actions if "chosen items" in text)
    assert words.startswith(
        f"For one model's score, {form.size} chosen items do as well as {form.random_size} random ones"
    )
    assert "on 24 models left out" in words


def test_no_form_is_offered_where_none_is_known() -> None:
    assert es.power(pilot=table(9), baseline="m00", candidate="m01", delta="20pp").short_form is None
    # More items than the pilot has: they would be others.
    assert es.power(pilot=table(24), baseline="m00", candidate="m01", delta="5pp").short_form is None
    assert es.power(delta="5pp", discordance=0.3).short_form is None
