"""What is said of scores that are watched over time."""

from dataclasses import dataclass
from datetime import date

from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.overview.changes_result import Changes, Day, History
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level, scaled_values
from evalstats.document.model import (
    Column,
    Document,
    Figure,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    sentence,
)
from evalstats.document.numbers import interval_words, number, scaled, titled
from evalstats.grammar import and_list, first_lines, plural

_TONES: dict[str, Tone] = {"rose": "good", "dropped": "bad", "too few": "neutral", "no drift shown": "neutral"}
_MOST_NAMED = 2
_MOST_LINES = 12
_MOST_PANELS = 12


@dataclass(frozen=True, slots=True)
class _Part:
    """A level line of the figure."""

    first: date
    last: date
    value: float | None
    tone: str
    words: str


def document(result: Changes) -> Document:
    """Return what is said of scores that are watched over time."""
    changed = [row for row in result.rows if row.drifted]
    label: tuple[str, Tone] = ("no drift shown", "good") if result.judged else ("too few runs", "caution")
    if changed:
        label = "drift", "bad" if any(row.worse for row in changed) else "caution"
    one = changed[0] if len(changed) == 1 else None
    drawn = one and drawn_interval(
        one.estimate,
        (one.conf_low, one.conf_high),
        scale=one.scale,
        unit=one.unit,
        origin=0.0,
        conf_level=result.conf_level,
    )
    figures = [_figure(result, benchmark, place) for place, benchmark in enumerate(result.benchmarks)]
    return Document(
        kind="overview",
        title="Has any score changed from run to run?",
        label=label[0],
        tone=label[1],
        headline="; ".join((_headline(result), *asked_direction(*(row.direction for row in result.rows)))),
        number=scaled(one.estimate, one.scale, 1, sign=True) + _unit(one.unit) if one else "",
        number_words=f"{level(result)} confidence sequence {_sequence(one)}" if one else "",
        interval=drawn,
        scope=_scope(result),
        answer=(*figures, models_table(result)) if len(figures) > 1 else tuple(figures),
        notes=result.notes,
        actions=tuple(_actions(result)),
        evidence=tuple(_evidence(result)),
        method=(_method(result), result.origin.section(seed="")),
    )


def _headline(result: Changes) -> str:
    changed = [row for row in result.rows if row.drifted]
    if not result.judged:
        reasons = {row.reason for row in result.rows}
        return f"No model can be compared: {reasons.pop()}" if len(reasons) == 1 else "No model can be compared yet"
    if not changed:
        n = len(result.judged)
        return (
            f"{'The score' if n == 1 else f'None of {n} scores'} {'is not' if n == 1 else 'is'} shown to have changed"
        )
    if len(changed) > _MOST_NAMED:
        names = and_list([_who(result, row) for row in changed], 3)
        return f"{len(changed)} of {plural(len(result.judged), 'score')} changed: {names}"
    return " and ".join(f"{_who(result, row)} {verdict_words(row)}" for row in changed)


def verdict_words(row: History) -> str:
    """Write the verdict with its day.

    >>> from datetime import date
    >>> day = date(2026, 8, 1)
    >>> made = {
    ...     "benchmark": "b",
    ...     "metric": "m",
    ...     "scale": 100.0,
    ...     "unit": "pp",
    ...     "score_unit": "%",
    ...     "higher_is_better": True,
    ... }
    >>> verdict_words(History(name="a", **made, verdict="dropped", since=day, first=day, last=day, n_days=2))
    'dropped since 2026-08-01'
    """
    if not row.drifted:
        return row.verdict
    return f"{row.verdict} {'on' if row.n_since == 1 else 'since'} {row.since}"


def change_words(row: History) -> str:
    """Write the change with its confidence sequence; why there is none."""
    if row.conf_low is None:
        return row.reason or ""
    return f"{scaled(row.estimate, row.scale, 1, sign=True)}{_unit(row.unit)} ({_sequence(row)})"


def _sequence(row: History | None) -> str:
    return "" if row is None else interval_words(row.conf_low, row.conf_high, row.scale, 1, sign=True)


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _who(result: Changes, row: History) -> str:
    return f"{row.name}{placed(row.benchmark)}" if len(result.benchmarks) > 1 else row.name


def _scope(result: Changes) -> str:
    first, last = min(each.day for each in result.days), max(each.day for each in result.days)
    where = placed(result.benchmarks[0]) if len(result.benchmarks) == 1 else f" on {len(result.benchmarks)} benchmarks"
    models = len({row.name for row in result.rows})
    when = f"on {first}" if first == last else f"on {plural(result.n_days, 'day')} from {first} to {last}"
    return f"{plural(models, 'model')}{where}, runs {when}; each item against itself"


