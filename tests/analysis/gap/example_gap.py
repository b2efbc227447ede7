"""Answers to "does the lab predict the live world?" of every kind, small ones, for the tests of words, figures and pages."""

from functools import cache

import numpy as np
import polars as pl

import evalstats as es
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.simulate.lab_live import LabLive, simulate_lab_live

HOSTILE = (
    "<script>alert(1)</script>|$x$",
    "a|b\n\n# heading \x1b[2J",
    "=cmd() `code` #eval @ref",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
    "模型日本語" * 8,
)


@cache
def _both() -> LabLive:
    return simulate_lab_live(12, n_lab_only=2, n_items=280, n_users=500, gaps={"model-07": -0.3}, seed=5)


@cache
def one_scale() -> LabLiveGap:
    """Twelve models by success in the lab and with live users, one of which does far worse live than expected."""
    return es.gap(_both().lab, _both().live, margin="10pp", n_resamples=200)


@cache
def hostile() -> LabLiveGap:
    """As `one_scale`, with names that try to break out of a table or a page."""
    names = {f"model-{j:02d}": name for j, name in enumerate(HOSTILE, 1)}
    return es.gap(_both().lab, _both().live, aliases=names, margin="10pp", n_resamples=200)


@cache
def votes() -> LabLiveGap:
    """Twenty-four models by a benchmark of tasks and by live votes."""
    both = simulate_lab_live(24, live="comparisons", n_lab_only=3, n_items=210, n_users=300, seed=2)
    return es.gap(both.lab, both.live, n_resamples=200)


def _published(estimate: np.ndarray, error: float | None, **columns: str) -> pl.DataFrame:
    names = [f"model-{j:02d}" for j in range(estimate.size)]
    frame = pl.DataFrame({"model": names, "estimate": estimate})
    told = {} if error is None else {"std_error": pl.lit(error)}
    return frame.with_columns(**told, **{name: pl.lit(value) for name, value in columns.items()})


@cache
def without_errors() -> LabLiveGap:
    """Thirty-five models of two published tables without standard errors: agreement, and nothing of any gap."""
    order = np.arange(35)
    lab = _published(60.0 - 1.5 * order + 6.0 * np.sin(order), None, metric="score")
    return es.gap(
        lab, _published(1250.0 - 9.0 * order + 20.0 * np.cos(2.0 * order), None, metric="elo"), n_resamples=200
    )


@cache
def four() -> LabLiveGap:
    """Four models on one scale: too few for a line, so only differences are told."""
    both = simulate_lab_live(4, n_items=140, n_users=200, behaviour_shift=-0.2, seed=3)
    return es.gap(both.lab, both.live, n_resamples=200)


@cache
def invalid() -> LabLiveGap:
    """Five models on two scales: neither a difference nor a line."""
    lab = _published(np.array([61.0, 55.0, 50.0, 47.0, 31.0]), 1.5, metric="score")
    live = _published(np.array([1201.0, 1190.0, 1215.0, 1150.0, 1101.0]), 8.0, metric="elo")
    return es.gap(lab, live, n_resamples=200)


@cache
def aligned() -> LabLiveGap:
    """Ten models that all lie within a declared margin."""
    both = simulate_lab_live(10, live="aggregates", n_items=4_000, n_users=2_000, spread=1.0, seed=1)
    return es.gap(both.lab, both.live, margin="10pp", n_resamples=200)
