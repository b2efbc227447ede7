"""What is said of the error rates of evalstats itself: which promises are kept, where it is weak, every rate in a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from evalstats.datasets.validation import ENOUGH, Claim, Rate, Study, load_validation
from evalstats.document.model import Code, Column, Document, Figure, Items, Note, Section, Table, Text, Tone
from evalstats.document.numbers import plural, share_in_percent


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
        ("Few clean references", _contaminated(studies["contamination"])),
        ("Gaps beyond noise", _beyond_noise(studies["gap-claims"])),
        ("Agreement of few units", _agreement(studies["judge-agreement"])),
        ("A judge corrected by few labels", _corrected(studies["judge-correction"], studies["judge-differences"])),
    ]


def _most(rows: Iterable[Rate]) -> Rate:
    return max(rows, key=lambda row: row.rate)


def _of_method(study: Study, method: str) -> list[Rate]:
    return [row for row in study.rows if row.method == method]


def _ours(study: Study) -> list[Rate]:
    return [row for row in study.rows if row.role == "ours"]


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}%" if rate >= 0.0005 else "less than 0.1%"


def _range_words(rows: Iterable[Rate]) -> str:
    each = sorted(row.rate for row in rows)
    return f"{_percent(each[0])} to {_percent(each[-1])}"


def _ceiling(study: Study) -> str:
    near = [row for row in _ours(study) if "near the ceiling" in row.group]
    worst = _most(near)
    beside = _percent(_most(_of_method(study, "augmented t on cluster means")).rate)
    return (
        f"Where 4% of items are gained and 1% lost, CR2 misses {_range_words(near)}, most with {worst.case.partition(',')[0]}; "
        f"augmented t on cluster means, shown beside it, at most {beside}."
    )


def _uneven(study: Study) -> str:
    worst = _most(row for row in _ours(study) if row.group.startswith("uneven") and "ceiling" not in row.group)
    return f"With one cluster in four seven times the size of the others, CR2 misses up to {_percent(worst.rate)} ({worst.case})."


def _skewed(study: Study) -> str:
    rows = [row for row in _of_method(study, "evalstats: verdict") if "skewed" in row.case]
    told = " and ".join(f"{_percent(row.rate)} ({row.design['n_items']:g} items)" for row in rows)
    return f"Where differences have a long tail, one that is not there is claimed in {told}."


def _unseen(study: Study) -> str:
    worst = _most(_of_method(study, "evalstats: verdict"))
    clear = next(row for row in _of_method(study, "evalstats: verdict without caution") if row.case == worst.case)
    return (
        "Where graded scores fall to the worst on rare items, none of them in the data, a difference that is not there is "
        f"claimed in up to {_percent(worst.rate)} ({worst.case}), without a caution on the first line in {_percent(clear.rate)}."
    )


def _wilson(study: Study) -> str:
    worst = _most(row for row in _of_method(study, "Wilson") if row.group.startswith("worst"))
    return (
        f"Wilson's interval misses 5% on average, and up to {_percent(worst.rate)} where p is near 1 and unlucky "
        f"({worst.design['n']:g} items). Where a guarantee is needed, Clopper-Pearson never misses more than 5%."
    )


def _tango(study: Study) -> str:
    worst = _most(_of_method(study, "Tango score"))
    return f"Over 76 worlds Tango's interval misses up to {_percent(worst.rate)} ({worst.design['n']:g} items)."


def _cautious(study: Study) -> str:
    verdicts = _of_method(study, "evalstats: verdict")
    few = [row for row in verdicts if row.design.get("n_clusters", 99) <= 12]
    several = [row for row in verdicts if row.design.get("n_trials", 1) > 1]
    return (
        "With 7 or 12 clusters a verdict needs both CR2 and the exact sign-flip. It is wrong in only "
        f"{_range_words(few)} of comparisons, and so overlooks more true differences than it would at 5%. With three "
        f"trials of each item {_range_words(several)} are wrong."
    )


def _wide(study: Study) -> str:
    row = next(row for row in _of_method(study, "augmented t") if row.case == "43 items, .98 and .98")
    plain = next(each for each in _of_method(study, "t on item means") if each.case == row.case)
    ratio = (row.width or 0.0) / (plain.width or 1.0)
    return (
        f"With three trials of 43 items at .98 and no difference, augmented t misses {_percent(row.rate)} and is "
        f"{ratio:.1f} times as wide as t."
    )


def _looking(study: Study) -> str:
    worst = _most(_of_method(study, "asymptotic confidence sequence"))
    return (
        "The betting confidence sequence stays below 5% and needs more items than a test that is looked at once. The "
        f"asymptotic one is right in the long run only: {_percent(worst.rate)} of runs end in a false claim in its worst "
        f"case ({worst.case})."
    )


def _detectable(study: Study) -> str:
    least = min(_ours(study), key=lambda row: row.rate)
    return (
        f"What is said to be found with 80% power is found in {_range_words(_ours(study))} of new data sets (least with "
        f"{least.case}), since it rests on a spread that was estimated too."
    )


def _contaminated(study: Study) -> str:
    clean = _of_method(study, "a clean model called inflated")
    few = [row for row in clean if row.design["n_references"] == 3]
    unlike = [row for row in clean if row.group == "clean, abilities unlike"]
    missed = _of_method(study, "one contaminated by a logit not found")
    return (
        f"With 3 clean references the check for contamination is cautious: it calls {_range_words(few)} of clean models "
        f"contaminated, with more references up to {_percent(_most(clean).rate)}, and up to {_percent(_most(unlike).rate)} of "
        f"those much stronger or weaker than their references. One better by a logit on 500 public items is missed in "
        f"{_range_words(missed)}."
    )


def _beyond_noise(study: Study) -> str:
    tests, models = (
        _of_method(study, "more than noise"),
        _of_method(study, "evalstats: any model called a gap that is none"),
    )
    return (
        f"Where no model has a gap between lab and live, the test whether gaps are more than noise says so in up to "
        f"{_percent(_most(tests).rate)} of studies. A model is called a gap in up to {_percent(_most(models).rate)}."
    )


def _agreement(study: Study) -> str:
    worst = _most(_ours(study))
    others = _most(row for row in _ours(study) if "n_clusters" not in row.design)
    return (
        f"The interval of a judge's agreement misses up to {_percent(worst.rate)} ({worst.case}), and up to "
        f"{_percent(others.rate)} without clusters. Where nearly all ratings are the same, none is given."
    )


def _corrected(scores: Study, differences: Study) -> str:
    score, pair = _most(_ours(scores)), _most(_ours(differences))
    return (
        f"A score that labels correct misses up to {_percent(score.rate)} ({score.case}), a difference up to "
        f"{_percent(pair.rate)} ({pair.case}). With 20 labels of a model that is nearly always right there may be no interval."
    )


Standing = Literal["kept", "at the limit", "undecided", "missed", "not judged"]

# Questions in the order of the page, by what they are about, with their short names.
_NAMES: Mapping[str, str] = {
    "one-score": "One score, one trial",
    "mean-score": "Trials, grades, clusters",
    "pairs": "One trial",
    "mean-pairs": "Three trials",
    "graded-pairs": "Graded scores",
    "full-runs": "Full runs that move all items",
    "missing-failures": "Failures that are missing",
    "clusters": "Cluster-robust intervals",
    "false-claims": "The whole decision",
    "undeclared-clusters": "Clusters that nobody declared",
    "suspected-groups": "Columns taken for clusters",
    "ranks": "Ten models ranked",
    "scenarios": "Models by scenarios",
    "peeking": "Looking after every item",
    "power": "Detectable differences",
    "arena-checks": "Trust checks of honest votes",
    "arena-pairing": "Pairs chosen by past votes",
    "contamination": "Clean models called contaminated",
    "gap-claims": "Gaps between lab and live",
    "judge-agreement": "A judge's agreement with people",
    "judge-correction": "A judge's scores, corrected",
    "judge-differences": "A judge's differences, corrected",
    "audit-checks": "Audits of sound tables",
}
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "One model": ("one-score", "mean-score"),
    "Two models on the same items": ("pairs", "mean-pairs", "graded-pairs", "full-runs", "missing-failures"),
    "Clusters, declared or not": ("clusters", "false-claims", "undeclared-clusters", "suspected-groups"),
    "Many models, many looks, plans": ("ranks", "scenarios", "peeking", "power", "contamination"),
    "Live arenas, live users and judges": (
        "gap-claims",
        "arena-checks",
        "arena-pairing",
        "judge-agreement",
        "judge-correction",
        "judge-differences",
    ),
    "Before any comparison": ("audit-checks",),
}
QUESTIONS = tuple(name for names in CHAPTERS.values() for name in names)
_TONES: dict[str, Tone] = {
    "kept": "good",
    "not judged": "neutral",
    "at the limit": "neutral",
    "undecided": "caution",
    "missed": "bad",
}
_Z = 1.959963984540054


def studies() -> dict[str, Study]:
    """Read all stored questions; nothing is simulated."""
    return {name: load_validation(name) for name in QUESTIONS}


def document(found: Mapping[str, Study]) -> Document:
    """Return what is said of stored error rates."""
    claims = [claim for study in found.values() for claim in study.claims]
    counts = {standing: sum(standing_of(claim) == standing for claim in claims) for standing in _TONES}
    rates = [row for study in found.values() for row in study.rows]
    exact = sum(row.replicates is None for row in rates)
    missed, open_ = counts["missed"], [f"{counts[key]} {words}" for key, words in _OPEN.items() if counts[key]]
    headline = f"{counts['kept']} of {len(claims)} promises about error rates are kept, {missed or 'none'} {_is(missed)} broken"
    return Document(
        kind="validation",
        title="How often is evalstats wrong?",
        label="promise broken" if missed else "no promise broken",
        tone="bad" if missed else "good",
        headline=headline,
        number=f"{counts['kept']} of {len(claims)}",
        number_words="; ".join(["kept", *open_]),
        scope=(
            f"{len(rates):,} error rates in worlds of known truth: {exact:,} by enumeration, "
            f"{len(rates) - exact:,} simulated. No promise is judged on fewer than {ENOUGH:,} tables"
        ),
        answer=(_promises(claims),),
        notes=tuple(Note(kind="few", text=text) for _, text in weaknesses(found)[:_CAUTIONS]),
        evidence=tuple(_chapter(title, [found[name] for name in names]) for title, names in CHAPTERS.items()),
        method=(*(_details(study) for study in found.values()), _limits(found), _again(found)),
    )


_CAUTIONS = 4
_OPEN = {
    "undecided": "too close to the limit to tell",
    "at the limit": "at its limit by proof, where no simulation tells",
    "not judged": "not judged: too few tables",
}


def standing_of(claim: Claim) -> Standing:
    """Return whether a promise is kept: an exact rate, or the whole Monte Carlo interval of a simulated one, decides.

    Where it is proved that the rate is at most its limit, and may be the limit itself, no number of tables would show it below.

    >>> told = dict(text="", method="", cases=(), low=None, high=0.06, up_to_chance=False, holds=True)
    >>> [standing_of(Claim(found=0.05, replicates=n, tables=n, **told)) for n in (None, 200, 2_000, 20_000)]
    ['kept', 'not judged', 'undecided', 'kept']
    >>> standing_of(Claim(found=0.055, replicates=2_000, tables=2_000, **{**told, "up_to_chance": True}))
    'at the limit'
    """
    if claim.tables is not None and claim.tables < ENOUGH:
        return "not judged"
    least, most = chance(claim)
    low, high = (-1.0 if claim.low is None else claim.low), (2.0 if claim.high is None else claim.high)
    if low <= least and most <= high:
        return "kept"
    if least > high or most < low:
        return "missed"
    return "at the limit" if claim.up_to_chance else "undecided"


def chance(claim: Claim) -> tuple[float, float]:
    """Return the 95% Monte Carlo interval of the rate that was found (Wilson); an exact rate is its own."""
    p, n = claim.found, claim.replicates
    if n is None:
        return p, p
    middle, whole = p + _Z**2 / (2 * n), 1 + _Z**2 / n
    half = _Z * (p * (1 - p) / n + _Z**2 / (4 * n**2)) ** 0.5
    return max((middle - half) / whole, 0.0), min((middle + half) / whole, 1.0)


def _promises(claims: Sequence[Claim]) -> Figure:
    everyone = sorted(claims, key=lambda claim: list(_TONES).index(standing_of(claim)), reverse=True)
    order = [claim for claim in everyone if not _easily_kept(claim)]
    limits = [claim.high if claim.high is not None else (claim.low or 1.0) for claim in order]
    ends = [chance(claim) for claim in order]
    return Figure(
        id="promises",
        plot="forest",
        rows={
            "label": [claim.text for claim in order],
            "estimate": [100 * claim.found / limit for claim, limit in zip(order, limits, strict=True)],
            "conf_low": [100 * low / limit for (low, _), limit in zip(ends, limits, strict=True)],
            "conf_high": [100 * high / limit for (_, high), limit in zip(ends, limits, strict=True)],
            "words": [f"{share_in_percent(claim.found)} of {limit_words(claim)}" for claim in order],
            "tone": [_TONES[standing_of(claim)] for claim in order],
            "settled": [standing_of(claim) in ("kept", "missed") for claim in order],
        },
        options={"title": "Rate found, in percent of its limit", "reference": 100.0},
        alt=f"Rates found for {plural(len(order), 'promise')} against their limits, with Monte Carlo intervals.",
        caption=(
            "The rate closest to its limit, with the 95% interval of the simulation. "
            f"{plural(len(everyone) - len(order), 'promise')} kept with room stand in the CSV alone"
        ),
        table=_promise_table(everyone),
    )


_ROOM = 0.95  # of the limit


def _easily_kept(claim: Claim) -> bool:
    """Whether even the end of the simulation's interval keeps away from the limit."""
    kept = standing_of(claim) == "kept"
    return kept and claim.low is None and claim.high is not None and chance(claim)[1] <= _ROOM * claim.high


