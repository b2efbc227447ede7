"""Tables of the validation page: rates in percent, by method and by size or situation."""

from collections.abc import Iterable, Sequence

from evalstats.datasets.validation import Rate, Study
from evalstats.document.blocks import Table
from evalstats.document.numbers import interval
from evalstats.report.tables import table_float

# By which number of the design the columns go, and what they are called.
_SIZES = {
    "one-score": ("n", "{:g} items"),
    "pairs": ("n", "{:g} items"),
    "mean-pairs": ("n_items", "{:g} items"),
    "full-runs": ("n_items", "{:g} items"),
    "clusters": ("n_clusters", "{:g} clusters"),
}
# Columns of the tables by situation: their head, and the methods of which the first that was tried stands in it.
_COLUMNS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "mean-score": (
        ("Matched Wilson", ("variance-matched Wilson",)),
        ("CR2", ("CR2, Satterthwaite t",)),
        ("t on items", ("t on item means",)),
        ("Bootstrap", ("bootstrap of item means", "bootstrap of clusters")),
        ("Wilson on all rows", ("Wilson on all trials", "Wilson on items")),
    ),
    "graded-pairs": (
        ("Verdict", ("evalstats: verdict",)),
        ("Without caution", ("evalstats: verdict without caution",)),
        ("t", ("t",)),
        ("Augmented t", ("augmented t, c² = Σd²/Σ|d|",)),
        ("Former rule", ("augmented t, c² = 1 from a fifth of ties on",)),
        ("Gaffke", ("Gaffke's bound",)),
        ("Betting", ("betting interval",)),
    ),
    "false-claims": (
        ("Verdict", ("evalstats: verdict",)),
        ("Interval alone", ("evalstats: interval alone",)),
        ("Exact test", ("cluster sign-flip (exact)", "sign-flip (exact)", "McNemar exact")),
        ("t on items", ("t on items",)),
        ("Bootstrap of items", ("bootstrap of items",)),
        ("t on all trials", ("t on all trials as items",)),
    ),
    "undeclared-clusters": (
        ("First line", ("evalstats: first line, unqualified",)),
        ("Cluster declared", ("evalstats: cluster declared",)),
        ("Items alone", ("verdict on items alone",)),
    ),
    "suspected-groups": (
        ("Suspected", ("evalstats: columns that describe items",)),
        ("Every column", ("every column, where it differs a level of its own",)),
    ),
    "missing-failures": (
        ("Unqualified", ("evalstats: verdict, unqualified",)),
        ("Any claim", ("evalstats: any claim",)),
        ("Items that both have", ("items that both have",)),
    ),
    "ranks": (
        ("Rank sets", ("evalstats: rank sets",)),
        ("Max-T", ("all pairs, max-T",)),
        ("Holm", ("all pairs, Holm",)),
        ("Normal law", ("rank sets by a normal law",)),
        ("No clusters", ("rank sets, clusters ignored",)),
        ("By eye", ("95% intervals that do not overlap",)),
        ("Unadjusted", ("all pairs, unadjusted",)),
    ),
    "peeking": (
        ("Betting", ("betting confidence sequence",)),
        ("Sequential McNemar", ("sequential McNemar",)),
        ("Asymptotic", ("asymptotic confidence sequence",)),
        ("t at the end", ("t once, at the end",)),
        ("t, every 50", ("t after every 50 items",)),
        ("t, every item", ("t after every item",)),
    ),
    "arena-checks": (
        ("Any check", ("any check",)),
        ("Side", ("sides",)),
        ("Raters", ("raters",)),
        ("Repeats", ("duplicates",)),
        ("Bursts", ("bursts",)),
        ("One rater", ("one rater",)),
        ("Fit of pairs", ("deviance",)),
        ("Circles", ("cycles",)),
        ("Change", ("drift",)),
    ),
    "scenarios": (
        ("Drop or gain", ("evalstats: any drop or gain",)),
        ("Interaction", ("evalstats: models differ in where",)),
        ("Wald, by model", ("Wald, adjusted within each model",)),
        ("Random signs", ("random signs on cell means",)),
    ),
}
_REMARKS = {
    "arena-checks": (
        "Calibration, prediction, transitivity and few votes are in the data behind the figure. Whatever the votes are, how they "
        "connect the models is told as a limit and is no warning."
    ),
    "graded-pairs": (
        "Without caution: claims whose first line says nothing of unseen failures. Gaffke's bound (Learned-Miller & Thomas) "
        "and the betting interval (Waudby-Smith & Ramdas) hold for any scores between 0 and 1, crashes among them, and find "
        "far less, as the lines below say."
    ),
    "scenarios": (
        "Drop or gain, and Wald by model: tables with any false change marked. Interaction, and random signs: tables in which "
        "models are falsely said to differ in where they break. Where models and scenarios are apart, changes are real and are "
        "not judged."
    ),
    "ranks": (
        "Max-T, Holm and unadjusted are tests of all 45 pairs. Normal law: rank sets from the clusters' covariance as if it "
        "were known. No clusters: rank sets as if items were independent. By eye: two models are called different where "
        "their 95% intervals do not overlap."
    ),
    "false-claims": (
        "Exact test: the sign-flip of clusters, the sign-flip of items, or McNemar's exact test with one trial. t on all "
        "trials takes every trial for an item. Wild cluster bootstrap and McNemar mid-p are in the data behind the figure."
    ),
}
NONE = "–"


