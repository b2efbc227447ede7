"""The page on speed, `docs/speed.md` with its figure, made from the stored figures: `python -m benchmarks --page`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from benchmarks.cases import CASES, NAMESAKE, OURS, SLOWER, Case

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "speed.md"
FIGURE = ROOT / "docs" / "images" / "speed.svg"
Row = Mapping[str, Any]
_NAMES: Final = {OURS: "evalstats-toolkit", NAMESAKE: "the other evalstats"}
_ALT = (
    "Processor seconds against size for each question, ours as a thick blue line and each other package as a thin one"
)

_TEXT = """# Speed

Speed and accuracy beside packages that answer the same question. The ratio is their time divided by ours: above 1 we are faster,
below 1 (in bold) slower.

![{alt}](images/speed.svg)

Each package at its largest size:

{table}

Whole commands, with the processor seconds and memory of a program that imports numpy and Polars and reads the same file (Polars
for CSV and Parquet, msgspec into typed records for JSON):

{commands}

An error is the distance from the exact answer: for a bootstrap limit in standard errors, for a log-likelihood from the best that
any package found, for a log-strength from the optimum. A dash: no exact answer, or the package does not report the number. "The
other evalstats" is another project of the same name.

Measured on {days}: {processor}, {processors} processors, {system}, Python {python}; {packages}. Every package
runs in its own process with one thread, and packages take turns. Times are median processor seconds, of whole
commands the least. {busy}

