"""Published numbers as any question takes them: one for each model, with a standard error where one can be had."""

import polars as pl

from evalstats.analysis.design.entries import ENTRY, FEW_OF_ALL
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.result import MetricFacts
from evalstats.document.model import Note
from evalstats.errors import InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.schema.columns import HELPER
from evalstats.schema.data import EvalData
from evalstats.schema.metrics import is_amount
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.one_sample import wilson_ends

# The column that names the model of a published number.
PUBLISHED_ENTRY = ENTRY
# Whether a standard error is not published but follows from n.
FROM_COUNT = f"{HELPER}from count"
# Columns in which two rows of one model can differ; those that do are named.
_TELLING = ("task", "scenario", "variant", "setting")
_TELLING_LAST = ("run", "date", "method")
_NEVER = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "value_raw", "n", "unit")


def published_rows(data: EvalData) -> pl.DataFrame:
    """Return the published numbers; one that is NaN is not there."""
    # NaN is above 0 for Polars.
    rows = data.aggregates.with_columns(pl.col("estimate", "std_error", "conf_low", "conf_high").fill_nan(None))
    return rows.filter(pl.col("estimate").is_not_null())


def one_each(rows: pl.DataFrame, metric: Metric, where: str = "") -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Leave out the few models that have several numbers; refuse where they are not few, since then a choice is missing."""
    repeated = rows.filter(rows[PUBLISHED_ENTRY].is_duplicated())
    names = repeated[PUBLISHED_ENTRY].unique().sort().to_list()
    if not names:
        return rows, ()
    own = repeated.filter(pl.col(PUBLISHED_ENTRY) == names[0])
    numbers = " and ".join(f"{number:g}" for number in own["estimate"].to_list())
    if len(names) > FEW_OF_ALL * rows[PUBLISHED_ENTRY].n_unique():
        # Which of them is meant is for the user to say, by a column that tells them apart.
        known = (*_TELLING, *_TELLING_LAST, *_NEVER, PUBLISHED_ENTRY, "model", "benchmark", "metric")
        extra = [column for column in own.columns if column not in known]
        columns = (*_TELLING, *extra, *_TELLING_LAST)
        telling = [name for name in columns if own[name].n_unique() > 1 and _leaves_others(rows, own, name)]
        levels = f"{telling[0]}: {quoted_list(own[telling[0]].cast(pl.String))}" if telling else numbers
        how = f"with {Option('published', blank='LEVEL', of=telling[0])}" if telling else "in the file"
        raise InputError(
            f"{names[0]!r} has {own.height} published numbers of {metric.name!r} on {metric.benchmark} ({levels}); keep one of "
            f"each model, {how}"
        )
    has = "has several published numbers" if len(names) == 1 else "have several published numbers each"
    are = "is" if len(names) == 1 else "are"
    text = f"{and_list(names)} {has} ({names[0]}: {numbers}) and {are} dropped{where}"
    left = rows.filter(~pl.col(PUBLISHED_ENTRY).is_in(names))
    return left, (Note(kind="left_out", text=text, remedy="Keep one number for each model"),)


def _leaves_others(rows: pl.DataFrame, own: pl.DataFrame, column: str) -> bool:
    """Whether a level that one model has in a column keeps at least half of all models."""
    kept = rows.join(own.select(column).unique(), on=column, how="semi").group_by(column)
    most = kept.agg(pl.col(PUBLISHED_ENTRY).n_unique())[PUBLISHED_ENTRY].max()
    return isinstance(most, int) and 2 * most >= rows[PUBLISHED_ENTRY].n_unique()


def bounds_of_published(facts: MetricFacts, score: float, n: int | None) -> tuple[float | None, float | None]:
    """Return the lowest and highest score of an item behind a published number: the metric's, else 0 and 1 for a share of `n`."""
    share = facts.bounds is None and bool(n) and 0 <= score <= 1 and not is_amount(facts.name)
    return (0.0, 1.0) if share else (facts.low, facts.high)


def with_errors_of_shares(rows: pl.DataFrame, metric: Metric) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Fill in standard errors of bounded scores from how many items are behind them.

    Of bounded scores with a given mean, right-or-wrong ones vary most. The errors have the width of Wilson's interval at 95%, so
    that a share of 0 or 1 is not certain. Scores without bounds are shares if all of them lie between 0 and 1. A run that has
    errors beside half of its n or more leaves one out for a reason, as of a baseline whose number is fixed by definition. The
    column `FROM_COUNT` marks the rows that got theirs so.
    """
    z, are_shares = normal_quantile(0.95), bool(rows["estimate"].is_between(0, 1).all())

    def error_of(score: float, n: int | None, known: float | None) -> float | None:
        low, high = bounds_of_published(metric.facts, score, n) if are_shares else (metric.facts.low, metric.facts.high)
        if known is not None or not n or low is None or high is None or not low <= score <= high:
            return known
        ends = wilson_ends((score - low) / (high - low), n, z)
        return (high - low) * (ends[1] - ends[0]) / (2 * z)

    counted, known = pl.col("n").is_not_null(), pl.col("std_error").is_not_null()
    mostly_without = (counted & known).sum().over("run") < (counted & ~known).sum().over("run")
    given = rows.select("estimate", pl.when(mostly_without).then("n").alias("n"), "std_error")
    errors = [error_of(*row) for row in given.iter_rows()]
    filled = rows.with_columns(pl.Series("std_error", errors, dtype=pl.Float64))
    from_count = rows["std_error"].is_null() & filled["std_error"].is_not_null()
    filled, n_filled = filled.with_columns(from_count.alias(FROM_COUNT)), int(from_count.sum())
    note = f"standard errors of {plural(n_filled, 'model')} are Wilson's, from the published scores and their n"
    return filled, (note,) if n_filled else ()


def with_std_errors(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Fill in standard errors from the width of published intervals."""
    known = pl.col("std_error").is_not_null()
    ends = (
        pl.col("conf_low").is_not_null()
        & pl.col("conf_high").is_not_null()
        & pl.col("conf_level").is_between(0.5, 0.9999)
    )
    derived = rows.filter(~known & ends)
    if not derived.height:
        return rows, ()
    z = pl.col("conf_level").map_elements(normal_quantile, return_dtype=pl.Float64)
    width = (pl.col("conf_high") - pl.col("conf_low")) / (2 * z)
    filled = rows.with_columns(pl.when(~known & ends).then(width).otherwise(pl.col("std_error")).alias("std_error"))
    note = (
        f"the standard errors of {plural(derived.height, 'model')} are taken from the width of the published intervals"
    )
    return filled, (note,)