def _promise_table(claims: Sequence[Claim]) -> Table:
    return Table(
        id="promises",
        columns=(
            Column(title="Error rate of"),
            Column(title="Limit", kind="amount"),
            Column(title="Found", kind="number", scale=100, digits=2),
            Column(title="95% of simulation", kind="interval", scale=100, digits=2, spare=True),
            Column(title="Tables", kind="amount", spare=True),
            Column(title="Result", kind="verdict"),
        ),
        rows=tuple(
            (
                claim.text,
                limit_words(claim),
                claim.found,
                None if claim.replicates is None else chance(claim),
                "all" if claim.tables is None else f"{claim.tables:,}",
                standing_of(claim),
            )
            for claim in claims
        ),
        caption="What is promised of error rates, in percent, and the rate that came closest to its limit",
        tones=_TONES,
        frame={
            "promise": [claim.text for claim in claims],
            "low": [claim.low for claim in claims],
            "high": [claim.high for claim in claims],
            "found": [claim.found for claim in claims],
            "n_replicates": [claim.replicates for claim in claims],
            "n_tables": [claim.tables for claim in claims],
            "result": [standing_of(claim) for claim in claims],
        },
    )


def limit_words(claim: Claim) -> str:
    """Write a limit in percent.

    >>> told = dict(text="", method="", cases=(), found=0.05, replicates=None, up_to_chance=False, holds=True)
    >>> limit_words(Claim(low=None, high=0.065, **told)), limit_words(Claim(low=0.75, high=0.87, **told))
    ('at most 6.5%', '75% to 87%')
    """
    if claim.low is not None and claim.high is not None:
        return f"{100 * claim.low:g}% to {100 * claim.high:g}%"
    if claim.high is not None:
        return f"at most {100 * claim.high:g}%"
    return f"at least {100 * (claim.low or 0.0):g}%"


