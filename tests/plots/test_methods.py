"""The figure of methods, and the words for those who see no figure."""

from dataclasses import replace

from evalstats.analysis.results import Comparison
from evalstats.plots.alt import forest_alt, methods_alt
from evalstats.plots.methods import methods, shown_methods


def words(comparison: Comparison, **options: object) -> list[str]:
    figure = methods(comparison, **options)  # pyright: ignore[reportArgumentType]
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def test_headline_first_then_every_method(tenacious: Comparison) -> None:
    found = words(tenacious)
    places = [found.index(row.method) for row in shown_methods(tenacious)]
    assert places == sorted(places)
    assert "+48.84 [−5.56, +100.00]" in found


def test_a_test_without_interval_says_its_p(tenacious: Comparison) -> None:
    assert "test only, p 4.8e-07" in words(tenacious)


def test_other_clusters_stand_below_the_headline(tenacious: Comparison) -> None:
    other = replace(tenacious, conf_low=-0.0556, conf_high=1.0, verdict="inconclusive", n_clusters=7)
    found = words(tenacious, others=[("dimension", other)])
    assert found.index("Tango score") < found.index("dimension as clusters") < found.index("McNemar mid-p")


def test_rows_of_other_terms_are_not_drawn(tenacious: Comparison) -> None:
    foreign = replace(tenacious.rows[0], term="odds ratio", method="conditional")
    assert "conditional" not in words(replace(tenacious, rows=(*tenacious.rows, foreign)))


def test_alternative_text_tells_the_numbers(grouped: Comparison) -> None:
    text = forest_alt(grouped)
    assert "trained minus baseline, in percentage points, with 95% intervals" in text
    assert "All 43 items: +48.84 [+34.62, +63.25]." in text
    assert "(6 items) no interval: fewer than 5 clusters" in text
    assert "\n" not in text


def test_alternative_text_of_methods(tenacious: Comparison) -> None:
    text = methods_alt(tenacious, others=[("dimension", tenacious)])
    assert "CR2 by dimension +48.84 [−5.56, +100.00]" in text
    assert "dimension as clusters +48.84 [+34.62, +63.25]" in text
