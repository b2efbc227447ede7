"""How long pages may be: each has its number of words in sight and its height; to grow past them is a decision."""

from pathlib import Path

import pytest

from benchmarks.pages import BUDGET, height, results, words
from evalstats.report.render import render_results


def test_every_page_has_its_budget_of_at_most_seven_screens() -> None:
    assert BUDGET.keys() == results().keys()
    assert max(tallest for _, tallest in BUDGET.values()) <= 7000
    assert BUDGET["compare"][1] <= 2700


def test_words_in_sight_are_counted() -> None:
    page = """<head><title>no</title></head><script>no</script><nav>no</nav><h1>One two</h1><svg><text>no</text></svg>
    <details><summary>no</summary><p>no<br>no</p></details><details open><p>three</p></details>
    <table><tr><td>four</td></tr><tr hidden><td>no</td></tr></table><div class="es-figure es-narrow">no</div><p>five"""
    assert words(page) == 5


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.browser if each == "compare" else pytest.mark.slow) for each in results()],
)
def test_a_page_stays_within_its_budget(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "page.html"
    render_results(results()[name](), [path], engine="embedded")
    most, tallest = BUDGET[name]
    found = words(path.read_text(encoding="utf-8"))
    assert found <= most, "cut it, or say in the budget why it may be longer"
    # A budget far above what is there would let a page grow unseen.
    assert found > 0.7 * most
    tall, _ = height(request.getfixturevalue("browser"), path)
    assert 0.7 * tallest < tall <= tallest