def models_table(result: Changes) -> Table:
    """Return the table of all models: last score, change, verdict."""
    several_benchmarks = len(result.benchmarks) > 1
    units = {row.unit for row in result.rows}
    unit = units.pop() if len(units) == 1 else ""
    scores = {row.score_unit for row in result.rows}
    # A rise is bad where all metrics are better low.
    turned: dict[str, Tone] = (
        {} if any(row.higher_is_better for row in result.rows) else {"rose": "bad", "dropped": "good"}
    )
    columns = (
        Column(title="Model", kind="name"),
        Column(title="Benchmark", kind="name"),
        Column(title="Days", kind="count", spare=True),
        Column(title=titled("Last score", scores.pop() if len(scores) == 1 else ""), kind="amount", spare=True),
        Column(title="Since", kind="amount", spare=True),
        Column(title=titled("Change", unit), kind="amount"),
        Column(title=f"{level(result)} CS", kind="amount"),
        Column(title="Verdict", kind="verdict"),
    )
    rows = tuple(
        (
            row.name,
            row.benchmark if several_benchmarks else None,
            row.n_days,
            scaled(result.days_of(row)[-1].estimate, row.scale, 1),
            row.since.isoformat() if row.since else None,
            None if row.estimate is None else scaled(row.estimate, row.scale, 1, sign=True),
            None if row.conf_low is None else _sequence(row),
            row.verdict,
        )
        for row in result.rows
    )
    return Table(
        id="models",
        columns=columns,
        rows=rows,
        caption=f"The strongest change, runs since a day against those before; CS: {level(result)} confidence sequence",
        tones={**_TONES, **turned},
        most=8,
        frame=result.changes_frame().to_dict(as_series=False),
    ).without_empty_columns()


def _figure(result: Changes, benchmark: str, place: int) -> Figure:
    """Return the scores of a benchmark by day, a panel for each model."""
    every = [row for row in result.rows if row.benchmark == benchmark]
    rows = every[:_MOST_PANELS]
    shown = (
        f" {len(rows)} of {len(every)} models are drawn, those that changed first." if len(rows) < len(every) else ""
    )
    days = [(row, day) for row in rows for day in result.days_of(row)]
    parts = [(row.name, part) for row in rows for part in _parts(result, row)]
    events = [(row.name, day.day) for row, day in days if day.changes]
    head = rows[0]
    changed = [f"{row.name} {verdict_words(row)}, {change_words(row)}" for row in rows if row.drifted]
    return Figure(
        id="scores" if len(result.benchmarks) == 1 else f"scores-{place + 1}",
        plot="histories",
        rows={
            "model": [row.name for row, _ in days],
            "day": [day.day.isoformat() for _, day in days],
            "estimate": scaled_values([day.estimate for _, day in days], head.scale),
            "conf_low": scaled_values([day.conf_low for _, day in days], head.scale),
            "conf_high": scaled_values([day.conf_high for _, day in days], head.scale),
            "aside": [not day.watched for _, day in days],
            "words": [_told(row, day) for row, day in days],
        },
        options={
            "levels": {
                "model": [name for name, _ in parts],
                "first": [part.first.isoformat() for _, part in parts],
                "last": [part.last.isoformat() for _, part in parts],
                "estimate": scaled_values([part.value for _, part in parts], head.scale),
                "tone": [part.tone for _, part in parts],
                "words": [part.words for _, part in parts],
            },
            "events": {"model": [name for name, _ in events], "day": [day.isoformat() for _, day in events]},
            "title": f"{titled(head.metric, head.score_unit)}{placed(benchmark)}, {level(result)} interval of each day",
            "event_words": "items or settings changed",
            "aside_words": "not compared with the last day",
        },
        alt=f"{head.metric} of {plural(len(rows), 'model')} by day. {'; '.join(changed) or 'No change is shown'}.",
        caption=f"Scores by day; a line is the mean of the runs that are compared, before and since the day of a change.{shown}",
        table=models_table(result) if len(result.benchmarks) == 1 else None,
    )


def _parts(result: Changes, row: History) -> list[_Part]:
    """Return the level lines of a model: those of both parts where a change is shown, else the mean of all compared days."""
    words = f"{verdict_words(row)}: {change_words(row)}" if row.drifted else row.verdict
    days = [day for day in result.days_of(row) if day.watched]
    known = [day.estimate for day in days if day.estimate is not None]
    if not known or row.reason:
        return [_Part(row.first, row.last, None, "neutral", words)]
    if not row.drifted or row.since is None:
        return [_Part(row.first, row.last, sum(known) / len(known), "neutral", words)]
    last = max(day.day for day in days if day.day < row.since)
    tone = "bad" if row.worse else "good"
    return [_Part(row.first, last, row.before, "neutral", words), _Part(row.since, row.last, row.after, tone, "")]


def _told(row: History, day: Day) -> str:
    """Say what a point shows."""
    unit = _unit(row.score_unit) if row.score_unit != "%" else "%"
    ends = "" if day.conf_low is None else f" ({interval_words(day.conf_low, day.conf_high, row.scale, 1)})"
    also = f"; {'; '.join(day.changes)}" if day.changes else ""
    return (
        f"{row.name}, {day.day}: {scaled(day.estimate, row.scale, 1)}{unit}{ends}, {plural(day.n_items, 'item')}{also}"
    )