def table(study: Study) -> str:
    """Return the table of a question."""
    if study.name in _SIZES:
        made = _by_size(study)
    elif study.name in _COLUMNS:
        made = _by_case(study, _COLUMNS[study.name])
    else:
        made = _alone(study)
    return table_float(made, f"tbl-{study.name}")


def table_remark(study: Study) -> str:
    """Return what is to be said of the columns; "" where they say it themselves."""
    return _REMARKS.get(study.name, "")


def _by_size(study: Study) -> Table:
    """Return a row a method, a column a size: the least and the most over the situations, without the worst cases."""
    size, words = _SIZES[study.name]
    rows = [row for row in study.rows if not row.group.startswith(("worst", "average"))]
    sizes = sorted({row.design[size] for row in rows})
    cells = tuple(
        (method, *[_range(row.rate for row in _of(rows, method) if row.design[size] == each) for each in sizes])
        for method in dict.fromkeys(row.method for row in rows)
    )
    return Table(
        columns=("Method", *[words.format(each) for each in sizes]),
        rows=cells,
        align="l" + "r" * len(sizes),
        caption=f"{_what(study)} in percent, least and most over the situations above, by size",
    )


def _by_case(study: Study, columns: Sequence[tuple[str, tuple[str, ...]]]) -> Table:
    """Return a row a situation, a column a method or a kind of method."""
    by_key = {(row.case, row.method): row for row in study.rows}
    cells = tuple(
        (
            case,
            *[
                _rate(next((by_key[case, each] for each in methods if (case, each) in by_key), None))
                for _, methods in columns
            ],
        )
        for case in dict.fromkeys(row.case for row in study.rows)
    )
    return Table(
        columns=("Situation", *[head for head, _ in columns]),
        rows=cells,
        align="l" + "r" * len(columns),
        caption=f"{_what(study)} in percent{_noise(study)}",
    )


def _alone(study: Study) -> Table:
    """Return a row a situation for a question about one method, with the Monte Carlo interval."""
    cells = tuple(
        (row.case, _rate(row), interval(row.low, row.high, 100, 1), f"{row.replicates or 0:,}")
        for row in study.rows
        if row.role == "ours"
    )
    return Table(
        columns=("Situation", _what(study), "95% interval", "Data sets"),
        rows=cells,
        align="lrrr",
        caption=f"{_what(study)} in percent, with the chance of the simulation",
    )


def _of(rows: Sequence[Rate], method: str) -> list[Rate]:
    return [row for row in rows if row.method == method]


def _range(found: Iterable[float]) -> str:
    each = sorted(found)
    if not each:
        return NONE
    least, most = (f"{100 * end:.1f}" for end in (each[0], each[-1]))
    return least if least == most else f"{least} to {most}"


def _rate(row: Rate | None) -> str:
    return NONE if row is None else f"{100 * row.rate:.1f}"


def _what(study: Study) -> str:
    return {"misses": "Intervals that miss the truth", "false claims": "False claims", "power": "Found"}[study.measure]


def _noise(study: Study) -> str:
    """Say how uncertain a simulated rate of 5% is here, in percentage points."""
    counts = [row.replicates for row in study.rows if row.replicates is not None and row.role == "ours"]
    if not counts:
        return ""
    rate = study.nominal
    widest, narrowest = (196 * (rate * (1 - rate) / end(counts)) ** 0.5 for end in (min, max))
    about = f"±{widest:.1f}" if f"{widest:.1f}" == f"{narrowest:.1f}" else f"±{narrowest:.1f} to ±{widest:.1f}"
    return f" (of ours near {100 * rate:g}%: {about} by chance of the simulation)"
