"""Options of a question stand once: its function takes what its dataclass declares, with the same defaults."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from evalstats.analysis.arena.arena import arena
from evalstats.analysis.arena.options import ArenaOptions
from evalstats.analysis.contamination.contamination import contamination
from evalstats.analysis.contamination.options import ContaminationOptions
from evalstats.analysis.frontier.frontier import frontier
from evalstats.analysis.frontier.options import FrontierOptions
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.options import LeaderboardOptions
from evalstats.analysis.options import given, offered
from evalstats.analysis.overview.options import OverviewOptions
from evalstats.analysis.overview.overview import overview
from evalstats.analysis.power.options import PowerOptions
from evalstats.analysis.power.power import power
from evalstats.analysis.scenarios.options import ScenarioOptions
from evalstats.analysis.scenarios.scenarios import scenarios

QUESTIONS: dict[str, tuple[Callable[..., Any], type]] = {
    "arena": (arena, ArenaOptions),
    "contamination": (contamination, ContaminationOptions),
    "frontier": (frontier, FrontierOptions),
    "leaderboard": (leaderboard, LeaderboardOptions),
    "overview": (overview, OverviewOptions),
    "power": (power, PowerOptions),
    "scenarios": (scenarios, ScenarioOptions),
}
# Arguments that only Python has.
BESIDE = {"on_progress", "on_step", "pilot", "plan"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_function_takes_what_its_options_declare(name: str) -> None:
    function, options = QUESTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    declared = {each.name: each.default for each in offered(options)}
    keywords = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    taken = {each.name: each.default for each in keywords if each.name in declared or each.name not in BESIDE}
    assert taken == declared


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_option_says_what_it_is_for(name: str) -> None:
    assert all(each.option.help for each in offered(QUESTIONS[name][1]) if not each.option.hidden)


def test_only_what_differs_from_the_defaults_is_given() -> None:
    assert given(FrontierOptions(seed=3)) == {"seed": 3}
