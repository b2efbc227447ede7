"""The level and the margin that a reader moves on the card: the page computes what Python does and concludes."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import wilson
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.unpaired import TwoProportions, miettinen_nurminen
from tests.browsing import Visit
from tests.report.quick_pages import quick_page

pytestmark = pytest.mark.browser

# Both find roots to the last digits of a double; what they differ by is rounding within the statistic.
CLOSE = 1e-9
LEVELS = (0.6, 0.8, 0.9, 0.95, 0.983, 0.999)


def result(won: int = 15, lost: int = 5, *, higher_is_better: bool = True, **options: Any) -> Any:
    """Two models on 60 items, of which the second wins some and loses some."""
    first = [0] * won + [1] * lost + [1] * 20 + [0] * (40 - won - lost)
    second = [1] * won + [0] * lost + first[won + lost :]
    frame = pl.DataFrame({"item": [*range(60)] * 2, "model": ["a"] * 60 + ["b"] * 60, "score": first + second})
    columns = {"item": "item", "model": "model", "score": "score"}
    return es.compare(es.from_frame(frame, higher_is_better=higher_is_better, **columns), "a", "b", **options)


@pytest.fixture(scope="module")
def opened(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Open the page of a comparison, with scripts or without."""
    windows: list[Any] = []

    def open_page(*, script: bool = True, **options: Any) -> Any:
        path: Path = quick_page(result(**options).document(), tmp_path_factory.mktemp("page"))
        visit = Visit(browser.new_page(java_script_enabled=script)).go(path)
        windows.append(visit)
        return visit.page

    yield open_page
    for visit in windows:
        assert visit.noise == []
        visit.page.close()


def tables() -> Iterator[tuple[str, tuple[int, ...], Callable[[float], IntervalEstimate]]]:
    """Counts from the smallest and the most extreme to large ones, as the page has them, and what Python computes of them."""
    for n, b, c in itertools.product((1, 7, 43, 2000), (0, 1, 3, 20, 900), (0, 1, 6, 22, 900)):
        if b + c <= n:
            counts = PairedCounts(0, b, c, n - b - c)
            yield "Tango score", (n, b, c), lambda level, counts=counts: tango(counts, conf_level=level)
    for n, m, x, y in itertools.product((2, 30, 700), (1, 41, 900), (0.0, 0.1, 0.5, 1.0), (0.0, 0.45, 0.98, 1.0)):
        sides = TwoProportions(candidate=round(x * n), n_candidate=n, baseline=round(y * m), n_baseline=m)
        known = (sides.candidate, n, sides.baseline, m)
        yield "Miettinen-Nurminen score", known, lambda level, sides=sides: miettinen_nurminen(sides, conf_level=level)
    for n, share in itertools.product((1, 3, 43, 5000), (0.0, 0.02, 0.5, 0.97, 1.0)):
        x = round(n * share)
        yield "Wilson", (x, n), lambda level, x=x, n=n: wilson(x, n, conf_level=level)


def test_the_page_computes_intervals_as_python_does(opened: Callable[..., Any]) -> None:
    asked = [(method, counts, level, of(level)) for method, counts, of in tables() for level in LEVELS]
    assert len(asked) > 1000
    script = "asked => asked.map(([method, counts, level]) => interval[method](quantile(level), ...counts))"
    found = opened().evaluate(script, [each[:3] for each in asked])
    for (method, counts, level, known), ends in zip(asked, found, strict=True):
        assert ends == pytest.approx((known.conf_low, known.conf_high), abs=CLOSE), (method, counts, level)


def test_a_level_that_is_moved_moves_the_interval_and_not_the_verdict(opened: Callable[..., Any]) -> None:
    page, counts = opened(), PairedCounts(20, 15, 5, 20)
    card, level = page.locator(".es-verdict"), page.get_by_role("slider", name="Level")
    before = card.locator(".es-range").get_attribute("x1")
    assert page.get_by_role("status").first.text_content() == ""
    level.fill("99")
    known = tango(counts, conf_level=0.99)
    said = f"99% CI {100 * known.conf_low:.1f} to {100 * known.conf_high:.1f} pp, includes 0.".replace("-", "−")
    alone = "By the interval alone: inconclusive."
    assert card.get_by_role("status").text_content() == f"{said} {alone} The verdict above is that at 95%."
    assert card.locator("text.es-low").text_content() == f"{100 * known.conf_low:.1f}".replace("-", "−")
    assert card.locator(".es-range").get_attribute("x1") != before
    assert "Better" in (card.locator(".es-label").text_content() or "")


