"""A win rate against one baseline bends against open ratings; its log-odds are straight."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.stats.errors_in_variables.line import fit_line
from evalstats.stats.errors_in_variables.line_estimators import bend
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from tests.analysis.gap.notes import lines_of
from tests.analysis.gap.test_gap_real import joined_by_name


@pytest.fixture(scope="module")
def points(shared_data: Path) -> pl.DataFrame:
    """Win rates of AlpacaEval (percent) and ratings of LMArena of the models that both have, with their errors."""
    lab = es.read(shared_data / "alpaca_eval" / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")
    live = es.read(shared_data / "arena_scores" / "fboulnois-csv" / "lmarena_text.csv")
    found = es.gap(lab, live, lab_metric="win_rate", aliases=joined_by_name(lab, live), n_resamples=200)
    assert found.line is not None
    assert found.line.bend_p is not None
    assert found.line.bend_p < 1e-5
    assert "log-odds" in lines_of(found.notes, "fit", caution=True)
    return pl.DataFrame(
        [(row.lab, row.lab_std_error, row.live, row.live_std_error) for row in found.rows],
        schema=["lab", "lab_error", "live", "live_error"],
        orient="row",
    )


def test_win_rates_bend_and_their_log_odds_do_not(points: pl.DataFrame) -> None:
    rate, rate_error, live, live_error = (points[name].to_numpy() for name in points.columns)
    share, error = rate / 100.0, rate_error / 100.0
    p = []
    for lab, own in ((share, error), (np.log(share / (1 - share)), error / (share * (1 - share)))):
        scores = LabLiveScores(
            lab=lab, live=live, lab_covariance=np.diag(own**2), live_covariance=np.diag(live_error**2)
        )
        p.append(bend(scores, fit_line(scores)).p_value)
    # Plain least squares (no errors) has t -7.3 for the square of the rate and -1.5 for that of its log-odds.
    assert p[0] < 1e-5
    assert p[1] > 0.05
