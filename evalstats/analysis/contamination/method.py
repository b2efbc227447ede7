"""How a check for contamination is computed, what it assumes, and where its methods come from."""

from collections.abc import Mapping

from evalstats.analysis.contamination.result import ContaminationCheck, Design
from evalstats.document.model import Items, Section, Text
from evalstats.document.numbers import number, plural, several
from evalstats.stats.contamination.difference_in_differences import MIN_REFERENCES

_HOW: Mapping[Design, str] = {
    "split": (
        "Every model's mean score on new items is taken from that on old ones. Part of the difference is that old items are "
        "easier or harder, and clean models show that part too. So the mean difference of the references is taken off."
    ),
    "date": (
        "A straight line is laid through the scores of items before the cut-off, and one through those after it. Items close "
        "to the cut-off count most; the jump between the lines is the break. The mean score of the references on each item is "
        "taken off first, since difficulty moves with the date."
    ),
    "twins": (
        "Every model's score on the rephrased twin is taken from that on the original. Rephrasing may make an item harder for "
        "everybody. So the mean difference of the references is taken off."
    ),
}
_ALIKE: Mapping[Design, str] = {
    "split": (
        "Apart from having seen items, the suspect differs from the references no more than they do among themselves. A model "
        "that is better at the kind of item that happens to be old looks inflated."
    ),
    "date": "Difficulty, as the suspect has it beyond the references, moves smoothly through the cut-off, which is the true one.",
    "twins": "Rephrasing makes items harder for the suspect as for the references, and leaves what is asked the same.",
}
_SOURCES: Mapping[Design, tuple[str, ...]] = {
    "split": ("Zhang et al. 2024, arXiv:2405.00332 (old and new items of one kind)",),
    "date": (
        "Calonico, Cattaneo & Titiunik 2014, doi:10.3982/ECTA11757 (parabolas as the check of bias)",
        "Imbens & Kalyanaraman 2012, doi:10.1093/restud/rdr043 (bandwidth)",
        "Jain et al. 2024, LiveCodeBench, arXiv:2403.07974 (scores by the date of items)",
    ),
    "twins": ("Tango 1998, Statistics in Medicine 17:891 (right-or-wrong pairs)",),
}
_COMMON = (
    "Donald & Lang 2007, doi:10.1162/rest.89.2.221 (difference in differences with few groups)",
    "Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (variance from items and clusters)",
)
_LISTED = 5


def method_sections(result: ContaminationCheck) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, and the references."""
    return (
        Section(
            id="method",
            heading="How inflation is measured",
            blocks=(Text(text=_HOW[result.design]), Text(text=_error(result)), Items(items=_facts(result))),
        ),
        Section(id="assumptions", heading="What this assumes", blocks=(Items(items=_assumptions(result)),)),
        Section(
            id="references",
            heading="References",
            blocks=(Items(items=tuple(sorted((*_SOURCES[result.design], *_COMMON)))),),
        ),
    )


def code_options(result: ContaminationCheck) -> dict[str, object]:
    """Return the arguments that give the same result again."""
    cutoffs = {row.model: row.cutoff for row in result.rows if row.cutoff is not None}
    # Several levels of a side are not told apart from one that is called "this and that".
    named = result.design != "date" and not any(" and " in side for side in (result.old, result.new))
    by_name = (result.old, result.new) == ("original", "rephrased") and result.column != "variant"
    return {
        "split": result.column if result.design == "split" else None,
        "date": result.column if result.design == "date" else None,
        "twin": result.column if result.design == "twins" else None,
        "old": result.old if named and not by_name else None,
        "new": result.new if named and not by_name else None,
        "cutoffs": cutoffs,
        "suspects": list(result.suspects) or None,
        "references": list(result.references) or None,
        "metric": result.metric,
        "cluster": list(result.clusters) or None,
        "margin": result.margin,
        "conf_level": None if result.conf_level == 0.95 else result.conf_level,
        "alternative": None if result.alternative == "two-sided" else result.alternative,
        "seed": result.seed or None,
    }


def _error(result: ContaminationCheck) -> str:
    few = min((len(row.references) for row in result.rows), default=0)
    if few < MIN_REFERENCES:
        rest = f"{plural(few, 'reference')} cannot show the second, so there is no interval and no verdict."
    else:
        rest = f"The second is learnt from {few} references, so the interval is Student's with {few - 1} degrees of freedom."
    return (
        f"Two things blur the answer: items are a sample, and clean models differ in what they gain. {rest} Items alone would "
        "leave the second out, and with three references call up to 40% of clean models inflated."
    )


def _facts(result: ContaminationCheck) -> tuple[str, ...]:
    clusters = f"; clusters: {' and '.join(result.clusters)}" if result.clusters else ""
    family = len(result.rows)
    unit = f" {result.unit}" if result.unit else ""
    found = [
        f"Estimand: {result.estimand}{clusters}.",
        f"Method: {result.method}.",
        f"References: {several(result.references, _LISTED)}."
        if result.references
        else "References: for each model all the others.",
    ]
    if family > 1:
        found.append(f"p is adjusted by Holm over {family} suspects; intervals are for each one alone.")
    if result.margin is not None:
        found.append(f"Margin: {result.margin * result.scale:g}{unit}.")
    spread = result.rows[0].between_sd if family == 1 else None
    if spread is not None:
        more = f"by an SD of {number(spread * result.scale, 1)}{unit} beyond" if spread > 0 else "no more than by"
        found.append(f"References differ {more} item noise.")
    if result.direction == "assumed":
        found.append("Higher is taken as better; no file declares it.")
    found += [
        f"{row.model}: cut-off {row.cutoff}, items within {number(row.bandwidth, 0)} days ({row.bandwidth_reason})."
        for row in result.rows[:_LISTED]
        if row.bandwidth is not None
    ]
    return tuple(found)


def _assumptions(result: ContaminationCheck) -> tuple[str, ...]:
    clean = (
        "The references have not seen the items; if they have, inflation is hidden."
        if result.references
        else "Most models are clean: each is held against all the others, so what most of them have seen cannot show."
    )
    lost = [row for row in result.rows if row.n_left_out]
    missing = [f"{plural(lost[0].n_left_out, 'item')} that some model lacks are like the rest."] if lost else []
    inflated = [
        "A gain is evidence of exposure, not proof: something else may set the model apart on these items.",
    ]
    return (clean, _ALIKE[result.design], *missing, *inflated)
