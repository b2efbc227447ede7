"""Where the methods are weak, in sentences whose numbers come from the stored rates."""

from collections.abc import Iterable, Mapping

from evalstats.datasets.validation import Rate, Study


def weaknesses(studies: Mapping[str, Study]) -> list[tuple[str, str]]:
    """Return (what it is about, what is weak) of every weakness, the gravest first."""
    return [
        ("Clusters near the ceiling", _ceiling(studies["clusters"])),
        ("Very uneven clusters that depend strongly", _uneven(studies["clusters"])),
        ("Skewed scores without bounds", _skewed(studies["false-claims"])),
        ("Failures that no item showed", _unseen(studies["graded-pairs"])),
        ("One score at its worst p", _wilson(studies["one-score"])),
        ("One trial at its worst", _tango(studies["pairs"])),
        ("Caution costs power", _cautious(studies["false-claims"])),
        ("Wide near the ceiling", _wide(studies["mean-pairs"])),
        ("The price of looking", _looking(studies["peeking"])),
        ("Detectable differences are rough", _detectable(studies["power"])),
    ]


def _most(rows: Iterable[Rate]) -> Rate:
    return max(rows, key=lambda row: row.rate)


def _of(study: Study, method: str) -> list[Rate]:
    return [row for row in study.rows if row.method == method]


def _ours(study: Study) -> list[Rate]:
    return [row for row in study.rows if row.role == "ours"]


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}%" if rate >= 0.0005 else "less than 0.1%"


def _range(rows: Iterable[Rate]) -> str:
    each = sorted(row.rate for row in rows)
    return f"{_percent(each[0])} to {_percent(each[-1])}"


def _ceiling(study: Study) -> str:
    near = [row for row in _ours(study) if "near the ceiling" in row.group]
    worst = _most(near)
    beside = _percent(_most(_of(study, "augmented t on cluster means")).rate)
    return (
        f"Where 4% of items are gained and 1% lost, the cluster-robust interval (CR2) misses {_range(near)}, most with "
        f"{worst.case.partition(',')[0]}. Augmented t on cluster means, which is shown beside it, misses at most {beside} in all "
        "cases here and is wider."
    )


def _uneven(study: Study) -> str:
    worst = _most(row for row in _ours(study) if row.group.startswith("uneven") and "ceiling" not in row.group)
    return f"With one cluster in four seven times the size of the others, CR2 misses up to {_percent(worst.rate)} ({worst.case})."


def _skewed(study: Study) -> str:
    rows = [row for row in _of(study, "evalstats: verdict") if "skewed" in row.case]
    told = " and ".join(f"{_percent(row.rate)} of comparisons with {row.design['n_items']:g} items" for row in rows)
    return (
        f"Where differences have a long tail on one side, a difference that is not there is claimed in {told}. The t-test "
        "and the sign-flip both suffer."
    )


def _unseen(study: Study) -> str:
    worst = _most(_of(study, "evalstats: verdict"))
    clear = next(row for row in _of(study, "evalstats: verdict without caution") if row.case == worst.case)
    return (
        "Where graded scores fall to the worst on rare items and no item in the data shows it, no interval can know. A "
        f"difference that is not there is then claimed in up to {_percent(worst.rate)} ({worst.case}); the first line carries "
        f"a caution, and without one it is {_percent(clear.rate)}."
    )


def _wilson(study: Study) -> str:
    worst = _most(row for row in _of(study, "Wilson") if row.group.startswith("worst"))
    return (
        f"Wilson's interval misses 5% on average, and up to {_percent(worst.rate)} where p is near 1 and unlucky "
        f"({worst.design['n']:g} items). Where a guarantee is needed, Clopper-Pearson never misses more than 5%."
    )


def _tango(study: Study) -> str:
    worst = _most(_of(study, "Tango score"))
    return f"Over 76 worlds Tango's interval misses up to {_percent(worst.rate)} ({worst.design['n']:g} items)."


def _cautious(study: Study) -> str:
    few = [row for row in _of(study, "evalstats: verdict") if row.design.get("n_clusters", 99) <= 12]
    return (
        "With 7 or 12 clusters a verdict needs both CR2 and the exact sign-flip. It is wrong in only "
        f"{_range(few)} of comparisons, and so overlooks more true differences than it would at 5%."
    )


def _wide(study: Study) -> str:
    row = next(row for row in _of(study, "augmented t") if row.case == "43 items, .98 and .98")
    plain = next(each for each in _of(study, "t on item means") if each.case == row.case)
    ratio = (row.width or 0.0) / (plain.width or 1.0)
    return (
        f"With three trials of 43 items at .98 and no difference, augmented t misses {_percent(row.rate)} and is "
        f"{ratio:.1f} times as wide as t."
    )


def _looking(study: Study) -> str:
    worst = _most(_of(study, "asymptotic confidence sequence"))
    return (
        "The betting confidence sequence stays below 5% and needs more items than a test that is looked at once. The "
        f"asymptotic one is right in the long run only: {_percent(worst.rate)} of runs end in a false claim in its worst "
        f"case ({worst.case})."
    )


def _detectable(study: Study) -> str:
    return (
        f"What is said to be found with 80% power is found in {_range(_ours(study))} of new data sets, since it rests on a "
        "spread that was estimated too."
    )
