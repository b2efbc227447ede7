"""A comparison explained to somebody who is no statistician, with the numbers of this very comparison."""

from collections.abc import Mapping

from evalstats.analysis.compare.result import Comparison, Verdict
from evalstats.analysis.costs import WORDS, CostRow
from evalstats.analysis.explaining.changes import changes, excludes_zero
from evalstats.analysis.explaining.words import (
    described,
    frequency,
    percent,
    section,
    sentence,
    sources_of,
    span,
    with_unit,
)
from evalstats.analysis.method_rows import MethodRow
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import interval, number, p_value, plural
from evalstats.stats.paired.binary import MIN_DISCORDANT

# Intervals that differ by less are as good as equally wide.
_AS_WIDE = 0.05


def explain_comparison(result: Comparison) -> list[Block]:
    """Return the explanation of a comparison: question, method, assumptions, numbers, verdict, checks, what would change it."""
    if result.verdict == "invalid" and not result.rows:
        return _refused(result)
    further = (*result.rows, *result.effects, *result.costs, *([result.at_margin] if result.at_margin else []))
    methods = (result.method, *(row.method for row in further), result.baseline.method, result.candidate.method)
    blocks: list[Block] = [
        Heading(text=f"{result.candidate.name} against {result.baseline.name}: what this result says", level=1),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(result)),
        *section("What this takes for granted, and how it could fail here", _assumptions(result)),
        *section("What the numbers mean", _numbers(result)),
        Heading(text=f"What the verdict means: {result.verdict}", level=2),
        *(Paragraph(text=text) for text in _verdict(result)),
        *section("What the other rows say", _rows(result)),
        *section("How large that is", [_effect(row) for row in result.effects if row.estimate is not None]),
        *section("What it costs", _costs(result)),
        *section("What would change the conclusion", changes(result)),
    ]
    return [*blocks, *sources_of(methods)]


def _refused(result: Comparison) -> list[Block]:
    """Say why nothing was tested, where the runs cannot be compared."""
    grave = [each.explanation for each in result.run_differences if each.severity == "invalid"]
    return [
        Heading(text=f"{result.candidate.name} against {result.baseline.name}: what this result says", level=1),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="Why it was not answered", level=2),
        Paragraph(
            text="Before any test the two runs were compared, and they differ in more than the systems. A test would lay "
            "the whole difference to the systems, and be sure of it, however it came about."
        ),
        *section("What differs", grave or [result.verdict_reason]),
        Paragraph(
            text=f"No statement about {result.candidate.name} and {result.baseline.name} follows from the numbers. "
            f"{result.verdict_reason[:1].upper()}{result.verdict_reason[1:]}."
        ),
    ]


# --- what was asked ---


def _question(result: Comparison) -> list[str]:
    first, second = result.baseline.name, result.candidate.name
    better = "above" if result.higher_is_better else "below"
    lower = "" if result.higher_is_better else f"Lower {result.metric} is better. "
    asked = (
        f"By how much do {second} and {first} differ in {result.metric} on {result.benchmark}? Every item gives "
        f"one difference, {second} minus {first}, and the answer is their average. {lower}A number {better} zero "
        f"is in favour of {second}."
    )
    return [asked, _population(result), *_declared(result)]


def _declared(result: Comparison) -> list[str]:
    """Say what was settled before looking, and what was not."""
    plan = result.plan
    if plan is None:
        return []
    said = "; ".join(f"{key} {value}" for key, value in plan.declared)
    told = (
        f"Declared beforehand in {plan.source or 'the plan'}: {said}."
        if said
        else "The plan declares nothing about this."
    )
    return [" ".join([told, *(sentence(text) for text in plan.departures)])]


def _population(result: Comparison) -> str:
    n = plural(result.n_items, "item")
    if not result.clusters:
        return (
            f"It is asked for new items like these {n}: the interval says how far the answer might move had "
            "others of the kind been drawn. It says nothing of items of another kind."
        )
    groups = " and ".join(result.clusters)
    if len(result.clusters) > 1:
        each = " and of ".join(result.clusters)
        return (
            f"It is asked for new levels of {each} like those that are here (at least {result.n_clusters} of "
            f"each): the interval says how far the answer might move had others been drawn. The {n} count by what "
            "they share, not one by one."
        )
    if result.clusters == ("item",):
        return (
            f"It is asked for new items like these {result.n_clusters}, each with its variants, of which there "
            f"are {result.n_items} in all. Variants of one item are not separate evidence."
        )
    return (
        f"It is asked for new levels of {groups} like the {result.n_clusters} that are here, not only for new "
        f"items within these: the interval says how far the answer might move had others been drawn. The {n} "
        f"count by the {groups} they belong to."
    )


