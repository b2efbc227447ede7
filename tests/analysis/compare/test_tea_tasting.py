"""The same A/B test by tea-tasting: means, shares of users, a ratio, CUPED, and the sizes of both groups."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.stats.estimate import normal_quantile, two_sided_normal_p
from evalstats.stats.unpaired import sample_ratio_p

TEA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "tea_tasting.json").read_text())
USERS = pl.DataFrame(TEA["users"]).with_row_index("user").with_columns(pl.col("variant").cast(pl.String))
# Sums in another order.
ROUNDING = 1e-9
# CR2 enlarges each user's pull by its own share, the delta method all by n/(n - 1): of 200 users a side, a part in 600.
OF_DELTA = 0.005
# A slope a side, where CUPED has one that it takes as known: the slope's own error widens ours by a part in 150.
OF_ONE_SLOPE = 0.01


def compared(table: pl.DataFrame, score: str, *, item: str = "user", **options: Any) -> es.Comparison:
    columns = {"model": "variant", "revenue_covariate": "revenue_covariate"}
    if item == "#row":
        columns["dependence"] = "user"
    return es.compare(es.from_frame(table, item=item, score=score, **columns), "0", "1", paired=False, **options)


def theirs(name: str) -> list[float]:
    return [TEA[name][key] for key in ("effect_size", "effect_size_ci_lower", "effect_size_ci_upper", "pvalue")]


def ours(result: es.Comparison) -> list[float | None]:
    return [result.estimate, result.conf_low, result.conf_high, result.p_value]


def test_a_mean() -> None:
    result = compared(USERS, "revenue")
    assert ours(result) == pytest.approx(theirs("mean"), abs=ROUNDING)
    assert (result.baseline.estimate, result.candidate.estimate) == pytest.approx(
        (TEA["mean"]["control"], TEA["mean"]["treatment"]), abs=ROUNDING
    )


def test_a_share_of_users() -> None:
    """Their z is Pearson's; Miettinen and Nurminen's test has N/(N - 1) times its variance."""
    result = compared(USERS.with_columns(ordered=(pl.col("orders") > 0).cast(pl.Int64)), "ordered")
    effect, low, high, p = theirs("proportion")
    n = USERS.height
    z = math.sqrt((n - 1) / n) * normal_quantile(1 - p)
    assert result.estimate == pytest.approx(effect, abs=ROUNDING)
    assert result.p_value == pytest.approx(two_sided_normal_p(z), rel=1e-9)
    assert (result.conf_low, result.conf_high) == pytest.approx((low, high), abs=0.0005)  # Wald's, in mid-range


def test_a_ratio_is_a_mean_over_rows_of_clusters() -> None:
    """Orders a session: a row for each session, users the clusters."""
    each = USERS.with_columns(order=pl.col("orders") / pl.col("sessions"))
    sessions = each.select(pl.all().repeat_by("sessions")).explode(pl.all())
    result = compared(sessions, "order", item="#row")
    effect, low, high, p = theirs("ratio")
    assert result.clusters == ("user",)
    assert result.estimate == pytest.approx(effect, abs=ROUNDING)
    assert (result.conf_high or 0) - (result.conf_low or 0) == pytest.approx(high - low, rel=OF_DELTA)
    assert result.p_value == pytest.approx(p, rel=OF_DELTA)


def test_cuped() -> None:
    result = compared(USERS, "revenue", covariate="revenue_covariate")
    assert ours(result) == pytest.approx(theirs("cuped"), rel=OF_ONE_SLOPE)
    assert ours(result) != pytest.approx(theirs("mean"), rel=OF_ONE_SLOPE)


def test_the_ratio_of_the_groups() -> None:
    found = TEA["sample_ratio"]
    assert sample_ratio_p([found["control"], found["treatment"]]) == pytest.approx(found["pvalue"], rel=1e-9)