def _chapter(title: str, chapter: Sequence[Study]) -> Section:
    """Return one table for a chapter: what evalstats decides by, beside what else is in use."""
    rows = tuple(row for study in chapter for row in _worst_rows(study))
    return Section(
        id=title.lower().replace(",", "").replace(" ", "-"),
        heading=_finding(title, chapter),
        blocks=(
            Table(
                id=f"rates-{title.split(maxsplit=1)[0].lower().strip(',')}",
                columns=(
                    Column(title="Question"),
                    Column(title="What is counted"),
                    Column(title="evalstats (%)", kind="amount"),
                    Column(title="Other methods (%)", kind="amount"),
                ),
                rows=rows,
                caption=f"{title}: least and most of all situations",
            ),
        ),
    )


def _finding(title: str, chapter: Sequence[Study]) -> str:
    claims = [claim for study in chapter for claim in study.claims]
    kept = sum(standing_of(claim) == "kept" for claim in claims)
    return f"{title}: {kept} of {plural(len(claims), 'promise')} kept"


def _worst_rows(study: Study) -> list[tuple[str, str, str, str]]:
    counted = {
        "misses": "intervals that miss",
        "false claims": "false claims",
        "power": "true differences found",
        "errors": "false claims, intervals that miss",
    }
    ours = [row.rate for row in study.rows if row.role == "ours" and _is_promised(row, study)]
    others = [row.rate for row in study.rows if row.role == "elsewhere"]
    tables = [claim.tables for claim in study.claims if claim.tables is not None]
    fewest = f"{min(tables):,}" if tables else "all"
    return [(_NAMES[study.name], f"{counted[study.measure]}, {fewest} tables", _range(ours), _range(others))]


