"""The votes that are analysed, and what they share; what is left out of a table of comparisons is counted, never guessed."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np
import polars as pl

from evalstats.analysis.arena.adjustments import Covariates, relative_differences
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, EvalStatsWarning, InputError, Option, some_of
from evalstats.schema.data import EvalData, alike, lookalike_note, renamed, same_votes
from evalstats.schema.tables import as_polars, check_table
from evalstats.stats.arena.votes import BOTH_BAD, OUTCOMES, TIE, VoteRows, vote_rows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.table.votes import VoteCells, cluster_chunks, vote_cells

_SOURCES = ("item", "rater", "session", "event")
_WORDS = {"item": "prompt", "rater": "rater", "judge": "judge", "session": "session", "event": "event"}
_OWN = {"prompt": "item", "user": "rater", "judge_id": "rater"}
FEW_JUDGES = 20  # more are a crowd
FEWEST = 6  # with fewer levels nothing can be said about new ones
_PEOPLE = frozenset({"rater", "judge", "session"})
_SHOWN = 4
_FULL_SHARE = np.array([1.0, 0.0, 0.5, 0.5])
_ONE_SOURCE = ("rater", "user", "judge", "session", "event", "item")
_MERGED = Note(
    kind="choice",
    text="Votes were merged without being held: covariates, categories and checks of single votes are left out",
    caution=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTable:
    """Votes with an outcome between two different models, as a frame and as arrays.

    Attributes
    ----------
    models
        Names, sorted; a model's number is its place here.
    votes
        One row per vote, columns of the glossary and the factors of the file. None where votes came merged (a lazy frame too
        large to hold); then checks that need single votes are not run.
    first, second, outcome, share, weight, codes, covariates
        The same votes coded as in `VoteRows`, in the order of `votes`; empty where `votes` is None.
    rows
        All of them merged, with covariates and clusters.
    nameless
        For each cluster: how many of its last codes are votes without a level, each of which is one of its own.
    cluster_names, covariate_names
        What clusters and covariates are, in order; "side" first where it is one.
    chunks
        Where `votes` is None and `cluster_names` has one name: gives the merged votes by that cluster, whole clusters at a
        time; `rows` has no clusters then.
    """

    models: tuple[str, ...]
    votes: pl.DataFrame | None
    first: IntArray
    second: IntArray
    outcome: IntArray
    share: FloatArray
    weight: FloatArray
    rows: VoteRows
    cluster_names: tuple[str, ...] = ()
    codes: tuple[IntArray, ...] = ()
    nameless: tuple[int, ...] = ()
    covariates: FloatArray
    covariate_names: tuple[str, ...] = ()
    chunks: Callable[[], Iterator[VoteRows]] | None = None
    notes: tuple[Note, ...] = ()

    @property
    def n_models(self) -> int:
        """Models with a vote."""
        return len(self.models)

    @property
    def n_votes(self) -> int:
        """Votes that are analysed."""
        return self.rows.n_votes

    def rows_at(self, at: BoolArray, *, covariates: FloatArray, further: tuple[IntArray, ...] = ()) -> VoteRows:
        """Return some of the votes merged, with covariates of their own and further clusters after the table's."""
        return vote_rows(
            self.first[at],
            self.second[at],
            self.outcome[at],
            n_models=self.n_models,
            share=self.share[at],
            weight=self.weight[at],
            covariates=covariates,
            clusters=(*(codes[at] for codes in self.codes), *further),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Columns by which votes are clustered: names, codes for every vote, and how many votes have no level."""

    names: tuple[str, ...]
    codes: tuple[IntArray, ...]
    nameless: tuple[int, ...]
    notes: tuple[Note, ...] = ()


def shared_sources(votes: pl.DataFrame, asked: str | Sequence[str]) -> Shared:
    """Return what standard errors are clustered by: named columns as they are, nothing for "none".

    "auto" takes prompt, rater (or judge, where there are many), session and event, whichever the votes have with at least two
    votes in some level. A source with fewer than six levels is left out with a warning, since nothing could be said about new
    levels of it.

    >>> votes = pl.DataFrame({"rater": ["u", "u", "v", "w", "x", "y", "z"], "item": [None] * 7})
    >>> shared_sources(votes, "auto").names
    ('rater',)
    """
    if asked == "none":
        text = "Every vote counts as independent, as asked; where one person votes often, intervals are too short"
        return Shared(names=(), codes=(), nameless=(), notes=(Note(kind="dependence", text=text),))
    if asked != "auto":
        names = [_OWN.get(name, name) if name not in votes.columns else name for name in _listed(asked)]
        for name in names:
            _check(votes, name)
        return Shared(
            names=tuple(names),
            codes=tuple(_coded(votes[name]) for name in names),
            nameless=tuple(votes[name].null_count() for name in names),
            notes=_partly(votes, names),
        )
    return _found(votes)


def _found(votes: pl.DataFrame) -> Shared:
    kept: list[tuple[str, IntArray, int]] = []
    notes: list[Note] = [*_judges_among_people(votes)]
    # Whether the votes name who cast them; a few judges are instruments, and are named all the same.
    told = "judge" in votes.columns and votes["judge"].null_count() == 0
    for name, column in _sources(votes):
        codes = _coded(column)
        levels = int(codes.max()) + 1
        told = told or name in _PEOPLE
        if levels == votes.height:
            continue  # a level of its own for every vote says nothing
        if levels < FEWEST:
            text = f"All votes come from {plural(levels, _WORDS[name])}, so intervals say nothing of another {_WORDS[name]}"
            notes.append(Note(kind="few", text=text, remedy=f"Collect votes from at least {FEWEST}"))
            continue
        kept.append((name, codes, column.null_count()))
    notes.extend(_partly(votes, [name for name, _, _ in kept if name not in {"rater", "judge"}]))
    if not kept and not told:
        text = "The votes do not say who voted on what, so intervals are too short where users voted more than once"
        notes.append(Note(kind="dependence", text=text, remedy="Name the voter's column rater"))
    return Shared(
        names=tuple(name for name, _, _ in kept),
        codes=tuple(codes for _, codes, _ in kept),
        nameless=tuple(n for _, _, n in kept),
        notes=tuple(notes),
    )


def _judges_among_people(votes: pl.DataFrame) -> Iterator[Note]:
    """Say that votes of a judge stand among those of people, who are asked for."""
    if not {"judge", "rater"} <= set(votes.columns) or votes["rater"].null_count() in (0, votes.height):
        return
    judged = votes.filter(pl.col("rater").is_null() & pl.col("judge").is_not_null())
    names = judged["judge"].cast(pl.String).unique().sort().to_list()
    if 0 < len(names) <= FEW_JUDGES:
        text = (
            f"{judged.height:,} of {votes.height:,} votes are by {plural(len(names), 'judge')} ({several(names, 3)}) and not by "
            "people; each counts as a rater of its own"
        )
        yield Note(kind="dependence", text=text, remedy="Rate people's votes and a judge's apart")


def _sources(votes: pl.DataFrame) -> list[tuple[str, pl.Series]]:
    """Return the columns that may hold what votes share.

    Many judges are a crowd, and raters of the votes that no person gave. A few judge models are chosen instruments: answers
    are about them, and they are no sample of judges.
    """
    found = {
        name: votes[name] for name in _SOURCES if name in votes.columns and votes[name].null_count() < votes.height
    }
    if "judge" in votes.columns and votes["judge"].drop_nulls().n_unique() > FEW_JUDGES:
        judges = "judge " + votes["judge"].cast(pl.String)
        if "rater" in found:
            found["rater"] = found["rater"].cast(pl.String).zip_with(found["rater"].is_not_null(), judges)
        else:
            found["judge"] = judges
    order = ("item", "rater", "judge", "session", "event")
    return [(name, found[name]) for name in order if name in found]


def _listed(asked: str | Sequence[str]) -> list[str]:
    return [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))


def _check(votes: pl.DataFrame, name: str) -> None:
    if name not in votes.columns:
        have = [column for column in votes.columns if 1 < votes[column].n_unique() < votes.height]
        raise InputError(f"the votes have no column {name!r} to cluster by; columns with levels: {', '.join(have)}")
    if isinstance(votes[name].dtype, pl.List):
        raise InputError(f"{name!r} holds several labels a vote, so it names no clusters; choose another column")
    if votes[name].null_count() == votes.height:
        raise InputError(f"column {name!r} is empty in every vote; leave it out of the clusters")


def _coded(column: pl.Series) -> IntArray:
    """Return a number for every level; a vote without one is a level of its own."""
    missing = column.is_null()
    codes = column.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1
    if missing.any():
        at = missing.to_numpy()
        codes[at] = codes.max(initial=-1) + 1 + np.arange(int(at.sum()))
    return codes


def _partly(votes: pl.DataFrame, names: Sequence[str]) -> tuple[Note, ...]:
    texts = [
        f"{plural(votes[name].null_count(), 'vote')} without {_WORDS.get(name, name)} count each as a cluster of its own"
        for name in names
        if votes[name].null_count()
    ]
    return as_notes("choice", texts, caution=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCounts:
    """Votes by what became of them; `reasons` are those of votes without an outcome, the most frequent first."""

    n_votes: int = 0
    n_decided: int = 0
    n_ties: int = 0
    n_both_bad: int = 0
    n_unscored: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    n_events: int | None = None


def comparisons_of(battles: EvalData | object) -> pl.DataFrame:
    """Return the table of comparisons of whatever was given; `InputError` where it holds none, or a source's own words."""
    if isinstance(battles, EvalData):
        if battles.comparisons.height:
            return battles.comparisons
        have = (
            "outcomes" if battles.outcomes.height else "published numbers" if battles.aggregates.height else "nothing"
        )
        raise InputError(
            f"the data hold {have} and no votes between two models; for outcomes and published numbers use leaderboard"
        )
    frame = as_polars(battles)
    if "outcome" not in frame.columns and {"winner", "model_a", "model_b"} <= set(frame.columns):
        raise InputError(
            "the table has a column 'winner' in its source's own words and no 'outcome' (a, b, tie, both_bad): "
            "pass it through evalstats.from_votes, which reads the labels"
        )
    table = check_table(_with_keys(frame), "comparisons")
    names = alike([*table["model_a"].unique().sort(), *table["model_b"].unique().sort()])
    if names:
        warnings.warn(lookalike_note(names), EvalStatsWarning, stacklevel=3)
    return renamed(table, ("model_a", "model_b"), names)


def vote_table(
    comparisons: pl.DataFrame,
    *,
    cluster: str | Sequence[str],
    covariates: Sequence[str] | None,
    side: bool,
    models: Sequence[str] | None,
    keep_both_bad: bool,
    graded: bool,
) -> tuple[VoteTable, VoteCounts, Covariates]:
    """Check, code and merge votes; unless `graded`, a graded preference counts as who won."""
    if models is not None and len(set(models)) < 2:
        raise InputError(f"{plural(len(set(models)), 'model')} to keep: at least two are needed for a comparison")
    frame = comparisons if models is None else _between(comparisons, models)
    scored, counts, notes = _scored(frame)
    if not keep_both_bad:
        scored = scored.filter(pl.col("outcome") != OUTCOMES[BOTH_BAD])
        counts = _recounted(counts, scored)
    if not scored.height:
        reasons = [f"{plural(n, 'vote')}: {reason}" for reason, n in counts.reasons]
        told = some_of(reasons, _SHOWN, "; ") if reasons else "there are none"
        raise CannotAnswerError(f"no vote has an outcome ({told}); nothing can be rated")
    beside = relative_differences(scored, covariates, side=side)
    if beside.kept is not None:
        scored = scored.filter(beside.kept)
        counts = _recounted(counts, scored)
    names = tuple(sorted(pl.concat([scored["model_a"], scored["model_b"]]).unique().to_list()))
    if len(names) < 2:
        raise CannotAnswerError("the votes are of fewer than two models; nothing can be compared")
    first, second, outcome = _codes(scored, names)
    share, graded_note = _shares(scored, outcome, graded=graded)
    weight, weight_note = _weights(scored)
    shared = shared_sources(scored, cluster)
    rows = vote_rows(
        first,
        second,
        outcome,
        n_models=len(names),
        share=share,
        weight=weight,
        covariates=beside.values,
        clusters=tuple(shared.codes),
    )
    table = VoteTable(
        models=names,
        votes=scored,
        first=first,
        second=second,
        outcome=outcome,
        share=share,
        weight=weight,
        rows=rows,
        cluster_names=shared.names,
        codes=tuple(shared.codes),
        nameless=shared.nameless,
        covariates=beside.values,
        covariate_names=beside.names,
        notes=(
            *_made_up(scored),
            *notes,
            *_copied(scored),
            *shared.notes,
            *beside.notes,
            *graded_note,
            *weight_note,
        ),
    )
    return table, counts, beside


def restricted(table: VoteTable, models: Sequence[int]) -> VoteTable:
    """Return the votes between some models, which are numbered anew in the order of their names."""
    chosen: IntArray = np.sort(np.asarray(models, dtype=np.int64))
    place = np.full(table.n_models, -1, dtype=np.int64)
    place[chosen] = np.arange(chosen.size)

    def within(rows: VoteRows) -> VoteRows:
        kept = rows.take((place[rows.first] >= 0) & (place[rows.second] >= 0))
        return replace(kept, n_models=chosen.size, first=place[kept.first], second=place[kept.second])

    def chunks() -> Iterator[VoteRows]:
        return map(within, () if table.chunks is None else table.chunks())

    rows = within(table.rows)
    dense = tuple(np.unique(codes, return_inverse=True)[1].astype(np.int64) for codes in rows.clusters)
    rows = replace(rows, clusters=dense)
    mask = (place[table.first] >= 0) & (place[table.second] >= 0)
    return replace(
        table,
        models=tuple(table.models[int(number)] for number in chosen.tolist()),
        votes=None if table.votes is None else table.votes.filter(pl.Series(mask)),
        first=place[table.first[mask]],
        second=place[table.second[mask]],
        outcome=table.outcome[mask],
        share=table.share[mask],
        weight=table.weight[mask],
        rows=rows,
        codes=tuple(np.unique(codes[mask], return_inverse=True)[1].astype(np.int64) for codes in table.codes),
        nameless=tuple(
            int((codes[mask] > codes.max() - n).sum()) for codes, n in zip(table.codes, table.nameless, strict=True)
        ),
        covariates=table.covariates[mask],
        chunks=None if table.chunks is None else chunks,
    )


def _with_keys(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill the columns that only name a vote, where a table made by hand lacks them."""
    missing: list[pl.Expr] = []
    if "run" not in frame.columns:
        missing.append(pl.lit("table").alias("run"))
    if "battle" not in frame.columns:
        missing.append(pl.int_range(pl.len()).cast(pl.String).alias("battle"))
    if "status" not in frame.columns and "outcome" in frame.columns:
        told = pl.when(pl.col("outcome").is_null()).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
        missing.append(told.alias("status"))
    return frame.with_columns(missing) if missing else frame


def _between(comparisons: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    known = set(comparisons["model_a"].unique().to_list()) | set(comparisons["model_b"].unique().to_list())
    unknown = [name for name in models if name not in known]
    if unknown:
        raise InputError(f"no vote is of a model {unknown[0]!r}; models with votes: {some_of(sorted(known), 12)}")
    return comparisons.filter(pl.col("model_a").is_in(list(models)) & pl.col("model_b").is_in(list(models)))


def _scored(frame: pl.DataFrame) -> tuple[pl.DataFrame, VoteCounts, list[Note]]:
    """Keep votes with an outcome between two models, and count the rest by its reason."""
    itself = frame["model_a"] == frame["model_b"]
    without = frame["outcome"].is_null() | itself
    lost = frame.filter(without).with_columns(
        pl.when(pl.col("model_a") == pl.col("model_b"))
        .then(pl.lit("a model against itself"))
        .otherwise(pl.col("status_reason").fill_null("no outcome"))
        .alias("reason")
    )
    reasons = lost.group_by("reason").len().sort("len", "reason", descending=[True, False])
    scored = frame.filter(~without)
    counts = VoteCounts(n_unscored=lost.height, reasons=tuple(reasons.iter_rows()))
    notes = [_without_outcome(counts, frame.height)] if lost.height else []
    return scored, _recounted(counts, scored), [*notes, *_mixtures(scored)]


def _without_outcome(counts: VoteCounts, n_rows: int) -> Note:
    told = some_of((f"{n:,} {reason}" for reason, n in counts.reasons), _SHOWN)
    text = f"{counts.n_unscored:,} of {n_rows:,} votes have no outcome and are left out, not taken for ties: {told}"
    return Note(kind="missing", text=text)


def _mixtures(scored: pl.DataFrame) -> list[Note]:
    """Tell where votes of several judge models, or of people and judges, are rated together."""
    judged = scored["judge"].is_not_null()
    some = int(judged.sum())
    found: list[Note] = []
    if 0 < some < scored.height:
        text = f"{some:,} of {scored.height:,} votes were given by a judge model, the others by people; all count alike"
        found.append(Note(kind="comparability", text=text))
    judges = scored["judge"].drop_nulls().n_unique()
    if 1 < judges <= FEW_JUDGES:
        sides = [scored.select("judge", pl.col(f"model_{side}").alias("model")) for side in "ab"]
        of_model = pl.concat(sides).drop_nulls().group_by("model").agg(pl.col("judge").n_unique())
        alone = int((of_model["judge"] == 1).sum())
        words = f"Votes of {judges} judges are rated together"
        if alone:
            words += f", and {alone} of {of_model.height} models were judged by one of them only"
        remedy = ("Rate each judge by itself: ", Option("where", blank="NAME", of="judge")) if alone else ""
        found.append(Note(kind="comparability", text=words, remedy=remedy))
    return found


def _made_up(scored: pl.DataFrame) -> list[Note]:
    """Warn of simulated votes, which may carry the names of real models."""
    if "simulated" not in scored.columns or scored["simulated"].null_count() == scored.height:
        return []
    marks = scored["simulated"].cast(pl.String)
    known = marks.filter(marks.is_not_null() & ~marks.str.to_lowercase().is_in(["false", "0"]))
    if not len(known):
        return []
    many = "The votes are" if len(known) == scored.height else f"{len(known):,} of {scored.height:,} votes are"
    text = f"{many} simulated ({known[0]}), whatever models they name"
    return [Note(kind="simulated", text=text)]


def _copied(scored: pl.DataFrame) -> tuple[Note, ...]:
    """Warn of files that repeat the votes of another one."""
    return as_notes("trust", [f"votes of {found.path}: {found.message}" for found in same_votes(scored)])


def _recounted(counts: VoteCounts, scored: pl.DataFrame) -> VoteCounts:
    by = dict(scored.group_by("outcome").len().iter_rows())
    events = scored["event"].drop_nulls()
    return replace(
        counts,
        n_votes=scored.height,
        n_decided=by.get("a", 0) + by.get("b", 0),
        n_ties=by.get("tie", 0),
        n_both_bad=by.get("both_bad", 0),
        n_events=int(events.n_unique()) if len(events) else None,
    )


def _codes(scored: pl.DataFrame, names: tuple[str, ...]) -> tuple[IntArray, IntArray, IntArray]:
    def coded(column: str, levels: Sequence[str]) -> IntArray:
        numbers = scored[column].replace_strict(list(levels), list(range(len(levels))), return_dtype=pl.Int64)
        return numbers.to_numpy().astype(np.int64)

    return coded("model_a", names), coded("model_b", names), coded("outcome", OUTCOMES)


def _shares(scored: pl.DataFrame, outcome: IntArray, *, graded: bool) -> tuple[FloatArray, tuple[Note, ...]]:
    full = _FULL_SHARE[outcome]
    given = scored["preference"]
    if given.null_count() == scored.height:
        return full, ()
    told = int(given.is_not_null().sum())
    against = ((given > 0.5) & pl.Series(full == 0.0)) | ((given < 0.5) & pl.Series(full == 1.0))
    if wrong := int(against.fill_null(value=False).sum()):
        raise InputError(
            f"{plural(wrong, 'vote')} of {scored.height:,} have a preference (the share for side a) that contradicts their "
            "outcome: check which side the preference is for, or leave one of the two columns out"
        )
    if not graded:
        text = f"{plural(told, 'vote')} with a graded preference count as who won: a model of ties needs outcomes"
        return full, as_notes("choice", [text], caution=False)
    share = np.where(given.is_null().to_numpy(), full, given.fill_null(0.0).to_numpy())
    text = f"{plural(told, 'vote')} count with their graded preference, not as won or lost"
    return share.astype(np.float64), as_notes("choice", [text], caution=False)


def _weights(scored: pl.DataFrame) -> tuple[FloatArray, tuple[Note, ...]]:
    given = scored["weight"]
    if given.null_count() == scored.height:
        return np.ones(scored.height), ()
    weight = given.fill_null(1.0).to_numpy().astype(np.float64)
    if np.all(weight == 1.0):
        return weight, ()
    if not weight.any():
        raise CannotAnswerError("every vote has a weight of 0, so none counts")
    low, high = weight.min(), weight.max()
    # Only their ratios matter: at a mean of 1 their sum is again a number of votes.
    weight /= high
    text = f"Votes count with their weights, from {low:g} to {high:g}"
    return weight / weight.mean(), as_notes("choice", [text], caution=False)


def merged_votes(
    frame: object, *, cluster: str | Sequence[str], models: Sequence[str] | None, keep_both_bad: bool
) -> tuple[VoteTable, VoteCounts]:
    """Merge the votes of a lazy frame.

    Standard errors are clustered by one column at most (or by what several agree in): "auto" takes the first of rater, user,
    judge, session, event and item that the frame has.
    """
    if models is not None:
        raise InputError("models cannot be chosen from a lazy frame; filter the frame first")
    cells = vote_cells(frame)
    if cells.first.size == 0:
        raise CannotAnswerError(f"none of {cells.n_rows:,} votes has an outcome between two different models")
    names, unused = _clusters(frame, cluster)
    rows = rows_of(cells)
    kept = np.ones(rows.n_rows, dtype=np.bool_) if keep_both_bad else rows.outcome != BOTH_BAD

    def chunks() -> Iterator[VoteRows]:
        for chunk in cluster_chunks(frame, cells, names):
            part = replace(
                rows.take(chunk.cell),
                weight=chunk.weight,
                weight_squares=chunk.weight_squares,
                count=chunk.count,
                clusters=(chunk.cluster,),
            )
            yield part if keep_both_bad else part.take(kept[chunk.cell])

    none = np.zeros(0, dtype=np.int64)
    counts = _counts(cells)
    table = VoteTable(
        models=cells.models,
        votes=None,
        first=none,
        second=none,
        outcome=none,
        share=np.zeros(0),
        weight=np.zeros(0),
        rows=rows if keep_both_bad else rows.take(kept),
        cluster_names=(" and ".join(names),) if names else (),
        covariates=np.zeros((0, 0)),
        chunks=chunks if names else None,
        notes=(*_left_out(cells, counts), *_unused(names, unused), _MERGED),
    )
    return table, counts


def rows_of(cells: VoteCells) -> VoteRows:
    """Return merged votes as the rows that strengths are fitted to, without clusters."""
    return VoteRows(
        n_models=len(cells.models),
        first=cells.first,
        second=cells.second,
        outcome=cells.outcome,
        share=cells.share,
        weight=cells.weight,
        weight_squares=cells.weight_squares,
        count=cells.count,
        covariates=cells.covariates,
    )


def _clusters(frame: object, cluster: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the column to cluster by, and those that an analysis of held votes would also take."""
    if cluster == "none":
        return (), ()
    columns = nw.from_native(frame).collect_schema().names()  # pyright: ignore - any frame that narwhals knows
    if cluster == "auto":
        found = tuple(name for name in _ONE_SOURCE if name in columns)
        return found[:1], found[1:]
    wanted = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if len(wanted) > 1:
        raise InputError(
            f"a lazy frame is clustered by one column, and {len(wanted)} were named ({', '.join(wanted)}); collect the frame, "
            "or name the one that matters most (the rater, as a rule)"
        )
    return wanted, ()


def _counts(cells: VoteCells) -> VoteCounts:
    by = np.bincount(cells.outcome, weights=cells.count, minlength=4).astype(np.int64)
    unknown = sum(count for _, count in cells.unknown)
    reasons = {
        "the winner's label is not known": unknown,
        "there is no winner's label": cells.n_unscored,
        "a model against itself": cells.n_self,
        "a model without a name": cells.n_unnamed,
    }
    return VoteCounts(
        n_votes=cells.n_votes,
        n_decided=int(by[:TIE].sum()),
        n_ties=int(by[TIE]),
        n_both_bad=int(by[BOTH_BAD]),
        n_unscored=sum(reasons.values()),
        reasons=tuple(sorted(((why, n) for why, n in reasons.items() if n), key=lambda pair: -pair[1])),
    )


def _left_out(cells: VoteCells, counts: VoteCounts) -> tuple[Note, ...]:
    if not counts.n_unscored:
        return ()
    labels = some_of((f"{label[:40]!r} ({n:,})" for label, n in cells.unknown), _SHOWN)
    note = _without_outcome(counts, cells.n_rows)
    return (replace(note, text=f"{note.text}; labels: {labels}") if cells.unknown else note,)


def _unused(names: tuple[str, ...], unused: tuple[str, ...]) -> tuple[Note, ...]:
    if not unused:
        return ()
    text = f"Merged votes are clustered by {names[0]} alone; those of one {' or '.join(unused)} count as independent"
    return (Note(kind="dependence", text=text, remedy="Read the votes in full where that matters"),)