# --- how it was answered ---


def _method(result: Comparison) -> list[str]:
    texts = described(result.method)
    reason = (
        f"The method ({result.method}) was asked for."
        if result.method_reason == "it was asked for"
        else f"The method is {result.method}, because {result.method_reason}."
    )
    return [f"{reason} {' '.join(text.how for text in texts)}", *_evidence(result)]


def _evidence(result: Comparison) -> list[str]:
    """Say what the method had to work with."""
    table = result.table
    if table is not None:
        apart = table.only_candidate + table.only_baseline
        alike = table.both + table.neither
        if not apart:
            return [f"Here the two agree on all {alike} items, so nothing tells them apart."]
        return [
            (
                f"Here {alike} of {result.n_items} items came out alike ({table.both} right on both sides, "
                f"{table.neither} wrong on both). The other {apart} decide: {result.candidate.name} alone is "
                f"right on {table.only_candidate}, {result.baseline.name} alone on {table.only_baseline}."
            ),
        ]
    if result.n_clusters is not None and result.design_effect is not None:
        return [_worth(result, result.design_effect)]
    return []


def _worth(result: Comparison, effect: float) -> str:
    groups = " or ".join(result.clusters)
    worth = result.n_items / effect if effect > 0 else result.n_items
    effective = result.effective_clusters
    uneven = (
        f" Their sizes are uneven, so the {result.n_clusters} groups are worth about {number(effective, 1)} equal ones."
        if effective is not None and result.n_clusters is not None and effective < 0.9 * result.n_clusters
        else ""
    )
    if effect > 1.1:
        told = (
            f"Here items that share {groups} do go the same way: the variance is {number(effect, 1)} times what "
            f"independent items would give, so the {result.n_items} items are worth about {max(1, round(worth))}."
        )
    else:
        told = (
            f"Here items that share {groups} go the same way no more than others do (the variance is "
            f"{number(effect)} times what independent items would give), so counting by groups costs little."
        )
    return told + uneven


# --- assumptions ---


def _assumptions(result: Comparison) -> list[str]:
    takes = [text.takes for text in described(result.method) if text.takes]
    found = [
        _independence(result),
        *takes,
        *_few(result),
        *_missing(result),
        *_trials(result),
        *_unlike(result),
        *_runs(result),
    ]
    return [each for each in found if each]


def _independence(result: Comparison) -> str:
    flagged = [row for row in result.dependence if row.flag == "warn"]
    unit = "groups" if result.clusters else "items"
    suspects = ", ".join(
        f"{row.factor} (by which the variance is {number(row.design_effect, 1)} times as large)" for row in flagged
    )
    if flagged:
        return (
            f"The {unit} are taken as independent of each other, and that looks wrong: the differences run in "
            f"groups along {suspects}. If those groups are a sample of more, there is less evidence than the "
            "interval counts, and it is too short"
        )
    n = result.n_clusters if result.clusters else result.n_items
    if result.dependence:
        names = ", ".join(row.factor for row in result.dependence)
        return (
            f"The {n} {unit} are taken as independent of each other. The columns that could speak against it were "
            f"tested and do not ({names}); what no column records cannot be tested"
        )
    return (
        f"The {n} {unit} are taken as independent of each other, and no further column could be tested for that: "
        "if they share passages, templates or authors, there is less evidence than the interval counts"
    )


def _few(result: Comparison) -> list[str]:
    if result.clusters and result.df is not None and result.df < 10:
        return [
            (
                f"With {result.n_clusters} groups and {number(result.df, 1)} degrees of freedom the spread "
                "between groups is itself poorly known; the interval is wide to allow for that"
            ),
        ]
    if result.table is not None and result.method.startswith("Tango"):
        apart = result.table.only_candidate + result.table.only_baseline
        enough = "which is enough" if apart >= MIN_DISCORDANT else "and no direction is claimed on so few"
        return [
            (
                f"The test goes by a normal curve. That serves from about {MIN_DISCORDANT} items that tell the "
                f"two apart; here there are {apart}, {enough}"
            ),
        ]
    if not result.clusters and result.n_items < 20:
        return [f"With {plural(result.n_items, 'item')} every approximation is rough; read the exact checks beside it"]
    return []


