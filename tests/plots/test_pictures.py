"""Every figure at up to four sizes, on ten awkward data sets, by a renderer's boxes: what a reader would see as a fault.

No text overlaps a text, a mark or the frame; no name is cut where it had room; none is left out.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from matplotlib.figure import Figure

from evalstats import plots
from tests.plots.drawing import assert_words_stand_apart, covered_marks, cut_with_room, struck_names, texts

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")

NAMES: dict[str, list[str]] = {
    "long names": [f"an evaluation of {what} with a very long description of its settings" for what in "abcdef"],
    "one row": ["alone"],
    "sixty rows": [f"model-{k:02d}" for k in range(60)],
    "one prefix": [f"provider/family-of-models-{k}-instruct-2024-11-20" for k in range(12)],
    "CJK": ["通义千问", "文心一言 四", "ほげ-7b", "한국어 모델", "豆包", "混元"],
    "all equal": [f"m{k}" for k in range(8)],
    "huge": [f"m{k}" for k in range(8)],
    "tiny": [f"m{k}" for k in range(8)],
    "negative": [f"m{k}" for k in range(8)],
    "missing": [f"m{k}" for k in range(8)],
}
SCALES = {"all equal": (50.0, 0.0), "huge": (3e9, 4e8), "tiny": (2e-6, 3e-7), "negative": (-60.0, 4.0)}


def numbers(data: str) -> dict[str, list[Any]]:
    """Names, numbers and intervals of a data set; zero widths are no intervals."""
    middle, step = SCALES.get(data, (60.0, 2.0))
    names = NAMES[data]
    values: list[Any] = [middle + step * ((7 * k) % len(names) - 3) for k in range(len(names))]
    half = step or 5.0
    rows = {"label": names, "estimate": values, "conf_low": [v - half for v in values]}
    rows |= {"conf_high": [v + 1.5 * half for v in values]}
    if data == "missing":
        rows |= {
            name: [None if k % 3 == 0 else v for k, v in enumerate(rows[name])] for name in ("conf_low", "conf_high")
        }
        rows["estimate"] = [None if k % 5 == 0 else v for k, v in enumerate(values)]
    return rows


def figures(data: str) -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    """Yield each figure by name: the function, its rows and its options."""
    rows = numbers(data)
    names, n = rows["label"], len(rows["label"])
    yield "forest", plots.forest, rows, {"title": "Difference (points)", "sides": ("← worse", "better →")}
    sets = {"rank_low": [max(1, k - 1) for k in range(n)], "rank_high": [min(n, k + 3) for k in range(n)]}
    yield "ranks", plots.ranks, rows | sets, {"title": "Score, 95% interval"}
    tiers = {"tier": ["abcdefgh"[k % 8] + "bcdefgha"[k % 8] for k in range(n)]}
    yield "critical_differences", plots.critical_differences, rows | tiers, {"title": "Score"}
    start = {"start": [None if v is None else v + 1 for v in rows["estimate"]]}
    yield "dumbbell", plots.dumbbell, rows | start, {"title": "Score: □ before, ● after", "reference": 0.0}
    yield (
        "bars",
        plots.bars,
        {"label": names, "estimate": [abs(v or 0.0) for v in rows["estimate"]]},
        {"title": "Sizes"},
    )
    level = {**{k: v for k, v in rows.items() if k != "label"}, "level": names}
    yield "caterpillar", plots.caterpillar, level, {"unit": "points"}
    points = {"model": names, "x": rows["estimate"], "y": [None if v is None else 1.1 * v for v in rows["estimate"]]}
    points |= {"y_low": rows["conf_low"], "y_high": rows["conf_high"]}
    yield "scatter", plots.scatter, points, {"x_title": "lab", "y_title": "live", "identity": "live as in the lab"}
    costs = {**rows, "cost": [abs(v or 1.0) for v in rows["estimate"]], "on_frontier": [k == 0 for k in range(n)]}
    yield "frontier", plots.frontier, costs, {}
    pairs = [
        (a, b, v) for k, a in enumerate(names) for j, b in enumerate(names) if k != j for v in [rows["estimate"][j]]
    ]
    if 1 < n < 20:
        wins = dict(zip(("first", "second", "estimate"), map(list, zip(*pairs, strict=True)), strict=True))
        yield "matrix", plots.heatmap, wins, {"row": "first", "column": "second", "digits": 0}
    cells = [(a, f"scenario_{s}_of_seven", v) for a, v in zip(names, rows["estimate"], strict=True) for s in range(7)]
    table = dict(zip(("model", "scenario", "estimate"), map(list, zip(*cells, strict=True)), strict=True))
    yield "map", plots.heatmap, table, {"digits": 0}
    periods = [
        (a, p, v) for a, v in zip(names, rows["estimate"], strict=True) for p in ("2025-01", "2025-02", "2025-03")
    ]
    line = dict(zip(("model", "period", "estimate"), map(list, zip(*periods, strict=True)), strict=True))
    yield "timeline", plots.timeline, line, {"title": "points"}
    days = line | {"day": [f"{period}-01" for period in line["period"]]}
    yield "histories", plots.histories, days, {"title": "points"}
    powers = {"x": [10.0 * 2**k for k in range(6)], "estimate": [0.2, 0.4, 0.6, 0.8, 0.9, 0.95]}
    marks = {"x": [80.0], "estimate": [0.8], "words": [names[0][:20]]}
    yield "curves", plots.curves, powers, {"marks": marks, "goals": {"estimate": [0.8], "words": ["80% power"]}}
    looks = {name: [v for v in rows[name] if v is not None] for name in ("estimate", "conf_low", "conf_high")}
    shortest = min(map(len, looks.values()))
    looks = {name: v[:shortest] for name, v in looks.items()} | {"n": list(range(1, shortest + 1))}
    yield "cumulative", plots.cumulative, looks, {"title": "Difference (points)", "x_title": "Items", "stretch": (1, 2)}
    known = {"estimate": [v for v in rows["estimate"] if v is not None]}
    yield "raincloud", plots.raincloud, known, {"title": "Differences of items", "sides": ("← worse", "better →")}
    yield "sequence", plots.sequence, looks, {"title": "Difference (points)", "x_title": "Items"}


def sheets() -> Iterator[Any]:
    """With every run the smallest, which leaves least room, and a screen where names are long."""
    for data in NAMES:
        for size in ("screen", "phone", (6.4, 4.8), (3.4, 3.0)):
            quick = data != "negative" if size == (3.4, 3.0) else (data, size) == ("long names", "screen")
            yield pytest.param(data, size, marks=() if quick else pytest.mark.slow, id=f"{data}-{size}")


# Of so many names not all are asked for: the ends of many lines, points and levels.
LEFT_OUT = {"timeline", "caterpillar", "scatter", "frontier"}
NAMELESS = {"cumulative", "curves", "raincloud", "sequence"}


@pytest.mark.parametrize(("data", "size"), list(sheets()))
def test_a_picture_has_no_fault_that_a_reader_would_see(data: str, size: Any) -> None:
    faults: list[str] = []
    for name, draw, rows, options in figures(data):
        try:
            figure = draw(rows, size=size, **options)
            assert_words_stand_apart(figure)
        except AssertionError as error:
            faults.append(f"{name}: {str(error).splitlines()[0][:200]}")
            continue
        # A point or a level without numbers is none.
        given = numbers(data)
        known = [
            n for n, *v in zip(*(given[k] for k in ("label", "estimate", "conf_low")), strict=True) if None not in v
        ]
        names = [] if name in NAMELESS else known if name in LEFT_OUT else NAMES[data]
        faults += [f"{name}: {words!r} on a mark" for words in covered_marks(figure)[:3]]
        faults += [f"{name}: {words!r} is struck through" for words in struck_names(figure, set(names))[:3]]
        faults += [f"{name}: {words!r} is cut with room" for words in cut_with_room(figure, names)[:3]]
        if not (name in LEFT_OUT and len(names) > 20):
            faults += [f"{name}: {words!r} is left out" for words in left_out(figure, names)[:3]]
    assert faults == []


def left_out(figure: Figure, names: list[str]) -> list[str]:
    """Names of which no text holds a part that tells them from the others."""
    written = texts(figure)
    said = " ".join(written)
    pieces = [part for words in written for part in words.replace("…", "\n").split("\n")]
    return [name for name in names if name not in said and not any(len(p) > 1 and p.strip() in name for p in pieces)]


def test_a_fault_would_be_seen() -> None:
    """Each check fails on a picture that has its fault."""
    rows = {
        "label": ["a longer name", "another"],
        "estimate": [1.0, 2.0],
        "conf_low": [0, 1],
        "conf_high": [2, 3],
    }
    figure = plots.forest(rows, size="phone")
    name = next(text for text in figure.axes[0].texts if text.get_text() == rows["label"][0])
    assert cut_with_room(figure, rows["label"]) == left_out(figure, rows["label"]) == covered_marks(figure) == []
    name.set_text("a l…ame")
    assert cut_with_room(figure, rows["label"]) == ["a l…ame"]
    name.set_text("")
    assert left_out(figure, rows["label"]) == rows["label"][:1]
    (point, _) = (line for line in figure.axes[0].child_axes[0].lines if line.get_marker() == "o")
    name.set_text("on it")
    name.set_position(
        figure.axes[0].transData.inverted().transform(point.get_transform().transform(point.get_xydata()[0]))
    )
    assert covered_marks(figure) == ["on it"]