def _is_promised(row: Rate, study: Study) -> bool:
    """Whether a promise is about this rate; a question without promises about a method has all of its rates."""
    about = [claim for claim in study.claims if claim.method == row.method]
    return not about or any(not claim.cases or row.case in claim.cases for claim in about)


def _range(rates: Sequence[float]) -> str:
    if not rates:
        return "–"
    least, most = (f"{100 * end(rates):.1f}" for end in (min, max))
    return least if least == most else f"{least} to {most}"


def _details(study: Study) -> Section:
    """Return every rate of a question, by situation and method; the CSV has the design of each."""
    return Section(
        id=study.name,
        heading=study.question,
        blocks=(Text(text=study.design), _rates_table(study), *(Text(text=note) for note in study.notes)),
    )


def _rates_table(study: Study) -> Table:
    methods: dict[str, list[Rate]] = {}
    for row in study.rows:
        methods.setdefault(row.method, []).append(row)
    who = {"ours": "decides", "beside": "shown beside", "elsewhere": "other tools"}
    return Table(
        id=f"{study.name}-rates",
        columns=(
            Column(title="Method"),
            Column(title="In evalstats"),
            Column(title="Least to most (%)", kind="amount"),
            Column(title="Worst situation"),
        ),
        rows=tuple(
            (method, who[rows[0].role], _range([row.rate for row in rows]), _worst(rows, study).case)
            for method, rows in methods.items()
        ),
        caption=f"{plural(len(study.rows), 'rate')} of this question by method; the CSV has all, with the interval of each",
        frame=study.to_frame().to_dict(as_series=False),
    )


def _worst(rows: Sequence[Rate], study: Study) -> Rate:
    return (min if study.measure == "power" else max)(rows, key=lambda row: row.rate)


def _limits(found: Mapping[str, Study]) -> Section:
    items = tuple(f"{lead}. {text}" for lead, text in weaknesses(found))
    return Section(id="weak", heading="Where evalstats is weak", blocks=(Items(items=items),))


def _again(found: Mapping[str, Study]) -> Section:
    seeds = sorted({study.seed for study in found.values() if study.seed is not None})
    versions = ", ".join(sorted({study.version for study in found.values()}))
    return Section(
        id="again",
        heading="How the simulations are run again",
        blocks=(
            Text(
                text=(
                    "Every cell has a seed of its own, derived from one root and the cell's name, so a cell run alone gives "
                    "the numbers it gives among the others, and a run that is broken off goes on where it stopped. Rates of "
                    "right/wrong tables are enumerated and need no seed."
                )
            ),
            Code(code="make validate\npython -m dev.validation ranks  # one question"),
            Items(items=(f"evalstats {versions}; root of all seeds: {', '.join(map(str, seeds))}.",)),
        ),
    )


def _is(n: int) -> str:
    return "is" if n < 2 else "are"
