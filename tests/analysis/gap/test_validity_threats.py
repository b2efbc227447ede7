"""The seven threats are made from the data: what they show is called seen, and what nothing excludes is not called ruled out."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.gap.model_names import date_in, dated_otherwise
from evalstats.analysis.gap.result import Threat
from evalstats.analysis.gap.shared_models import SharedCells, SharedModels
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.analysis.gap.validity_threats import threats_of
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.stats.standardisation import cell_table
from tests.analysis.gap.worlds import about, shared_of
from tests.analysis.gap.worlds import side as of_scores

MODELS = tuple("abcdefgh")
SHARE = about(low=0.0, high=1.0)
APP = replace(SHARE, benchmark="app")
KEYS = ("self-selection", "versions", "prompts", "outcome", "contamination", "judge", "survivorship")


def side(**given: object) -> SideScores:
    n = len(MODELS)
    plain: dict[str, object] = {"about": SHARE, "models": MODELS, "n": np.full(n, 100)}
    return of_scores(np.linspace(0.8, 0.4, n), **{**plain, **given})


def made_of(lab: SideScores | None = None, live: SideScores | None = None, **given: object) -> SharedModels:
    return shared_of(lab or side(), live or side(about=APP), **{"models": MODELS, **given})


def threat(key: str, made: SharedModels) -> Threat:
    return next(each for each in threats_of(made) if each.key == key)


def cells(table: np.ndarray) -> SharedCells:
    """One entry for each user, who met one model in one cell; `table` counts users, shape (n_models, n_cells)."""
    model, cell = (np.repeat(np.indices(table.shape)[axis].ravel(), table.ravel()) for axis in (0, 1))
    ones, (n_models, n_cells) = np.ones(model.size), table.shape
    made = cell_table(np.arange(model.size), model, cell, ones, ones / 2, n_models=n_models, n_cells=n_cells)
    levels = tuple((f"s{i}",) for i in range(n_cells))
    return SharedCells(factors=("scenario",), levels=levels, lab=made, live=made)


def data(**runs: object) -> EvalData:
    frame = pl.DataFrame({"run": ["r"], "benchmark": ["bench"], **{name: [value] for name, value in runs.items()}})
    return EvalData(runs=check_table(frame, "runs"))


def test_there_are_seven_in_a_fixed_order_and_none_is_seen_where_nothing_shows() -> None:
    found = threats_of(made_of())
    assert tuple(each.key for each in found) == KEYS
    assert {each.status for each in found} == {"possible"}


# --- self-selection ---


def test_users_who_bring_other_scenarios_to_other_models_are_seen() -> None:
    alike = np.full((8, 2), 40)
    other = alike.copy()
    other[0] = (75, 5)
    assert threat("self-selection", made_of(cells=cells(alike))).status == "possible"
    found = threat("self-selection", made_of(cells=cells(other)))
    assert found.status == "seen"


def test_a_user_counts_once_in_a_cell_of_a_model_however_many_rows_there_are() -> None:
    made = cells(np.full((8, 2), 6))
    assert made.live is not None
    heavy = replace(made.live, n=np.where((made.live.model == 0) & (made.live.cell == 0), 500.0, 1.0))
    assert threat("self-selection", made_of(cells=replace(made, live=heavy))).status == "possible"


def test_too_few_users_show_nothing() -> None:
    assert threat("self-selection", made_of(cells=cells(np.full((8, 2), 1)))).status == "possible"


# --- versions ---


@pytest.mark.parametrize(
    ("lab", "live", "status"),
    [
        (("2026-01-01", "2026-01-31"), ("2026-02-01", "2026-02-28"), "seen"),
        (("2026-03-01", "2026-03-31"), ("2026-02-01", "2026-02-28"), "seen"),
        (("2026-01-01", "2026-02-01"), ("2026-02-01", "2026-02-28"), "possible"),
        (("2026-01-01", "2026-02-01"), (None, None), "possible"),
    ],
)
def test_periods_that_share_no_day_are_seen(
    lab: tuple[str, str], live: tuple[str | None, str | None], status: str
) -> None:
    made = made_of(
        lab=side(first_day=lab[0], last_day=lab[1]), live=side(about=APP, first_day=live[0], last_day=live[1])
    )
    found = threat("versions", made)
    assert found.status == status
    assert f"lab {lab[0]} to {lab[1]}" in found.text
    assert ("live undated" in found.text) == (live[0] is None)


def test_an_alias_that_joins_two_dated_names_is_seen() -> None:
    lab = side(models=("gpt-x-0613", *MODELS[1:]))
    live = side(models=("gpt-x-1106", *MODELS[1:]))
    found = threat("versions", made_of(lab=lab, live=live))
    assert found.status == "seen"
    assert "1 joined name with different dates: gpt-x-0613 (lab) and gpt-x-1106 (live)" in found.text


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("claude-x-20240620", "20240620"),
        ("model-2024-05", "202405"),
        ("gpt-x-1106-preview", "1106"),
        ("llama-3.1-405b", None),
        ("qwen1.5-110b", None),
        ("model-2048", None),
    ],
)
def test_dates_in_names(name: str, date: str | None) -> None:
    assert date_in(name) == date


def test_one_date_written_in_two_ways_is_one() -> None:
    assert dated_otherwise([("x-2024-06-13", "x-0613"), ("x-2024-06-13", "x-202406"), ("x", "x")]) == []
    assert dated_otherwise([("x-0613", "x")]) == [("x-0613", "x")]


# --- prompts, judges ---


def test_settings_that_differ_between_the_sides_are_seen() -> None:
    made = made_of(
        side(data=data(prompt_hash="a", temperature=0.0)), side(about=APP, data=data(prompt_hash="b", temperature=0.0))
    )
    found = threat("prompts", made)
    assert found.status == "seen"
    assert found.text.endswith(": prompts")
    same = threat("prompts", made_of(side(data=data(prompt_hash="a")), side(about=APP, data=data(prompt_hash="a"))))
    assert same.status == "possible"  # a hash of templates says nothing of the product's system prompt
    # How the columns of a table were called is kept with a run, and says nothing of prompts and tools.
    columns = (data(config=f'{{"columns": {{"score": ["{name}"]}}}}') for name in ("correct", "solved"))
    assert threat("prompts", made_of(*(side(data=own, about=APP) for own in columns))).status == "possible"


def test_a_judge_of_the_lab_is_seen() -> None:
    found = threat("judge", made_of(side(data=data(judge="gpt-judge")), side(about=APP, data=data())))
    assert found.status == "seen"
    assert "the lab by gpt-judge" in found.text
    both = threat("judge", made_of(side(data=data(judge="j")), side(about=APP, data=data(judge="j"))))
    assert both.status == "possible"


# --- outcome ---


def test_preference_is_not_success() -> None:
    votes = side(kind="comparisons", about=about(name="rating"))
    assert threat("outcome", made_of(live=votes, same_scale=False)).status == "seen"
    assert threat("outcome", made_of(live=votes)).status == "seen"


def test_another_name_on_one_scale_shows_nothing() -> None:
    assert threat("outcome", made_of(live=side(about=replace(SHARE, name="solved")))).status == "possible"
    stars = side(about=about(name="stars", kind="ordinal"))
    assert threat("outcome", made_of(live=stars, same_scale=False)).status == "seen"


# --- survivorship ---


def test_lost_models_that_score_lower_are_seen() -> None:
    lost = tuple((f"x{i}", 0.1 + 0.01 * i, 0.02) for i in range(6))
    found = threat("survivorship", made_of(lab=side(only_here=lost)))
    assert found.status == "seen"
    # Medians: 0.125 of the lost, 0.6 of the joined.
    assert found.text.startswith("6 of 14 lab models are not on the other side; their median score is 47.5 pp lower")


def test_a_few_lost_models_are_counted_without_a_claim() -> None:
    found = threat("survivorship", made_of(live=side(only_here=(("x", 0.3, None),))))
    assert found.status == "possible"
    assert found.text.startswith("1 of 9 live models is not on the other side")
    assert "(p" not in found.text
