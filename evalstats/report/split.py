"""Whether a page splits its comparison, and what the factor is called."""

import polars as pl

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.grouping import label_of
from evalstats.schema.data import EvalData

MOST_SCENARIOS = 20
SCENARIO = "scenario"


def scenario_name(data: EvalData) -> str:
    """Return the sources' own name of the scenario, where it has one that means nothing else in these data."""
    present = set(data.outcomes["run"].unique().to_list())
    runs = data.runs.filter(pl.col("run").is_in(list(present)))
    names = EvalData(runs=runs).factor_names()
    name = label_of(SCENARIO, names)
    return SCENARIO if name in data.outcomes.columns else name


def splits_by_itself(data: EvalData) -> bool:
    """Whether there are 2 to 20 scenarios: few enough to be looked at one by one."""
    return 2 <= data.outcomes[SCENARIO].drop_nulls().n_unique() <= MOST_SCENARIOS


def lies_within_clusters(data: EvalData, result: Comparison) -> bool:
    """Whether every scenario lies within one cluster: then a scenario has one cluster, and no interval.

    That is so where the scenario is the cluster, is nested in one, or makes the same groups under another name.
    """
    runs = list({*result.baseline.runs, *result.candidate.runs})
    rows = data.outcomes.filter(pl.col("run").is_in(runs) & pl.col(SCENARIO).is_not_null())
    levels = rows[SCENARIO].n_unique()
    for name in result.clusters:
        column = ["task", "item"] if name == "item" else [data.factor(name)]
        known = rows.drop_nulls(column)
        pairs = known.select({SCENARIO, *column}).unique()
        if known.height and pairs.height == known[SCENARIO].n_unique() == levels:
            return True
    return False