@pytest.mark.parametrize(
    ("won", "lost", "margin", "words"),
    [
        (10, 10, 0.2, "equivalent within 20 pp"),
        (10, 10, 0.05, "a loss of more than 5 pp is not excluded"),
        (15, 5, 0.05, "a loss of more than 5 pp is excluded"),
    ],
)
def test_a_margin_is_held_to_one_sided_limits(
    opened: Callable[..., Any], won: int, lost: int, margin: float, words: str
) -> None:
    page, account = opened(won=won, lost=lost, margin=0.15), result(won, lost, margin=margin)
    page.get_by_role("slider", name="Margin").fill(str(100 * margin))
    said = page.locator(".es-verdict").get_by_role("status").text_content()
    assert words in said
    alone = "inconclusive" if account.verdict == "powerless" else account.verdict
    told = f"(one-sided 95%). By the interval alone: {alone}. The verdict above is that at 95% and ±15 pp."
    assert said.endswith(told)
    assert account.at_margin.noninferior == ("not excluded" not in words)
    assert (account.verdict == "equivalent") == ("equivalent" in words)
    # The band has moved, and what said where it was is gone.
    assert page.locator(".es-interval > p span").filter(has_text="band").count() == 0


@pytest.mark.parametrize(("won", "lost"), [(15, 5), (5, 15), (10, 10)])
@pytest.mark.parametrize("rising", [True, False])
def test_the_moved_interval_concludes_as_python_does(
    opened: Callable[..., Any], won: int, lost: int, *, rising: bool
) -> None:
    page = opened(won=won, lost=lost, higher_is_better=rising)
    page.get_by_role("slider", name="Level").fill("90")
    said = page.locator(".es-verdict").get_by_role("status").text_content()
    known = result(won, lost, higher_is_better=rising, conf_level=0.9).verdict
    assert f"By the interval alone: {known}." in said


@pytest.mark.parametrize(
    ("level", "shown", "margin"),
    [(0.7, "70%", None), (0.9875, "98.75%", 0.0025), (0.9999, "99.99%", 0.05)],
)
def test_until_a_slider_moves_and_on_paper_the_drawing_is_that_of_python(
    opened: Callable[..., Any], level: float, shown: str, margin: float | None
) -> None:
    options = {"conf_level": level, "margin": margin}
    drawings = [opened(script=script, **options).locator(".es-interval svg") for script in (False, True)]
    known, drawing = (each.inner_html() for each in drawings)
    assert drawing == known
    page = drawings[1].page
    slider = page.get_by_role("slider", name="Level")
    assert slider.get_attribute("aria-valuetext") == shown
    if margin is not None:
        of_margin = page.get_by_role("slider", name="Margin").get_attribute("aria-valuetext")
        assert of_margin == f"{100 * margin:g} pp"
    slider.fill("90")
    assert drawings[1].inner_html() != known
    assert f"The verdict above is that at {shown}" in page.locator(".es-verdict").get_by_role("status").text_content()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert drawings[1].inner_html() == known
    assert slider.get_attribute("aria-valuetext") == shown
    slider.fill("90")
    assert drawings[1].inner_html() != known  # what is put back can be moved again


def test_without_a_script_the_drawing_says_it_all(opened: Callable[..., Any]) -> None:
    page = opened(script=False, margin=0.02)
    card = page.locator(".es-verdict")
    assert card.locator("svg").get_attribute("aria-label") == "+16.7 [+2.2, +31.0], beside 0"
    assert card.get_by_text("band: margin ±2 pp").is_visible()
    assert page.get_by_role("slider").count() == 0


def test_what_has_no_closed_form_cannot_be_moved(opened: Callable[..., Any]) -> None:
    assert opened(method="augmented-t").get_by_role("slider").count() == 0