`make bench` measures again and renews this page; `make bench-check` measures the quick cases and fails if a ratio is
{factor:g} times worse than here. `benchmarks/cases.py` and `commands.py` define all measurements.
"""


def write(stored: Mapping[str, Any]) -> None:
    """Write the page and its figure."""
    PAGE.write_text(text(stored), encoding="utf-8")
    FIGURE.write_text(drawing(stored["rows"]), encoding="utf-8")


def text(stored: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    machine = stored["machine"]
    load = machine.get("load") or 0.0
    busy = (
        f"The machine was busy (load {load:.0f} on {machine['processors']} processors): the ratios are more reliable than the "
        "seconds."
        if load > 1.5
        else "Times differ between machines; ratios differ less."
    )
    return _TEXT.format(
        alt=_ALT,
        table="\n".join(_table(stored["rows"])),
        commands="\n".join(_commands(stored["commands"])),
        packages=", ".join(
            f"{_NAMES.get(name, name)} {version}" for name, version in sorted(stored["packages"].items())
        ),
        days=" and ".join(sorted({row.get("date", stored["date"]) for row in (*stored["rows"], *stored["commands"])})),
        busy=busy,
        factor=SLOWER,
        **{name: machine[name] for name in ("processor", "processors", "system", "python")},
    )


def _commands(rows: Sequence[Row]) -> Iterator[str]:
    yield "| command | s | MB | reading alone, s | MB |\n|:--|--:|--:|--:|--:|"
    for row in rows:
        ours, floor = f"{row['seconds']:.1f} | {row['peak_mb']:,}", f"{row['floor_seconds']:.1f} | {row['floor_mb']:,}"
        yield f"| `{row['command']}` | {ours} | {floor} |"


def _largest(rows: Sequence[Row]) -> Iterator[tuple[Case, Row, Row]]:
    """Yield each package once a case, at its largest size, beside our row of that size."""
    for case in CASES:
        ours = {row["size"]: row for row in rows if row["case"] == case.name and row["package"] == OURS}
        for peer in case.peers:
            found = [
                row
                for row in rows
                if (row["case"], row["package"]) == (case.name, peer.package) and row["seconds"] is not None
            ]
            if found:
                last = max(found, key=lambda row: row["size"])
                yield case, ours[last["size"]], last


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| question | size | compared with | ours, s | theirs, s | ratio | our error | their error |"
    yield "|:--|--:|:--|--:|--:|--:|--:|--:|"
    before = ""
    for case, ours, other in _largest(rows):
        note = next(peer.note for peer in case.peers if peer.package == other["package"])
        cells = (
            _title(case) if case.name != before else "",
            f"{other['size']:,} {case.unit}" if case.unit else "",
            _name(other) + (f" ({note})" if note else ""),
            _number(ours["seconds"]),
            _number(other["seconds"]),
            _number(other["ratio"]) if other["ratio"] >= 1 else f"**{_number(other['ratio'])}**",
            _error(ours),
            _error(other),
        )
        before = case.name
        yield f"| {' | '.join(cells)} |"


def _title(case: Case) -> str:
    return f"`{case.title}`" if isinstance(case.run, tuple) else case.title


def _name(row: Row) -> str:
    return _NAMES.get(row["package"], row["package"])


def _number(value: float) -> str:
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    if value >= 0.001:
        return f"{float(f'{value:.2g}'):g}"
    return f"{value:.1e}".replace("e-0", "e-")


def _error(row: Row) -> str:
    miss = row.get("miss")
    return "–" if miss is None else "0" if miss == 0 else _number(miss)


def drawing(rows: Sequence[Row]) -> str:
    """Return the figure as SVG: a panel for each case of several sizes."""
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    from evalstats.plots.style import LIGHT, house_style, svg

    cases = [case for case in CASES if len(case.sizes) > 1 and any(row["case"] == case.name for row in rows)]
    looks = dict(zip(_drawn(rows), zip(cycle(_COLORS), cycle(_MARKERS)), strict=False))
    with house_style():
        columns = 3
        n_rows = -(-len(cases) // columns)
        figure = Figure(figsize=(10.5, 2.5 * n_rows + 0.6), layout="constrained", facecolor=LIGHT.surface)
        panels = figure.subplots(n_rows, columns, squeeze=False)
        for panel in panels.flat[len(cases) :]:
            panel.axis("off")
        lines = {}
        for panel, case in zip(panels.flat, cases, strict=False):
            for package in (*looks, OURS):
                points = [
                    (row["size"], row["seconds"])
                    for row in rows
                    if (row["case"], row["package"]) == (case.name, package) and row["seconds"] is not None
                ]
                if points:
                    color, marker = looks.get(package, (LIGHT.good, "o"))
                    width = 2.6 if package == OURS else 1.2
                    (lines[package],) = panel.plot(*np.array(points).T, marker=marker, ms=4, color=color, lw=width)
            panel.set(xscale="log", yscale="log")
            panel.set_title(case.title, fontsize=9, loc="left", color=LIGHT.ink)
            panel.set_xlabel(case.unit, fontsize=8, color=LIGHT.muted)
            panel.set_xticks(case.sizes, [_short(size) for size in case.sizes], minor=False)
            panel.minorticks_off()
            # Whole powers of ten: a panel whose times are alike would have no number on its axis.
            seconds = [row["seconds"] for row in rows if row["case"] == case.name and row["seconds"] is not None]
            panel.set_ylim(10.0 ** np.floor(np.log10(min(seconds))), 10.0 ** np.ceil(np.log10(max(seconds))))
            panel.yaxis.set_major_locator(LogLocator(numticks=5))
            panel.yaxis.set_major_formatter("{x:g}")
            panel.tick_params(labelsize=8, colors=LIGHT.muted)
            panel.grid(color=LIGHT.line, lw=0.5)
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(LIGHT.line)
        figure.supylabel("processor seconds", fontsize=9, color=LIGHT.muted)
        order = [OURS, *(name for name in looks if name in lines)]
        names = [_NAMES.get(name, name) for name in order]
        figure.legend(
            [lines[name] for name in order], names, loc="outside lower center", ncols=6, frameon=False, fontsize=9
        )
    drawn = svg(figure, adaptive=False, font="DejaVu Sans, Liberation Sans, sans-serif", alt=_ALT)
    # A picture has no page around it: it needs the name of its language, and a ground to be read on when the page is dark.
    head, rest = drawn.split(">", 1)
    name = "" if "xmlns=" in head else ' xmlns="http://www.w3.org/2000/svg"'
    return f'{head}{name}><rect width="100%" height="100%" fill="{LIGHT.surface}"/>{rest}'


def _short(size: int) -> str:
    """Return a size as it fits under an axis.

    >>> _short(100), _short(31_122), _short(1_000_000)
    ('100', '31k', '1M')
    """
    if size >= 1_000_000:
        return f"{size / 1e6:g}M"
    return f"{size / 1000:.0f}k" if size >= 1000 else f"{size}"


def _drawn(rows: Sequence[Row]) -> list[str]:
    return [
        name
        for name in dict.fromkeys(peer.package for case in CASES for peer in case.peers)
        if any(row["package"] == name and row["seconds"] is not None for row in rows)
    ]


# Thin lines apart in lightness and in mark as well as in hue.
_COLORS: Final = (
    "#b84300",
    "#855800",
    "#4a5663",
    "#2f7d5b",
    "#9a5aa8",
    "#1b2129",
    "#c2185b",
    "#7a8793",
    "#00838f",
    "#5d4037",
    "#6b7d1f",
)
_MARKERS: Final = (
    "s",
    "^",
    "D",
    "v",
    "P",
    "X",
    "<",
    ">",
    "*",
    "h",
)  # one less than colours: no two packages share both