def _actions(result: Changes) -> list[str]:
    """Return what to look at: a line for all models that changed on one day along with the same things."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in result.rows:
        if row.drifted:
            also = f"the same day {'; '.join(row.beside)}" if row.beside else "nothing else recorded changed that day"
            once = " Only this one day shows it: run again before you act." if row.n_since == 1 else ""
            alike.setdefault((str(row.since), also, once), []).append(_who(result, row))
    told = [
        f"{and_list(names)}, {since}: {also}.{once} Look at the items that changed with evalstats compare."
        for (since, also, once), names in alike.items()
    ]
    return list(first_lines(told, _MOST_LINES))


def _evidence(result: Changes) -> list[Section]:
    found: list[Section] = []
    few = [row for row in result.rows if row.verdict == "too few"]
    if len({row.reason for row in few}) > (not result.judged):
        told = Items(items=first_lines([f"{_who(result, row)}: {row.reason}." for row in few], _MOST_LINES))
        found.append(
            Section(id="unwatched", heading=f"{plural(len(few), 'model')} cannot be compared yet", blocks=(told,))
        )
    earlier = [row for row in result.rows if row.first_flagged and not row.drifted]
    if earlier:
        told = Items(
            items=first_lines([f"{_who(result, row)}: flagged on {row.first_flagged}." for row in earlier], _MOST_LINES)
        )
        were, are = ("was", "is") if len(earlier) == 1 else ("were", "are")
        head = f"{plural(len(earlier), 'score')} {were} flagged at an earlier look and {are} not now"
        found.append(Section(id="earlier", heading=head, blocks=(told,)))
    changed = [(row, day) for row in result.rows for day in result.days_of(row) if day.changes]
    if changed:
        heading = "What else changed between runs"
        found.append(Section(id="settings", heading=heading, blocks=(_settings_table(result),)))
    found.append(Section(id="days", heading="Every score by day", blocks=(days_table(result),)))
    return found


def _settings_table(result: Changes) -> Table:
    """Return the days on which items or settings changed, and whether earlier days are compared with them."""
    columns = (
        Column(title="Day", kind="text"),
        Column(title="Model", kind="name"),
        Column(title="What changed", kind="text"),
        Column(title="Days before", kind="text"),
    )
    rows = tuple(
        (
            day.day.isoformat(),
            _who(result, row),
            "; ".join(day.changes),
            "set aside" if day.day == row.first else "set aside later" if not day.watched else "compared",
        )
        for row in result.rows
        for day in result.days_of(row)
        if day.changes
    )
    return Table(id="settings", columns=columns, rows=rows, caption="Changes that are no drift", most=12)


def days_table(result: Changes) -> Table:
    """Return every model's score on every day."""
    columns = (
        Column(title="Model", kind="name"),
        Column(title="Benchmark", kind="name"),
        Column(title="Day", kind="amount"),
        Column(title="Score", kind="amount"),
        Column(title=f"{level(result)} CI", kind="amount"),
        Column(title="Items", kind="count", spare=True),
        Column(title="Without a score", kind="count", spare=True),
    )
    several_benchmarks = len(result.benchmarks) > 1
    rows = tuple(
        (
            row.name,
            row.benchmark if several_benchmarks else None,
            day.day.isoformat(),
            scaled(day.estimate, row.scale, 1),
            None if day.conf_low is None else interval_words(day.conf_low, day.conf_high, row.scale, 1),
            day.n_items,
            day.n_lost or None,
        )
        for row in result.rows
        for day in result.days_of(row)
    )
    return Table(
        id="days",
        columns=columns,
        rows=rows,
        caption="Scores of the items of each day; days are compared above, on items that they share",
        most=20,
        frame=result.to_frame().to_dict(as_series=False),
    ).without_empty_columns()


def _method(result: Changes) -> Section:
    texts = texts_for(result.method)
    family = (
        f"Adjusted for {plural(result.n_watched, 'model')} by Bonferroni"
        if result.n_watched > 1
        else "One model is watched"
    )
    error = number(100 * (1 - result.conf_level), 1 if (100 * result.conf_level) % 1 else 0)
    told = (
        f"What is estimated: {result.estimand}.",
        f"{family}: if no score changes, the probability of ever flagging one is at most {error}%, over all looks.",
        "A new model, or a setting that restarts a score, adds its own error.",
        "The day of a change is the one with the strongest evidence, so it may be a run or two off.",
        *(text.takes for text in texts if text.takes),
        *(f"Clusters: {result.cluster}." for _ in (1,) if result.cluster),
    )
    sources = sorted({source for text in texts for source in text.sources})
    how = f"Method: {result.method}. {' '.join(text.how for text in texts)}"
    items = tuple(sentence(each) for each in (*told, *sources))
    return Section(
        id="method", heading="How changes were detected", blocks=(Text(text=sentence(how)), Items(items=items))
    )
