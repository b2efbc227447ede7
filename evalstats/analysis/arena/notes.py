"""What must be known of the votes before any rating of them: what was left out, mixed, simulated, or is not known."""

from collections.abc import Iterable, Iterator

import polars as pl

from evalstats.analysis.arena.result import ClusterCount, VoteGraph
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import share_in_percent
from evalstats.errors import Option
from evalstats.grammar import and_list, comma_list, plural
from evalstats.schema.data import same_votes
from evalstats.table.votes import FEW_JUDGES, FEWEST_LEVELS, PEOPLE, VoteTable, vote_sources

_COUNTED = frozenset({"prompt", "rater", "judge", "session", "event"})
_SHOWN = 4
_LARGE = 0.2  # of all votes


def source_word(name: str) -> str:
    """Return what readers call a column that votes share: an item is a prompt."""
    return "prompt" if name == "item" else name


def source_levels(name: str, n: int | None = None) -> str:
    """Write how many levels a column has, or what they are called.

    >>> source_levels("item", 2), source_levels("item"), source_levels("user", 3)
    ('2 prompts', 'prompts', '3 levels of user')
    """
    word = source_word(name)
    if word in _COUNTED:
        return f"{word}s" if n is None else plural(n, word)
    return f"levels of {name}" if n is None else f"{n:,} levels of {name}"


def clusters_in_words(clusters: tuple[ClusterCount, ...]) -> str:
    """Write what votes share, with how many votes name none: 30 raters (2 votes without one) and 9 prompts."""
    words = [source_levels(each.name, each.n_levels) for each in clusters]
    nameless = [f" ({plural(each.n_nameless, 'vote')} without one)" if each.n_nameless else "" for each in clusters]
    return " and ".join(map("".join, zip(words, nameless, strict=True)))


def vote_notes(table: VoteTable, asked: tuple[str, ...] | None, *, graded: bool) -> tuple[Note, ...]:
    """Return the notes on a table of votes, as it was read; `asked` is what it was to be clustered by.

    `graded`: whether a graded preference counts as such.
    """
    counts, votes = table.counts, table.votes
    without: list[Note] = []
    if counts.n_unscored:
        why = comma_list((f"{reason} ({n:,})" for reason, n in counts.reasons), _SHOWN)
        text = f"{counts.n_unscored:,} of {counts.n_rows:,} votes have no outcome and are dropped, not counted as ties: {why}"
        if counts.labels:
            text += f"; labels: {comma_list((f'{label[:40]!r} ({n:,})' for label, n in counts.labels), _SHOWN)}"
        without = [Note(kind="missing", text=text)]
    if votes is None:
        return (*without, *_of_merged(table))
    lost = f"{plural(counts.n_without_covariates, 'vote')} without "
    lost += f"{' and '.join(name for name in table.covariate_names if name != 'side')} of both answers are dropped"
    return (
        *_simulated(votes),
        *without,
        *_mixtures(votes),
        # Files may repeat the votes of another one.
        *as_notes("trust", [f"votes of {found.path}: {found.message}" for found in same_votes(votes)]),
        *_of_clusters(table, votes, asked),
        *([Note(kind="left_out", text=lost)] if counts.n_without_covariates else []),
        *_of_amounts(votes, graded=graded),
    )


def _of_merged(table: VoteTable) -> Iterator[Note]:
    unused = [name for name, _ in table.unclustered]
    if unused:
        alone = f"those of one {' or '.join(unused)} count as independent"
        text = f"Merged votes are clustered by {table.cluster_names[0]} alone; {alone}"
        yield Note(kind="dependence", text=text, remedy="Read the votes in full where that matters")
    text = "Votes were merged on reading: covariates, categories and checks of single votes are skipped"
    yield Note(kind="choice", text=text, caution=False)


def _simulated(votes: pl.DataFrame) -> Iterator[Note]:
    """Warn of simulated votes, which may carry the names of real models."""
    if "simulated" not in votes.columns:
        return
    marks = votes["simulated"].cast(pl.String)
    known = marks.filter(marks.is_not_null() & ~marks.str.to_lowercase().is_in(["false", "0"]))
    if len(known):
        many = "The votes are" if len(known) == votes.height else f"{len(known):,} of {votes.height:,} votes are"
        yield Note(kind="simulated", text=f"{many} simulated ({known[0]}), whatever models they name")


def _mixtures(votes: pl.DataFrame) -> Iterator[Note]:
    """Tell where votes of several judge models, or of people and judges, are rated together."""
    judged = int(votes["judge"].is_not_null().sum())
    if 0 < judged < votes.height:
        text = (
            f"{judged:,} of {votes.height:,} votes were given by a judge model, the others by people; all count alike"
        )
        yield Note(kind="comparability", text=text)
    judges = votes["judge"].drop_nulls().n_unique()
    if 1 < judges <= FEW_JUDGES:
        sides = [votes.select("judge", pl.col(f"model_{side}").alias("model")) for side in "ab"]
        of_model = pl.concat(sides).drop_nulls().group_by("model").agg(pl.col("judge").n_unique())
        alone = int((of_model["judge"] == 1).sum())
        text = f"Votes of {judges} judges are rated together"
        if alone:
            text += f", and {alone} of {of_model.height} models were judged by one of them only"
        remedy = ("Rate each judge separately: ", Option("where", blank="NAME", of="judge")) if alone else ""
        yield Note(kind="comparability", text=text, remedy=remedy)


