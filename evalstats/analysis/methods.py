"""How a comparison was made, for the methods section of a report: running text, a line for every row, and the works.

What a method is and where it comes from stands once, in `evalstats.analysis.method_texts`.
"""

import re
from collections.abc import Iterable, Sequence

from evalstats.analysis.comparability.rules import graver
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.costs import CostRow
from evalstats.analysis.method_rows import MethodRow
from evalstats.analysis.method_texts import texts_for
from evalstats.document.numbers import plural, scaled

_PAIRING = "Miller 2024, arXiv:2411.00640"
_PASS = re.compile(r" pass([\^@])(\d+)$")
_AUTHORS = re.compile(r".+? \d{4}(?=,)")
_EXACT_LAW = "exact law"
_AT_MARGIN = "tests at the margin"


def methods_paragraph(result: Comparison) -> str:
    """Describe how the answer was reached, in text that a paper could print; a blank line stands between paragraphs.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> text = methods_paragraph(compare(datasets.tenacious_held_out(), "baseline", "trained"))
    >>> "Tango score, the interval of all differences that the score test does not reject (Tango 1998)" in text
    True
    """
    first = (
        _design(result),
        _passing(result),
        _runs_alike(result),
        _headline(result),
        _clustered(result),
        _margin(result),
    )
    second = (_beside(result), _sides(result), _effects(result), _costs(result))
    third = (_missing(result), _family(result), _screen(result), _dependence(result), _repeated(result), _plan(result))
    paragraphs = [" ".join(text for text in part if text) for part in (first, second, third)]
    return "\n\n".join(text for text in paragraphs if text)


def method_lines(result: Comparison) -> tuple[tuple[str, str], ...]:
    """Return every method of the difference's rows with what it is, whose it is, and what its row notes.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> name, line = method_lines(compare(datasets.tenacious_held_out(), "baseline", "trained"))[0]
    >>> f"{name}: {line.partition(';')[0]}"
    'Tango score: the interval of all differences that the score test does not reject (Tango 1998)'
    """
    return tuple((row.method, _line(row)) for row in result.rows if row.term == "difference")


def references(result: Comparison) -> list[str]:
    """List the works behind every method that occurs in the result, by author.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> references(compare(datasets.tenacious_held_out(), "baseline", "trained"))[-1]
    'Wilson 1927, JASA 22:209'
    """
    return sorted({_PAIRING, *_works(_names(result)), *_works_of_adjustments(result)})


def _names(result: Comparison) -> list[str]:
    """Return the names of all methods in the result."""
    if graver(result.run_differences):
        return []
    rows: Sequence[MethodRow | CostRow] = (*result.rows, *result.effects, *_with_ratio(result.costs))
    names = [result.method, *(row.method for row in rows), result.baseline.method, result.candidate.method]
    if result.margin is not None:
        names.append(_AT_MARGIN)
    names += [group.method for group in result.groups]
    if passes := _PASS.search(result.metric):
        names.append(f"mean pass{passes[1]}")
    return names


def _works_of_adjustments(result: Comparison) -> list[str]:
    names = ["Bonferroni", "Holm"] if result.groups else []
    if any(row.p_adjusted is not None for row in result.flipped_by):
        names.append("Benjamini-Hochberg")
    return [*_works(names), *(_works(["max-T"])[:1] if result.dependence else [])]


def _works(methods: Iterable[str]) -> list[str]:
    """Return the sources of methods, each once, in their order."""
    return list(dict.fromkeys(source for name in methods for text in texts_for(name) for source in text.sources))


def _cited(methods: Iterable[str]) -> str:
    """Return authors and years in brackets, with a space before them; nothing where no work is known."""
    return _bracket(_works(methods))


def _bracket(works: Sequence[str]) -> str:
    found = [match[0] if (match := _AUTHORS.match(work)) else work for work in works]
    return f" ({'; '.join(dict.fromkeys(found))})" if found else ""


def _line(row: MethodRow) -> str:
    what = "; ".join(text.what for text in texts_for(row.method))
    return "; ".join(part for part in (f"{what}{_cited([row.method])}".strip(), row.note) if part)


def _named(names: Sequence[str]) -> str:
    """Join names, each with its works."""
    told = [f"{name}{_cited([name])}" for name in dict.fromkeys(names)]
    # Names have commas of their own.
    return told[0] if len(told) == 1 else f"{'; '.join(told[:-1])}; and {told[-1]}"


def _unit(result: Comparison) -> str:
    return f" {result.unit}" if result.unit else ""


# --- the question and its answer ---


def _design(result: Comparison) -> str:
    return (
        f"{result.candidate.name} was compared with {result.baseline.name} on {result.metric} of {result.benchmark}, item by "
        f"item{_bracket([_PAIRING])}, on the {result.n_items:,} items that both answered. The estimand is the "
        f"{result.estimand}."
    )


def pass_name(result: Comparison) -> str:
    """Return "pass^4" and the like where that is an item's score; "" where it is not.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> pass_name(compare(datasets.tenacious_held_out(), "baseline", "trained"))
    ''
    """
    found = _PASS.search(result.metric)
    return "" if found is None else found[0].strip()


def _passing(result: Comparison) -> str:
    found = _PASS.search(result.metric)
    if found is None:
        return ""
    kind, k = found.groups()
    how = "every one succeeds" if kind == "^" else "at least one succeeds"
    return (
        f"The score of an item is its pass{kind}{k}: the share of all ways to pick {k} of its trials in which {how}, which is "
        f"unbiased{_cited([f'mean pass{kind}'])}."
    )