def _missing(result: Comparison) -> list[str]:
    missing = result.missing
    alone = missing.n_only_baseline + missing.n_only_candidate
    if not missing.any:
        return []
    if alone or missing.n_neither:
        what = f"{alone} items have a score on one side only, and {missing.n_neither} on neither; the difference leaves them out"
    else:
        what = "some trials have no score; the difference leaves them out"
    return [f"{what}, as if they were like the rest. If not: {missing.explanation}"]


def _trials(result: Comparison) -> list[str]:
    if result.n_trials <= 2 * result.n_items:
        return []
    each = result.n_trials / (2 * result.n_items)
    return [
        (
            f"The {result.n_trials:,} scored trials (about {number(each, 1)} an item and side) are averaged "
            "within items. They make every item's mean surer and add no items; trials of one item are taken as "
            "independent of each other"
        ),
    ]


def _unlike(result: Comparison) -> list[str]:
    """Say in what else than the systems the runs differ."""
    return [
        f"The sides are taken to differ in nothing but the systems, and {each.explanation}"
        for each in result.run_differences
        if each.severity == "weakens"
    ]


def _runs(result: Comparison) -> list[str]:
    if not len(result.baseline.runs) == len(result.candidate.runs) == 1:
        return []
    return [
        (
            f"There is one run of {result.baseline.name} and one of {result.candidate.name}. How far a second run "
            "of either would move, by its seed, its server or its prompt build, cannot be told from these data "
            "and is not in the interval"
        ),
    ]


# --- numbers ---


def _numbers(result: Comparison) -> list[str]:
    unit, scale = result.unit, result.scale
    shown = with_unit(result.estimate, scale, unit, sign=True)
    level = percent(result.conf_level)
    if result.conf_low is None or result.conf_high is None:
        why = "" if result.verdict == "invalid" else f": {_no_interval(result)}"
        return [f"The observed difference is {shown}. It is what the files hold; it has no interval and no p{why}"]
    found = [
        (
            f"The observed difference is {shown}. The {level} interval runs "
            f"{span(result.conf_low, result.conf_high, scale, unit)}: the true differences that these data do not "
            f"contradict. {_promise(result)}"
        ),
        _p_meaning(result),
        *_own_scores(result),
        *_family(result),
        *_margin(result),
    ]
    return [each for each in found if each]


def _promise(result: Comparison) -> str:
    often = {0.95: "19 of 20", 0.9: "9 of 10", 0.99: "99 of 100", 0.8: "4 of 5"}.get(
        round(result.conf_level, 6), f"{percent(result.conf_level)} of"
    )
    if result.sequential is not None:
        return (
            f"Of runs that are watched in this way from beginning to end, {often} have the truth in the interval "
            "at every look"
        )
    return f"Made in this way, {often} such intervals hold the truth; this one does or does not"


def _no_interval(result: Comparison) -> str:
    noted = next((row.note for row in result.rows if row.role == "headline" and row.note), "")
    return noted or "see the rows below"


def _p_meaning(result: Comparison) -> str:
    if result.p_value is None:
        return ""
    if result.estimate == 0 or result.p_value >= 1:
        return (
            f"The p-value is {p_value(result.p_value)}, as it is whenever the observed difference is zero: "
            "nothing points either way. That is not evidence that the two are equal"
        )
    if result.sequential is not None:
        return (
            f"The p-value is {p_value(result.p_value)}, at every look so far and to come: if the two were equally "
            f"good, it would ever fall so low {frequency(result.p_value).replace('about', 'at most')}. So looking "
            "early and often costs nothing but width"
        )
    size = with_unit(abs(result.estimate or 0.0), result.scale, result.unit)
    return (
        f"The p-value is {p_value(result.p_value)}: if the two were equally good, a difference of {size} or more, "
        f"either way, would turn up {frequency(result.p_value)}. It is not the chance that they are equally good, "
        "nor that the result is a fluke"
    )


def _own_scores(result: Comparison) -> list[str]:
    first, second = result.baseline, result.candidate
    ends = (first.conf_low, first.conf_high, second.conf_low, second.conf_high)
    if any(end is None for end in ends) or result.verdict not in ("better", "worse"):
        return []
    low, high = max(first.conf_low or 0.0, second.conf_low or 0.0), min(first.conf_high or 0.0, second.conf_high or 0.0)
    if low > high:
        return []
    shown = [interval(each.conf_low, each.conf_high, each.scale, 1) for each in (first, second)]
    return [
        (
            f"The two scores' own intervals, {shown[0]} and {shown[1]}, overlap, and the difference is clear all "
            "the same: both answered the same items, and what made an item hard for one made it hard for the "
            "other"
        ),
    ]