def _of_clusters(table: VoteTable, votes: pl.DataFrame, asked: tuple[str, ...] | None) -> Iterator[Note]:
    """Say of what votes share that errors are not clustered by it, or only in part."""
    if asked == ("none",):
        text = "Every vote counts as independent, as asked; if one person votes often, intervals are too short"
        yield Note(kind="dependence", text=text)
        return
    auto = asked in (None, ("auto",))
    if auto and {"judge", "rater"} <= set(votes.columns) and votes["rater"].null_count() not in (0, votes.height):
        judged = votes.filter(pl.col("rater").is_null() & pl.col("judge").is_not_null())
        names = judged["judge"].cast(pl.String).unique().sort().to_list()
        if 0 < len(names) <= FEW_JUDGES:
            text = (
                f"{judged.height:,} of {votes.height:,} votes are by {plural(len(names), 'judge')} ({and_list(names, 3)}) and "
                "not by people; each counts as a rater of its own"
            )
            yield Note(kind="dependence", text=text, remedy="Rate people's votes and a judge's apart")
    for name, levels in table.unclustered:
        word = source_word(name)
        text = f"All votes come from {plural(levels, word)}, so intervals do not cover another {word}"
        yield Note(kind="few", text=text, remedy=f"Collect votes from at least {FEWEST_LEVELS}")
    # A few judges are instruments, and are named all the same.
    signed = "judge" in votes.columns and votes["judge"].null_count() == 0
    if auto and not table.cluster_names and not signed and PEOPLE.isdisjoint(vote_sources(votes)):
        text = "The votes do not say who voted on what, so intervals are too short where users voted more than once"
        yield Note(kind="dependence", text=text, remedy="Name the voter's column rater")


def _of_amounts(votes: pl.DataFrame, *, graded: bool) -> tuple[Note, ...]:
    """Say how graded preferences and weights count."""
    texts: list[str] = []
    if n := votes.height - votes["preference"].null_count():
        how = (
            "count with their graded preference, not as won or lost"
            if graded
            else "with a graded preference count as who won: a model of ties needs outcomes"
        )
        texts.append(f"{plural(n, 'vote')} {how}")
    weight = votes["weight"].fill_null(1.0)
    if not (weight == 1.0).all():
        texts.append(f"Votes count with their weights, from {weight.min():g} to {weight.max():g}")
    return as_notes("choice", texts, caution=False)


# --- what follows from how votes connect models ---


def scale_notes(graph: VoteGraph, prior: float) -> tuple[Note, ...]:
    """Say where votes do not put all models on one scale, and which have no finite rating, or one by the prior alone."""
    if graph.connected:
        return ()
    if not graph.one_list:
        n = len(graph.components)
        if prior > 0.0:
            text = f"The votes alone leave {n} parts; how these compare rests on the prior of {prior:g} wins"
            return (Note(kind="comparability", text=text),)
        # The answer says so itself.
        text = f"The votes leave {n} parts, and ratings can be compared within a part only"
        return (Note(kind="comparability", text=text, caution=False),)
    texts: list[str] = []
    for names, all_of, done, end in (
        (graph.unbounded_above, graph.unbeaten, "won", "upper"),
        (graph.unbounded_below, graph.winless, "lost", "lower"),
    ):
        # Of two such models one may have beaten the other.
        on = "" if set(names) <= set(all_of) else " on the rated models"
        one = len(names) == 1
        whose = f"The rating{'' if one else 's'} of {and_list(names, 3)}"
        if names and prior > 0.0:
            texts.append(
                f"{whose}, which {done} every vote{on}, {'rests' if one else 'rest'} on the prior of {prior:g} wins; ranks rest "
                "on the votes alone"
            )
        elif names:
            limit = f"{whose} {'has' if one else 'have'} no {end} limit"
            texts.append(f"{limit}: {'it' if one else 'they'} {done} every vote{on}")
    return as_notes("few", texts)


def few_votes_notes(graph: VoteGraph) -> Iterator[Note]:
    """Warn of models with few votes."""
    if graph.few_votes:
        few = and_list([f"{name} ({count})" for name, count in graph.few_votes])
        yield Note(kind="few", text=f"Little is known about models with fewer than 10 votes: {few}")


def unequal_notes(clusters: Iterable[ClusterCount]) -> Iterator[Note]:
    """Warn where one of what votes share holds so many of them that the others hardly count."""
    for each in clusters:
        n = each.n_levels + each.n_nameless
        if each.largest > _LARGE and 2 * each.effective < n:
            word = source_word(each.name)
            worth = f"{n:,} {word}s are worth {each.effective:.0f} equal ones"
            text = f"One {word} has {share_in_percent(each.largest)} of the votes: {worth}"
            yield Note(
                kind="dependence", text=text, remedy=f"Rate again without its votes, or cap the votes of a {word}"
            )
