"""What is said of an overview: an answer a line, what else was asked and why it has none, and what the store holds."""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import accumulate

from evalstats.analysis.overview.result import Answer, Held, Overview
from evalstats.document.model import Block, Column, Document, Items, Section, Table, Text, listed, sentence
from evalstats.document.names import named
from evalstats.errors import Option
from evalstats.grammar import and_list, plural
from evalstats.schema.data import UNNAMED

# Lines of a terminal that answers may take before the rest are left to `--full`.
_ROOM = 11
_WIDTH = 78
_RATED: dict[Held, str] = {"scores": "score", "votes": "vote", "ratings": "rating", "published numbers": "number"}


def document(result: Overview) -> Document:
    """Return all that is said of an overview."""
    said = list(zip(result.answers, result.documents(), strict=True))
    # An answer a line: the question and where, the verdict, the headline (not made to begin with a capital: that may be a
    # model's name), the number.
    lines = [
        " ".join(
            sentence(part) for part in (f"{answer.where}: {each.label.upper()}", each.headline, number_of(each)) if part
        )
        for answer, each in said
    ]
    # Those that have room on a terminal, one at least.
    room = list(accumulate(len(textwrap.wrap(line, _WIDTH)) or 1 for line in lines))
    first = min(len(lines), max(1, sum(taken <= _ROOM for taken in room)))
    answer: list[Block] = [Items(items=tuple(lines[:first]))] if lines else []
    if first < len(lines):
        answer.append(
            Text(text=f"{plural(len(lines) - first, 'more answer')} with {named(Option('full', value=True))}.")
        )
    refused = refused_by_reason(result)
    answered = {each.question for each in result.answers}
    without = list(dict.fromkeys(question for question, _ in refused if question not in answered))
    if without:
        answer.append(Text(text=f"No answer: {', '.join(without)} (why: {named(Option('full', value=True))})."))
    headline = "None of the questions can be answered with these data"
    if said:
        asked = plural(len({answer.question for answer, _ in said}), "question")
        headline = f"{plural(len(said), 'answer')} to {asked}"
    return Document(
        kind="overview",
        title="What do these results show?",
        label="overview",
        tone="neutral",
        headline=headline,
        scope=_scope(result),
        answer=tuple(answer),
        # What data the answers rest on, once for all that say the same.
        notes=tuple({note.line: note for _, each in said for note in each.banners}.values()),
        evidence=tuple(_evidence(result, lines[first:], said, refused)),
        method=(_method(result),),
    )


def number_of(document: Document) -> str:
    """Write the number that answers with its interval; "" where there is none."""
    return ", ".join(part for part in (document.number, document.number_words) if part)


def caution_of(document: Document) -> str:
    """Return the first thing to know before relying on an answer; "" where there is nothing."""
    return next((note.line for note in document.cautions), "")


def refused_by_reason(result: Overview) -> dict[tuple[str, str], list[str]]:
    """Group the questions without an answer: the question and why, and the benchmarks that this holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in result.refusals:
        found.setdefault((each.question, each.reason), []).append(each.benchmark)
    return found


def holdings_table(result: Overview) -> Table:
    """Return a table of what the data hold: a line for each system on a benchmark, or source of other rows."""
    columns = (
        Column(title="Benchmark", kind="name"),
        Column(title="Model", kind="name"),
        Column(title="Rows", kind="text", spare=True),
        Column(title="Runs", kind="count", spare=True),
        Column(title="Scored", kind="count"),
        Column(title="Error", kind="count"),
        Column(title="Unscored", kind="count"),
        Column(title="Last run", kind="amount"),
    )
    rows = tuple(
        (
            _named(each.benchmark),
            each.model,
            each.kind,
            each.n_runs if each.kind == "scores" else None,
            each.n_scored,
            each.n_error if each.kind == "scores" else None,
            each.n_unscored if each.kind == "scores" else None,
            each.date or None,
        )
        for each in result.holdings
    )
    return Table(
        id="holdings",
        columns=columns,
        rows=rows,
        caption="Rows by state, over all metrics; a row that is absent is missing",
        most=20,
    )


def refusals_table(result: Overview) -> Table:
    """Return the questions without an answer, and why."""
    rows = tuple(
        (
            question,
            and_list([*filter(None, map(_named, names))], 3) if any(map(_named, names)) else None,
            sentence(reason),
        )
        for (question, reason), names in refused_by_reason(result).items()
    )
    columns = (
        Column(title="Question", kind="text"),
        Column(title="Benchmark", kind="text"),
        Column(title="Why not", kind="text"),
    )
    return Table(id="refusals", columns=columns, rows=rows, caption="Questions without an answer")


def _named(benchmark: str) -> str | None:
    """Return the benchmark's name, where a file says one."""
    return benchmark if benchmark not in ("", UNNAMED) else None


def _scope(result: Overview) -> str:
    told: list[str] = []
    scores = [each for each in result.holdings if each.kind == "scores"]
    if scores:
        models, benchmarks = ({getattr(each, name) for each in scores} for name in ("model", "benchmark"))
        n = sum(each.n_scored for each in scores)
        lost = [
            f"{count:,} {word}"
            for count, word in (
                (sum(each.n_error for each in scores), "harness errors"),
                (sum(each.n_unscored for each in scores), "unscored"),
            )
            if count
        ]
        rest = f" ({', '.join(lost)} besides)" if lost else ""
        told.append(
            f"{plural(n, 'score')}{rest} of {plural(len(models), 'system')} on {plural(len(benchmarks), 'benchmark')}"
        )
    for kind, noun in _RATED.items():
        n = sum(each.n_scored for each in result.holdings if each.kind == kind)
        if n and kind != "scores":
            told.append(plural(n, "published number" if kind == "published numbers" else noun))
    return "; ".join(told)


def _evidence(
    result: Overview,
    more: Sequence[str],
    said: Sequence[tuple[Answer, Document]],
    refused: Mapping[tuple[str, str], Sequence[str]],
) -> list[Section]:
    found: list[Section] = []
    if more:
        found.append(listed("answers", "More answers", more))
    cautions = [f"{answer.where}: {caution_of(each)}" for answer, each in said if caution_of(each)]
    if cautions:
        found.append(listed("cautions", "Before you rely on them", cautions))
    found.append(Section(id="holdings", heading="What the data hold", blocks=(holdings_table(result),)))
    if refused:
        found.append(Section(id="refusals", heading="What the data do not answer", blocks=(refusals_table(result),)))
    return found


def _method(result: Overview) -> Section:
    items = (
        "Every question was asked once, with its defaults; each answer is that of its own command.",
        "Intervals and p-values are adjusted within an answer, not over all answers of the overview.",
        f"evalstats {result.origin.version}; seed {result.origin.seed}.",
    )
    return listed("overview", "How the overview was made", items)
