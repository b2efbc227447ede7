"""When the page splits without being asked, and what it calls the factor."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats import datasets
from evalstats.report.comparison import ComparisonPage, open_page
from evalstats.report.handover import write_tables
from evalstats.report.split import scenario_name
from evalstats.schema.data import EvalData


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., ComparisonPage]:
    def made(data: EvalData, **options: object) -> ComparisonPage:
        write_tables(data, tmp_path)
        return open_page(store=str(tmp_path), baseline="baseline", candidate="trained", **options)

    return made


def with_columns(**columns: pl.Expr) -> EvalData:
    data = datasets.tenacious_held_out()
    return replace(data, outcomes=data.outcomes.with_columns(**columns))


def test_the_scenario_is_called_what_its_source_calls_it() -> None:
    page = open_page()
    assert page.comparison.by == "dimension"
    assert page.split_by_itself


def test_without_a_name_of_its_own_it_is_the_scenario(opened: Callable[..., ComparisonPage]) -> None:
    data = datasets.tenacious_held_out()
    runs = data.runs.with_columns(factor_names=pl.lit(None, pl.List(pl.String)))
    page = opened(replace(data, runs=runs))
    assert page.comparison.by == page.scenario == "scenario"


def test_a_name_that_is_a_column_as_well_is_not_taken_for_the_scenario() -> None:
    data = with_columns(dimension=pl.lit("another"))
    assert scenario_name(data) == "scenario"


def test_what_the_user_names_is_what_the_page_says() -> None:
    for name in ("dimension", "scenario", "task_type"):
        page = open_page(by=name)
        assert page.comparison.by == name
        assert not page.split_by_itself
        assert f"by={name!r}" in page.reproduce


@pytest.mark.parametrize("cluster", ["dimension", "scenario"])
def test_no_split_by_the_cluster(cluster: str) -> None:
    page = open_page(cluster=cluster)
    assert page.comparison.clusters == ("dimension",)
    assert page.comparison.groups == ()
    assert page.comparison.by is None
    assert "by=" not in page.reproduce
    assert open_page(cluster=cluster, by="dimension").comparison.groups != ()


def test_no_split_by_what_is_equal_to_a_cluster_or_nested_in_one(opened: Callable[..., ComparisonPage]) -> None:
    scenario = pl.col("scenario")
    equal = with_columns(author=pl.concat_str(pl.lit("author of "), scenario))
    assert opened(equal, cluster="author").comparison.groups == ()
    levels = sorted(equal.outcomes["scenario"].unique().to_list())
    coarser = with_columns(author=pl.when(scenario.is_in(levels[:2])).then(pl.lit("one")).otherwise(scenario))
    assert opened(coarser, cluster="author").comparison.groups == ()


def test_a_split_across_clusters_stays(opened: Callable[..., ComparisonPage]) -> None:
    data = with_columns(author=pl.col("item").str.extract(r"(\d)$"))
    page = opened(data, cluster="author")
    assert page.comparison.clusters == ("author",)
    assert len(page.comparison.groups) == 7


def test_no_split_where_there_is_one_scenario_or_the_user_wants_none(opened: Callable[..., ComparisonPage]) -> None:
    assert opened(with_columns(scenario=pl.lit("one"))).comparison.groups == ()
    page = open_page(by="none")
    assert page.comparison.groups == ()
    assert not page.split_by_itself
