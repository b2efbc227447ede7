"""A result of the kind of each page: its example, or a small one of its kind where the example takes seconds to compute."""

from collections.abc import Callable, Mapping
from functools import cache

from evalstats.analysis.result import Result
from evalstats.report.examples import EXAMPLES
from tests.analysis.gap import example_gap
from tests.analysis.scenarios import example as example_scenarios
from tests.frozen.cases import CASES

_SMALL: Mapping[str, Callable[[], Result]] = {
    "items": CASES["items_short_form"],
    "lab-live": example_gap.four,
    "leaderboard": CASES["leaderboard_of_eight"],
    "scenarios": example_scenarios.medium,
}


@cache
def example(kind: str) -> Result:
    """Return a result of the kind of a page."""
    return {**EXAMPLES, **_SMALL}[kind]()
