"""The tables of where models break: what fits into 80 columns, what stands in which cell, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.wording_tables import (
    codes_of,
    crossings_table,
    drops_table,
    matrix,
    models_table,
    pairs_table,
    scenarios_table,
)
from evalstats.document.blocks import Table
from evalstats.document.text import to_text
from tests.analysis.scenarios import example


def cells_of(table: Table | None) -> dict[tuple[str, str], str]:
    assert table is not None
    return {
        (row[0], column): text.strip() for row in table.rows for column, text in zip(table.columns, row, strict=True)
    }


def of_size(n_models: int, n_scenarios: int, **options: str) -> ScenarioModel:
    rates = np.random.default_rng(1).uniform(0.2, 0.9, (n_models, n_scenarios))
    models = tuple(f"a-model-with-a-name-{i}" for i in range(n_models))
    scenarios = ("ideal", *(f"scenario_number_{i}" for i in range(1, n_scenarios)))
    return example.made(rates, models, scenarios, n_items=50, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", ["ideal", "average"])
@pytest.mark.parametrize("size", [(1, 2), (2, 2), (19, 7), (19, 8), (3, 20), (40, 8)])
def test_the_matrix_fits_80_columns_with_every_cell(size: tuple[int, int], reference: str) -> None:
    found = of_size(*size, reference=reference)
    table = matrix(found)
    assert table is not None
    assert len(table.rows) * (len(table.columns) - 1) == size[0] * size[1]
    lines = to_text([table]).splitlines()
    assert max(map(len, lines)) <= 80
    body = lines[-len(table.rows) :]
    # A name may be cut short, but no number.
    assert not any("…" in line[26:] for line in body)
    assert all(len(line.split()) == len(table.columns) for line in body)


def test_a_matrix_that_no_screen_holds_is_not_shown_and_said_so() -> None:
    found = of_size(30, 30)
    assert matrix(found) is None
    assert "The 900 cells of models and scenarios are in the JSON and in to_frame()." in to_text(
        found.blocks(), width=500
    )
    assert codes_of(found) == {name: name for name in found.scenario_names}


def test_the_matrix_has_scores_of_the_reference_and_changes_from_it() -> None:
    found = example.rut()
    cells, codes = cells_of(matrix(found)), codes_of(found)
    for row in found.drops:
        mark = "*" if row.verdict in ("drop", "gain") else ""
        sign = "−" if (row.estimate or 0) < 0 else "+"
        assert cells[row.model, codes[row.scenario]] == f"{sign}{100 * abs(row.estimate or 0):.1f}{mark}"
    for row in found.cells:
        if row.scenario == "ideal":
            assert cells[row.model, "ideal"] == f"{100 * (row.estimate or 0):.1f}"


def test_without_a_reference_the_matrix_has_scores() -> None:
    found = example.with_missing_cells()
    cells = cells_of(matrix(found))
    for row in found.cells:
        if row.estimate is None:
            assert cells[row.model, row.scenario] == "–"
            continue
        shown = found.drop(row.model, row.scenario).verdict in ("drop", "gain")
        assert cells[row.model, row.scenario] == f"{100 * row.estimate:.1f}{'*' if shown else ''}"


def test_every_code_is_spelled_out_beside_the_scenario() -> None:
    found = example.rut()
    table = scenarios_table(found)
    column = table.columns.index("Code")
    assert {row[0]: row[column] for row in table.rows} == dict(codes_of(found))
    assert "Code" not in scenarios_table(example.small()).columns
    turned = of_size(3, 20)
    text = to_text([table for table in [matrix(turned)] if table is not None], width=2000)
    assert all(name in text for name in turned.model_names)


def test_scenarios_and_models_count_their_own_drops() -> None:
    found = example.with_missing_cells()
    by_scenario = cells_of(scenarios_table(found))
    by_model = cells_of(models_table(found))
    for name in found.scenario_names:
        rows = [row for row in found.drops if row.scenario == name and row.verdict != "invalid"]
        assert by_scenario[name, "Break"] == f"{sum(row.verdict == 'drop' for row in rows)} of {len(rows)}"
    for name in found.model_names:
        rows = [row for row in found.drops if row.model == name and row.verdict != "invalid"]
        assert by_model[name, "Gains in"] == f"{sum(row.verdict == 'gain' for row in rows)} of {len(rows)}"
    assert by_model["east", "Largest drop"] == "−28.8 banking"
    assert by_scenario["banking", "Largest drop"] == "−28.8 east"


def test_changes_stand_with_the_worst_first_and_other_methods_beside() -> None:
    found = example.medium()
    table = drops_table(found)
    values = [float(row[2].replace("−", "-")) for row in table.rows]
    assert values == sorted(values)
    text = to_text([table])
    header = next(line for line in text.splitlines() if line.startswith("Model"))
    for column in ("Change", "Interval", "Verdict", "Paired", "Pooled"):
        assert column in header
    costs = drops_table(example.costs())
    values = [float(row[2].replace("−", "-")) for row in costs.rows]
    assert values == sorted(values, reverse=True)


def test_a_long_list_says_how_much_is_left_out() -> None:
    table = drops_table(example.rut())
    assert len(table.rows) == 20
    assert "the first 20 of 114 are shown" in table.caption
    assert "of 4 " not in drops_table(example.small()).caption


def test_many_scenarios_are_shown_from_either_end() -> None:
    found = example.random_scenarios()
    table = scenarios_table(found)
    means = [row.estimate or 0.0 for row in found.scenarios]
    shown = [float(row[1]) for row in table.rows]
    assert len(shown) == 20
    assert shown[0] == round(100 * max(means), 1)
    assert shown[-1] == round(100 * min(means), 1)
    assert "the 20 at either end of 40" in table.caption


def test_pairs_are_a_table_only_where_they_are_few() -> None:
    assert pairs_table(example.rut()) is None
    table = pairs_table(example.medium())
    assert table is not None
    assert len(table.rows) == 6
    assert "6 pairs as one family" in table.caption


def test_only_crossings_that_are_shown_are_listed() -> None:
    found = example.rut()
    assert found.ranking is not None
    table = crossings_table(found)
    assert table is not None
    assert len(table.rows) == sum(each.shown for each in found.ranking.crossings)
    assert crossings_table(example.small()) is None
    one = found.ranking.crossings[0]
    row = table.rows[0]
    assert (row[0], row[1]) == (one.first, one.second)
    assert row[3] == f"+{100 * one.ahead_by:.1f}"
    assert row[5] == f"−{100 * one.behind_by:.1f}"


def test_weights_are_told_where_means_stand() -> None:
    found = replace(example.small(), weights="as given: ideal 70%, impatient 30%")
    assert "(as given: ideal 70%, impatient 30%)" in models_table(found).caption