def _runs_alike(result: Comparison) -> str:
    """Say what came of comparing the runs' settings, where it decides."""
    found = graver(result.run_differences)
    if not found:
        return ""
    return (
        f"Before any test the settings of the runs were compared. They differ in the {' and the '.join(found)}, so that a "
        "difference in scores cannot be laid to the systems; no interval and no test is given."
    )


def _headline(result: Comparison) -> str:
    if graver(result.run_differences):
        return ""
    what = "; ".join(text.what for text in texts_for(result.method))
    if result.conf_low is None:
        return f"The method is {result.method}{_cited([result.method])}. It gives no interval here: {result.verdict_reason}."
    told = f"The interval and its p are those of {result.method}{f', {what}' if what else ''}{_cited([result.method])}."
    if result.method_reason == "it was asked for":
        return f"{told} The method was asked for."
    return f"{told} It was chosen because {result.method_reason}.{_watched(result)}"


def _watched(result: Comparison) -> str:
    account = result.sequential
    if account is None:
        return ""
    order = "in which they were finished" if account.order == "timestamp" else "of the files"
    planned = (
        f"{plural(account.planned_n, account.unit)} were planned before the first look"
        if account.planned_n is not None
        else f"no number of {account.unit}s was planned"
    )
    return f" The {account.unit}s were taken in the order {order}; {planned}."


def _clustered(result: Comparison) -> str:
    if "CR2" not in result.method or not result.clusters or graver(result.run_differences):
        return ""
    return (
        f"The clusters are those of {' and '.join(result.clusters)}; no direction is claimed where this test and the "
        "sign-flip over clusters disagree, or with fewer than 4 degrees of freedom."
    )


def _margin(result: Comparison) -> str:
    if result.margin is None or graver(result.run_differences):
        return ""
    tests = "" if result.at_margin is None else _tests_at_margin(result.at_margin.method)
    return (
        f"A margin of {scaled(result.margin, result.scale)}{_unit(result)} was declared{tests}; the two count as equivalent "
        f"if the {100 * (2 * result.conf_level - 1):.4g}% interval lies within it{_cited([_AT_MARGIN])}."
    )


def _tests_at_margin(method: str) -> str:
    return f", and whether a loss as large can be excluded was asked by {method}"


# --- what stands beside it ---


def _beside(result: Comparison) -> str:
    others = [row for row in result.rows if row.term == "difference" and row.role not in ("headline", "other estimand")]
    other_questions = [row for row in result.rows if row.term == "difference" and row.role == "other estimand"]
    told: list[str] = []
    if others:
        told.append(f"Beside it, without a say in the verdict, stand {_named([row.method for row in others])}.")
    if other_questions:
        told.append(f"Other questions are answered by {_named([row.method for row in other_questions])}.")
    if any(_EXACT_LAW in row.method for row in result.rows):
        told.append(
            "Bootstraps marked as exact are computed from the law of the resampled mean, without resampling and without a seed."
        )
    return " ".join(told)


def _sides(result: Comparison) -> str:
    if graver(result.run_differences):
        return ""
    return f"Each side's own score carries an interval by {_named([result.baseline.method, result.candidate.method])}."


def _effects(result: Comparison) -> str:
    names = [row.method for row in result.effects]
    return f"Effect sizes are given by {_named(names)}." if names else ""


def _with_ratio(rows: Sequence[CostRow]) -> list[CostRow]:
    return [row for row in rows if row.ratio is not None and row.method]


def _costs(result: Comparison) -> str:
    names = [row.method for row in _with_ratio(result.costs)]
    if not names or graver(result.run_differences):
        return ""
    return f"What the two take is compared on the same items by {_named(names)}."


# --- what was done about the rest ---


def _missing(result: Comparison) -> str:
    if not result.missing.any:
        return ""
    if not result.missing.rows:
        return "Missing scores are left out, and no worst case is given."
    return "Missing scores are left out; the analysis is repeated with all of them at either bound."


def _family(result: Comparison) -> str:
    if not result.groups:
        return ""
    return (
        f"The {len(result.groups)} levels of {result.by} are one family: their intervals and p-values are adjusted by "
        f"Bonferroni's method{_cited(['Bonferroni'])}, for {100 * result.conf_level:.4g}% over the family; Holm's "
        f"p-values{_cited(['Holm'])} are in the data."
    )


def _screen(result: Comparison) -> str:
    if not any(row.p_adjusted is not None for row in result.flipped_by):
        return ""
    return (
        "Flipped items are counted level by level as a screen, by exact tests adjusted for the share of false "
        f"finds{_cited(['Benjamini-Hochberg'])}."
    )


def _dependence(result: Comparison) -> str:
    if not result.dependence:
        return ""
    return (
        "Factors that were not declared as clusters were tested for dependence by permutation (999 permutations, seed "
        f"{result.seed}), with the smallest p over factors as the statistic{_bracket(_works(['max-T'])[:1])}."
    )


def _repeated(result: Comparison) -> str:
    if not len(result.baseline.runs) == len(result.candidate.runs) == 1 or graver(result.run_differences):
        return ""
    return "There is one run of each side: how far another run of either would move is not in the interval."


def _plan(result: Comparison) -> str:
    plan = result.plan
    if plan is None:
        return ""
    departs = (
        f" The analysis {'; it '.join(plan.departures)}."
        if plan.departures
        else " The analysis does not depart from it."
    )
    return f"A plan was declared ({plan.source or 'given in code'}, SHA-256 {plan.digest[:12]}).{departs}"