def _family(result: Comparison) -> list[str]:
    if not result.groups:
        return []
    told = {name: sum(group.verdict == name for group in result.groups) for name in ("better", "worse")}
    parts = [f"{count} {name}" for name, count in told.items() if count]
    return [
        (
            f"The {len(result.groups)} levels of {result.by} are one family: their intervals are at "
            f"{percent(result.groups[0].conf_level)} each, so that all hold together with "
            f"{percent(result.conf_level)}. Of them {' and '.join(parts) or 'none'} can be told apart from no "
            "difference. That one level shows a difference and another does not is no evidence that the levels "
            "differ"
        ),
    ]


def _margin(result: Comparison) -> list[str]:
    account = result.at_margin
    if account is None or result.margin is None:
        return []
    shown = with_unit(result.margin, result.scale, result.unit)
    first = (
        f"Differences up to {shown} were declared not to matter. {sentence(account.reason)} So "
        f"{result.candidate.name} {'is' if account.noninferior else 'is not'} shown to be no more than {shown} "
        "worse"
    )
    narrower = percent(2 * result.conf_level - 1)
    ends = interval(result.equivalence_low, result.equivalence_high, result.scale)
    return [
        first,
        (
            f"Whether the two are equivalent is judged by the {narrower} interval, {ends}: each of its two ends "
            f"is a test of its own at {percent(1 - result.conf_level)}, and both must lie within {shown} of zero"
        ),
    ]


# --- verdict ---


def _verdict(result: Comparison) -> list[str]:
    told = [sentence(text) for text in (result.verdict_reason, *result.qualifiers)]
    return [" ".join([*told, _meaning(result)]).strip(), *_not_meant(result)]


def _meaning(result: Comparison) -> str:
    first, second = result.baseline.name, result.candidate.name
    level = percent(result.conf_level)
    low, high = _ends(result)
    unit, scale = result.unit, result.scale
    inconclusive = (
        f"So {result.only_higher()}. Whether that is better depends on the metric, and nothing says which way it runs."
        if result.only_higher()
        else f"The interval excludes zero, and still no direction is claimed, since what is named there makes {level} "
        "a promise that might not be kept."
        if result.conf_low is not None and excludes_zero(result.conf_low, result.conf_high)
        else f"As far as these data go, {second} may be worse than {first}, as good, or better: anything in the interval."
    )
    meanings: Mapping[Verdict, str] = {
        "better": (
            f"So {second} does better than {first} on items like these, by something between "
            f"{with_unit(low, scale, unit)} and {with_unit(high, scale, unit)}."
        ),
        "worse": (
            f"So {second} does worse than {first} on items like these, by something between "
            f"{with_unit(low, scale, unit)} and {with_unit(high, scale, unit)}."
        ),
        "equivalent": (
            f"So whatever difference there is between {second} and {first} is smaller than the one declared not to matter."
        ),
        "inconclusive": inconclusive,
        "powerless": "This follows from the design, not from what the two systems did: no better luck could have helped.",
        "invalid": f"No statement about {second} and {first} follows from the numbers, whatever they look like.",
    }
    return meanings[result.verdict]


def _ends(result: Comparison) -> tuple[float | None, float | None]:
    """Return the least and the greatest size of a difference in the interval, where it excludes zero."""
    if result.conf_low is None or result.conf_high is None:
        return None, None
    return tuple(sorted((abs(result.conf_low), abs(result.conf_high))))  # pyright: ignore[reportReturnType] - two of two


def _not_meant(result: Comparison) -> list[str]:
    if result.verdict in ("better", "worse"):
        least = _ends(result)[0]
        margin = result.margin
        small = with_unit(least, result.scale, result.unit)
        if margin is not None and least is not None and least < margin:
            return [
                (
                    f"It does not mean that the difference matters: it may be as small as {small}, and the margin "
                    f"declared not to matter is {with_unit(margin, result.scale, result.unit)}."
                ),
            ]
        return [
            f"It does not mean that the difference is large, or worth its price: it may be as small as {small}.{_either(result)}"
        ]
    if result.verdict in ("inconclusive", "powerless"):
        missed = (
            f" A true difference of {with_unit(result.mde, result.scale, result.unit)} would have been found in "
            "four of five such studies; smaller ones are mostly missed."
            if result.mde is not None
            else ""
        )
        return [
            f"It does not mean that the two are equally good: not finding a difference is not finding none.{missed}"
        ]
    if (
        result.verdict == "equivalent"
        and result.conf_low is not None
        and excludes_zero(result.conf_low, result.conf_high)
    ):
        return [
            "It does not mean that they are the same: the interval excludes zero, so a small difference is established."
        ]
    return []


