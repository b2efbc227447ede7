"""A check for contamination explained to somebody who is no statistician, with the models and numbers of this result."""

from collections.abc import Mapping

from evalstats.analysis.contaminations.results import ContaminationCheck, ContaminationRow, Design
from evalstats.analysis.contaminations.wording import amount, capital, headline, old_words
from evalstats.analysis.explaining.words import frequency, percent, section, sentence, with_unit
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph
from evalstats.document.numbers import plural
from evalstats.stats.contamination.difference_in_differences import MIN_REFERENCES

_LISTED = 5
_QUESTION: Mapping[Design, str] = {
    "split": "Some items were public when the models were trained and some were not. Does a model score more on the public ones "
    "because it has seen them?",
    "date": "Every item has a date, and a model's training data ends at one. Does its score break off there?",
    "twins": "Every item has a twin that asks the same in other words. Does a model score more on the wording it may have seen?",
}
_HOW: Mapping[Design, str] = {
    "split": "The difference of the mean scores on old and new items is taken for every model. Part of it is that old items are "
    "easier or harder, and that part clean models show as well; so the mean difference of the references is taken off.",
    "date": "Through the scores of the items from before and from after the cut-off a straight line is laid on each side, items "
    "close to the cut-off counting most; the jump between the lines is the model's break. The mean score of the references on "
    "each item is taken off first, since difficulty moves with the date.",
    "twins": "The score on each original less that on its rephrased twin is taken for every model. Rephrasing may make an item "
    "harder for everybody, so the mean difference of the references is taken off.",
}
_SOURCES: Mapping[Design, tuple[str, ...]] = {
    "split": ("Zhang et al. 2024, arXiv:2405.00332 (old and new items of one kind)",),
    "date": (
        "Jain et al. 2024, LiveCodeBench, arXiv:2403.07974 (scores by the date of items)",
        "Imbens & Kalyanaraman 2012, doi:10.1093/restud/rdr043 (bandwidth)",
        "Calonico, Cattaneo & Titiunik 2014, doi:10.3982/ECTA11757 (parabolas as the check of bias)",
    ),
    "twins": ("Tango 1998, Statistics in Medicine 17:891 (right-or-wrong pairs)",),
}
_COMMON = (
    "Donald & Lang 2007, doi:10.1162/rest.89.2.221 (difference in differences with few groups)",
    "Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (variance from items and clusters)",
)


def explain_contamination(found: ContaminationCheck) -> list[Block]:
    """Return the explanation: question, method, assumptions, what the numbers and the verdict mean, what would change it.

    Parameters
    ----------
    found
        What `contamination()` gave.
    """
    return [
        Heading(text=f"Contamination on {found.benchmark}: what this check says", level=1),
        Heading(text="What was asked", level=2),
        Paragraph(text=_QUESTION[found.design]),
        Heading(text="How it was answered", level=2),
        Paragraph(text=_HOW[found.design]),
        Paragraph(text=_error(found)),
        *section("What this takes for granted, and how it could fail here", _assumptions(found)),
        *section("What the numbers mean", [_line(row, found) for row in found.rows[:_LISTED]]),
        *section(f"What the verdict means: {found.verdict}", _verdict(found)),
        *section("What would change it", _changes(found)),
        Heading(text="Where the methods come from", level=2),
        Bullets(items=tuple(sorted((*_SOURCES[found.design], *_COMMON)))),
    ]


def _error(found: ContaminationCheck) -> str:
    few = min((len(row.references) for row in found.rows), default=0)
    rest = (
        f"The second is learnt from {plural(few, 'reference')} here, so the interval comes from Student's law for their number "
        "less one"
        if few >= MIN_REFERENCES
        else f"The second cannot be learnt from {plural(few, 'reference')}, so there is no interval and no verdict"
    )
    return (
        "Two things blur the answer. The items are a sample, and clean models differ from one another in how much better they "
        f"do on {old_words(found)}. {rest}. An error bar from items alone would leave it out, and with three references find an "
        "inflation in up to a third of the models that have none, and more where clean models differ much."
    )


def _assumptions(found: ContaminationCheck) -> list[str]:
    clean = (
        f"The references ({', '.join(found.references[:_LISTED])}) have not seen the items; if they have, inflation is hidden"
        if found.references
        else "No model is known to be clean: each was held against all the others. What most of them have seen alike cannot show"
    )
    own = {
        "split": "Apart from having seen items, the suspect differs from the references no more than they do among themselves; a "
        "model that is better at the kind of item that happens to be old looks inflated",
        "date": "Difficulty, as the suspect has it beyond the references, moves smoothly through the cut-off, and the cut-off "
        "is the true one",
        "twins": "Rephrasing makes items harder for the suspect as it does for the references, and leaves what is asked the same",
    }[found.design]
    lost = [row for row in found.rows if row.n_left_out]
    missing = f"{plural(lost[0].n_left_out, 'item')} that some model lacks are like the rest" if lost else ""
    return [clean, own, missing]


def _line(row: ContaminationRow, found: ContaminationCheck) -> str:
    if row.estimate is None:
        return f"The model {row.model}: {row.reason}"
    told = f"The model {row.model} does better on {old_words(found)} by {amount(row.own, found)}"
    if row.reference is not None:
        told += f", the references by {amount(row.reference, found)}; "
        told += f"the rest, {amount(row.estimate, found)}, stands for inflation"
    if row.largest is None or row.p_value is None:
        return f"{told}. {capital(row.reason)}"
    luck = f"Were it clean, so much or more would turn up {frequency(row.p_value)}"
    side = "" if found.alternative == "greater" else " in either direction"
    return f"{told}. {luck}{side}. Up to {amount(row.largest, found)} is possible"


def _verdict(found: ContaminationCheck) -> list[str]:
    limit = with_unit(found.margin, found.scale, found.unit)
    meaning = {
        "inflated": "The advantage is more than clean models show by chance. It says that something sets the model apart on old "
        "items; exposure in training is the likely reason and not the only one",
        "clean within the margin": f"An inflation of {limit} or more is excluded at {percent(found.conf_level)}. It does not say "
        "that the model has seen no item",
        "inconclusive": "The data show neither an inflation nor that there is none; this is no certificate of cleanness",
        "invalid": "The comparison would not be one of like with like, so no number is given",
    }[found.verdict]
    return [headline(found), meaning]


def _changes(found: ContaminationCheck) -> list[str]:
    few = min((len(row.references) for row in found.rows), default=0)
    told = [
        f"More references known to be clean: with {few} the law that sets the interval is wide" if few < 10 else "",
        "More items on the smaller side",
        "Rephrased twins of the same items, which take difficulty out pair by pair" if found.design != "twins" else "",
        "A declared margin, without which nothing can be called clean" if found.margin is None else "",
    ]
    return [sentence(text) for text in told if text]
