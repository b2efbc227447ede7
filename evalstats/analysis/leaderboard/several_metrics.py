"""What is said of leaderboards by several metrics: one table of scores and ranks, then each metric with its own board."""

from collections.abc import Mapping
from dataclasses import replace

from evalstats.analysis.by_metric import notes_by_metric
from evalstats.analysis.leaderboard.document import document as document_of_board
from evalstats.analysis.leaderboard.figures import score_digits
from evalstats.analysis.leaderboard.result import Leaderboard, Leaderboards
from evalstats.analysis.provenance import placed
from evalstats.document.model import Column, Document, Figure, Section, Table, listed
from evalstats.document.names import named
from evalstats.document.numbers import number, with_unit
from evalstats.grammar import and_list, plural

_SHOWN = 3
_CLEAR, _OPEN = "one best", "no clear winner"


def document(result: Leaderboards) -> Document:
    """Return what is said of leaderboards by several metrics."""
    first, boards = result.rows[0], {row.metric: document_of_board(row) for row in result.rows}
    n, labels = len(boards), [board.label for board in boards.values()]
    clear = f"{_CLEAR} in {labels.count(_CLEAR)} of {n}" if {*labels} == {_CLEAR, _OPEN} else f"by {n} metrics"
    where = placed(first.benchmark) if len({row.benchmark for row in result.rows}) == 1 else ""
    assumed = [row.metric for row in result.rows if row.direction == "assumed"]
    scope = (
        f"{first.basis[:1].upper()}{first.basis[1:]}",
        f"ranks and intervals are adjusted for {n} metrics, so that all hold together at {100 * result.conf_level:g}%",
        *([f"higher is assumed better in {and_list(assumed, _SHOWN)}"] if assumed else []),
    )
    # What is in brackets behind how ranks are found is the method of the pairs.
    methods = (f"{row.metric}: {row.method}; ranks: {row.rank_method.partition(' (')[0]}." for row in result.rows)
    return Document(
        kind="leaderboard",
        title=f"Which {first.contrast} is best{where} in {and_list(result.metrics) if n <= _SHOWN else plural(n, 'metric')}?",
        label=labels[0] if len({*labels}) == 1 else clear,
        tone="good" if {*labels} == {_CLEAR} else "caution",
        headline=_headline(boards, {row.metric: row.rows[0].name for row in result.rows}),
        scope="; ".join(scope),
        answer=(_models(result),),
        notes=(*result.notes, *notes_by_metric({row.metric: row.notes for row in result.rows})),
        actions=("Say before the next run which metric decides: no test weighs one against another.",),
        evidence=tuple(_of_metric(*each, place) for place, each in enumerate(boards.items(), start=1)),
        method=(listed("method", "How it was answered", methods), first.origin.section()),
    )


def _headline(boards: Mapping[str, Document], tops: Mapping[str, str]) -> str:
    """Name the model at the top by each metric, and where it alone may be the best; of other answers, each its own."""
    leads: dict[str, list[str]] = {}
    for metric, board in boards.items():
        if board.label in (_CLEAR, _OPEN):
            leads.setdefault(tops[metric], []).append(metric)
    clear = [metric for metric, board in boards.items() if board.label == _CLEAR]
    said = [f"{named(name)} leads in {and_list(metrics, _SHOWN)}" for name, metrics in leads.items()]
    said += [f"clear in {and_list(clear, _SHOWN)} alone"] if 0 < len(clear) < len(boards) else []
    return "; ".join(
        (*said, *(f"{key}: {own.headline}" for key, own in boards.items() if own.label not in (_CLEAR, _OPEN)))
    )


def _models(result: Leaderboards) -> Table:
    """Return one line for each model, with its score and its ranks by each metric."""
    names = dict.fromkeys(each.name for row in result.rows for each in row.rows)
    titles = [row.metric if row.higher_is_better else f"{row.metric} (lower is better)" for row in result.rows]
    return Table(
        id="models",
        columns=(Column(title="Model", kind="name"), *(Column(title=title, kind="amount") for title in titles)),
        rows=tuple((name, *(_cell(row, name) for row in result.rows)) for name in names),
        caption=f"Scores, and in brackets the possible ranks; in the order of {result.rows[0].metric}",
        frame=result.to_frame().to_dict(as_series=False),
    )


def _cell(row: Leaderboard, name: str) -> str:
    for each in row.rows:
        if each.name == name and each.estimate is not None:
            score = with_unit(number(each.estimate * row.scale, score_digits(row)), row.score_unit)
            return f"{score} ({each.ranks.replace('-', '–')})" if each.rank_low else score
    return "–"


def _of_metric(metric: str, board: Document, place: int) -> Section:
    """Return the figure of one metric's board, under its answer."""
    drawn = [each for each in board.answer if isinstance(each, Figure)]
    tables = [each.table and replace(each.table, id=f"{each.table.id}-m{place}") for each in drawn]
    blocks = [replace(each, id=f"{each.id}-m{place}", table=own) for each, own in zip(drawn, tables, strict=True)]
    return Section(id=f"m{place}", heading=f"{metric}: {board.headline}", blocks=tuple(blocks))