def _either(result: Comparison) -> str:
    """Say that single items may go the other way, where some did."""
    against = [flip for flip in result.flipped if (flip.change > 0) != ((result.estimate or 0.0) > 0)]
    if not against:
        return ""
    return f" And it speaks of the average: {plural(len(against), 'item')} went the other way."


# --- other rows ---


def _rows(result: Comparison) -> list[str]:
    others = [row for row in result.rows if row.role != "headline"]
    once = next((place for place, row in enumerate(others) if row.role == "sensitivity"), len(others))
    if result.sequential is None or once == len(others):
        return [_row(row, result) for row in others]
    single = others[once:]
    return [
        *(_row(row, result) for row in others[:once]),
        (
            f"{single[0].method} and the {len(single) - 1} rows after it: they are for a single look at a number "
            "of items chosen beforehand, and are shorter for that reason. Whoever has looked before must not go "
            "by them"
        ),
    ]


def _row(row: MethodRow, result: Comparison) -> str:
    what = "; ".join(text.what for text in described(row.method))
    question = "another question: " if row.role == "other estimand" else ""
    return f"{row.method} ({question}{what}): {_answer(row, result)}"


def _answer(row: MethodRow, result: Comparison) -> str:
    if row.conf_low is not None and row.conf_high is not None:
        return _against_interval(row, result)
    if row.p_value is not None:
        return _against_p(row, result)
    return f"no answer here ({row.note or 'it does not apply'})"


def _against_interval(row: MethodRow, result: Comparison) -> str:
    ends = interval(row.conf_low, row.conf_high, result.scale)
    own = excludes_zero(row.conf_low, row.conf_high)
    told = f"{ends}, which {'excludes' if own else 'includes'} zero"
    if row.role == "other estimand":
        told = f"{with_unit(row.estimate, result.scale, result.unit, sign=True)}, interval {told}"
    if result.conf_low is None or result.conf_high is None:
        return f"{told}; the headline has no interval to set it against"
    agrees = own == excludes_zero(result.conf_low, result.conf_high)
    same = (
        "as the headline's does"
        if agrees
        else "where the headline's does not"
        if own
        else "where the headline's does not include it"
    )
    return f"{told}, {same}; {_width(row, result)}{_said_beside(row)}"


def _width(row: MethodRow, result: Comparison) -> str:
    own = (row.conf_high or 0.0) - (row.conf_low or 0.0)
    other = (result.conf_high or 0.0) - (result.conf_low or 0.0)
    ratio = own / other if other > 0 else 1.0
    if abs(ratio - 1) <= _AS_WIDE:
        return "about as wide"
    return f"{100 * abs(ratio - 1):.0f}% {'wider' if ratio > 1 else 'narrower'}"


def _said_beside(row: MethodRow) -> str:
    """Return what a posterior's note says: its probabilities are its answer."""
    return f". Its answer in probabilities: {row.note}" if "posterior" in row.method and row.note else ""


def _against_p(row: MethodRow, result: Comparison) -> str:
    alpha = 1 - result.conf_level
    own = f"p {p_value(row.p_value)}"
    if result.p_value is None:
        return own
    significant = (row.p_value or 0.0) <= alpha
    if significant == (result.p_value <= alpha):
        return f"{own} against {p_value(result.p_value)}: the same answer at {percent(alpha)}"
    side = "below" if significant else "above"
    return (
        f"{own} against {p_value(result.p_value)}: {side} {percent(alpha)} where the headline's is not, so the "
        "finding stands or falls with the method"
    )


def _effect(row: MethodRow) -> str:
    what = described(row.method)[0].what
    ends = "" if row.conf_low is None else f", interval {interval(row.conf_low, row.conf_high)}"
    return f"{row.term} {number(row.estimate)}{ends} ({what})"


def _costs(result: Comparison) -> list[str]:
    return [_cost(row, result) for row in result.costs if row.ratio is not None]


def _cost(row: CostRow, result: Comparison) -> str:
    ends = "" if row.conf_low is None else f", interval {interval(row.conf_low, row.conf_high)}"
    told = (
        f"{WORDS.get(row.quantity, row.quantity)}: in total {result.candidate.name} takes {number(row.ratio)} "
        f"times what {result.baseline.name} takes{ends}"
    )
    if row.typical_ratio is not None:
        told += f"; on the typical item {number(row.typical_ratio)} times"
    return f"{told}. It rests on the {row.n_items} of {row.n_paired} items for which both are known"
