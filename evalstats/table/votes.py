"""Votes between two models as one table: who met whom, who won, what votes share, and what else moves them.

`VoteTable.of` is the only road from rows to it. Votes at hand are kept one by one beside their merged rows; a lazy frame (Polars,
DuckDB, Spark) is merged where it lies, and then nothing can be asked of single votes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np
import polars as pl

from evalstats.errors import CannotAnswerError, InputError, warn
from evalstats.grammar import comma_list, plural
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.in_memory import as_polars
from evalstats.schema.names import lookalike_note, lookalikes, renamed
from evalstats.schema.tables import check_table
from evalstats.stats.arena.votes import BOTH_BAD, OUTCOMES, TIE, VoteRows, merged, vote_rows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.table.items import level_codes
from evalstats.table.vote_cells import VoteCells, cluster_chunks, vote_cells

SIDE = "side"
STYLE = ("assistant_tokens", "header_count", "list_count", "bold_count")
_STYLE_WORDS = ("token", "length", "char", "word", "header", "list", "bold", "emoji")
FEW_JUDGES = 20  # more are a crowd
FEWEST_LEVELS = 6  # with fewer levels nothing can be said about new ones
_SOURCES = ("item", "rater", "judge", "session", "event")
PEOPLE = frozenset({"rater", "judge", "session"})  # of these, who voted
_ONE_SOURCE = (
    "rater",
    "user",
    "judge",
    "session",
    "event",
    "item",
)  # the first of these clusters votes that are merged
_ALIASES = {"prompt": "item", "user": "rater", "judge_id": "rater"}
_FULL_SHARE = np.array([1.0, 0.0, 0.5, 0.5])
_BY_VOTE = ("first", "second", "outcome", "share", "weight", "label_weight", "covariates")


@record
class VoteCounts:
    """Votes that were given, by what became of them.

    `reasons` are those of votes without an outcome, the most frequent first; `labels` the winners' labels that are not known.
    """

    n_rows: int
    n_votes: int
    n_decided: int
    n_ties: int
    n_both_bad: int
    n_unscored: int
    reasons: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, int], ...] = ()
    n_without_covariates: int = 0
    n_events: int | None = None


@record
class VoteTable:
    """Votes with an outcome between two different models.

    Attributes
    ----------
    models
        Names, sorted; a model's number is its place here.
    votes
        One row per vote, columns of the glossary and the factors of the file. None where votes were merged.
    first, second, outcome, share, weight, codes, covariates
        The same votes coded as in `VoteRows`, in the order of `votes`; empty where `votes` is None.
    label_weight
        Of a judge's votes that people's correct (`with_labels`): the weight of votes that the label of each stands for, else 0.
    rows
        All of them merged, with covariates and clusters.
    cluster_names, nameless
        What votes are clustered by, and how many of the last codes of each are votes without a level (one of its own each).
    unclustered
        What votes share and are not clustered by, with the number of levels where it is too low (0: it was not looked at).
    covariate_names, covariate_mean, covariate_sd
        What `covariates` are: "side", 1 or -1, or a pair of columns, whose relative difference is divided by its `sd`.
    chunks
        Where `votes` is None and `cluster_names` has one name: gives the merged votes by that cluster, whole clusters at a
        time; `rows` has no clusters then.
    counts
        Of all votes that were given, whatever part of them this table holds.
    """

    models: tuple[str, ...]
    votes: pl.DataFrame | None
    first: IntArray
    second: IntArray
    outcome: IntArray
    share: FloatArray
    weight: FloatArray
    label_weight: FloatArray
    rows: VoteRows
    cluster_names: tuple[str, ...] = ()
    codes: tuple[IntArray, ...] = ()
    nameless: tuple[int, ...] = ()
    unclustered: tuple[tuple[str, int], ...] = ()
    covariates: FloatArray
    covariate_names: tuple[str, ...] = ()
    covariate_mean: tuple[float, ...] = ()
    covariate_sd: tuple[float, ...] = ()
    chunks: Callable[[], Iterator[VoteRows]] | None = None
    counts: VoteCounts

    @property
    def n_models(self) -> int:
        """Models with a vote."""
        return len(self.models)

    @property
    def n_votes(self) -> int:
        """Votes of this table."""
        return self.rows.n_votes

    @classmethod
    def of(
        cls,
        battles: object,
        *,
        cluster: str | Sequence[str] | None = None,
        covariates: Sequence[str] = (),
        side: bool = False,
        models: Sequence[str] | None = None,
        both_bad: Literal["tie", "drop"] = "tie",
        graded: bool = True,
    ) -> Self:
        """Check, code and merge votes; unless `graded`, a graded preference counts as who won.

        `cluster`: columns as they are, "none", or "auto" (None): prompt, rater (or judge, where there are many), session and
        event, whichever the votes have with several votes in some level and at least six levels. Of a lazy frame it is one
        column at most, by default the first of rater, user, judge, session, event and item.
        """
        asked = (
            ("auto",) if cluster is None else (cluster,) if isinstance(cluster, str) else tuple(dict.fromkeys(cluster))
        )
        if is_lazy(battles):
            if covariates or side:
                raise InputError(NEEDS_VOTES)
            if models is not None:
                raise InputError("models cannot be chosen from a lazy frame; filter the frame first")
            return cls._merged(battles, asked, keep_both_bad=both_bad == "tie")
        frame = comparisons_of(battles)
        if tuple(covariates) == ("auto",):
            covariates = style_pairs(frame)
            if not covariates:
                raise InputError(
                    "covariates='auto' looks for pairs of columns such as assistant_tokens_a and assistant_tokens_b, "
                    "header_count, list_count, bold_count; the votes have none: name a pair of numeric columns"
                )
        frame = frame if models is None else _between(frame, models)
        votes, reasons = _with_outcome(frame)
        n_unscored = frame.height - votes.height
        if both_bad == "drop":
            votes = votes.filter(pl.col("outcome") != OUTCOMES[BOTH_BAD])
        if not votes.height:
            lost = comma_list((f"{plural(n, 'vote')}: {reason}" for reason, n in reasons), 4, "; ")
            raise CannotAnswerError(
                f"no vote has an outcome ({lost if reasons else 'there are none'}); nothing can be rated"
            )
        kept, beside = _covariates(votes, covariates, side=side)
        n_before, votes = votes.height, votes if kept.all() else votes.filter(pl.Series(kept))
        names = tuple(sorted(pl.concat([votes["model_a"], votes["model_b"]]).unique().to_list()))
        if len(names) < 2:
            raise CannotAnswerError("the votes are of fewer than two models; nothing can be compared")
        first, second = (_places(votes[column], names) for column in ("model_a", "model_b"))
        outcome = _places(votes["outcome"], OUTCOMES)
        share, weight = _shares(votes, outcome, graded=graded), _weights(votes)
        by = dict(votes.group_by("outcome").len().iter_rows())
        events = votes["event"].drop_nulls()
        clusters = _clusters(votes, asked)
        return cls(
            models=names,
            votes=votes,
            first=first,
            second=second,
            outcome=outcome,
            share=share,
            weight=weight,
            label_weight=np.zeros(votes.height),
            rows=vote_rows(
                first,
                second,
                outcome,
                n_models=len(names),
                share=share,
                weight=weight,
                covariates=beside["covariates"],
                clusters=clusters["codes"],
            ),
            counts=VoteCounts(
                n_rows=frame.height,
                n_votes=votes.height,
                n_decided=by.get("a", 0) + by.get("b", 0),
                n_ties=by.get("tie", 0),
                n_both_bad=by.get("both_bad", 0),
                n_unscored=n_unscored,
                reasons=reasons,
                n_without_covariates=n_before - votes.height,
                n_events=int(events.n_unique()) if len(events) else None,
            ),
            **clusters,
            **beside,
        )

    @classmethod
    def _merged(cls, frame: object, asked: tuple[str, ...], *, keep_both_bad: bool) -> Self:
        """Merge the votes of a lazy frame."""
        cells = vote_cells(frame)
        if not cells.rows.n_rows:
            raise CannotAnswerError(f"none of {cells.n_rows:,} votes has an outcome between two different models")
        columns = nw.from_native(frame).collect_schema().names()  # pyright: ignore - any frame that narwhals knows
        found = tuple(name for name in _ONE_SOURCE if name in columns) if asked == ("auto",) else asked
        names, unused = ((), ()) if asked == ("none",) else (found[:1], found[1:])
        if unused and asked != ("auto",):
            raise InputError(
                f"a lazy frame is clustered by one column, and {len(found)} were named ({', '.join(found)}); collect the "
                "frame, or name the one that matters most (the rater, as a rule)"
            )

        def counting(part: VoteRows) -> VoteRows:
            return part if keep_both_bad else part.take(part.outcome != BOTH_BAD)

        def chunks() -> Iterator[VoteRows]:
            return map(counting, cluster_chunks(frame, cells, *names))

        none = np.zeros(0, dtype=np.int64)
        return cls(
            models=cells.models,
            votes=None,
            first=none,
            second=none,
            outcome=none,
            share=np.zeros(0),
            weight=np.zeros(0),
            label_weight=np.zeros(0),
            rows=counting(cells.rows),
            cluster_names=names,
            unclustered=tuple((name, 0) for name in unused),
            covariates=np.zeros((0, 0)),
            chunks=chunks if names else None,
            counts=_counts_of(cells),
        )

    def _only(self, kept: BoolArray) -> Self:
        """Return some of the votes; `rows` still stand for all."""
        columns: dict[str, Any] = {name: getattr(self, name)[kept] for name in _BY_VOTE}
        votes = None if self.votes is None else self.votes.filter(pl.Series(kept))
        return replace(self, votes=votes, codes=tuple(codes[kept] for codes in self.codes), **columns)

    def rows_at(self, at: BoolArray | slice, *, further: tuple[IntArray, ...] = ()) -> VoteRows:
        """Return some of the votes merged, with further clusters after the table's."""
        return vote_rows(
            self.first[at],
            self.second[at],
            self.outcome[at],
            n_models=self.n_models,
            share=self.share[at],
            weight=self.weight[at],
            covariates=self.covariates[at],
            clusters=(*(codes[at] for codes in self.codes), *further),
        )

    def with_labels(self, share: FloatArray, label_weight: FloatArray) -> Self:
        """Return the votes with shares corrected by labels, and the weight of votes that each label stands for."""
        found = replace(self, share=share, label_weight=label_weight)
        return replace(found, rows=found.rows_at(slice(None)))

    def labelled_rows(self) -> VoteRows:
        """Return the votes with a label, of the weight that each stands for."""
        return replace(self, weight=self.label_weight).rows_at(self.label_weight > 0.0)

    def with_covariates(self, names: Sequence[str]) -> Self | None:
        """Return the votes that have other covariates, with these; None where fewer than half have them, or none can."""
        if self.votes is None:
            return None
        try:
            kept, beside = _covariates(self.votes, names, side=False)
        except InputError:
            return None
        if kept.mean() < 0.5:
            return None  # an adjustment of some votes would be shown as one of all
        found = self if kept.all() else self._only(kept)
        found = replace(found, **beside)
        return replace(found, rows=found.rows_at(slice(None)))

    def with_side(self) -> Self:
        """Return the votes with the side (or the order shown, where it is known) as their first covariate."""
        sides = np.ones(self.first.size) if self.votes is None else sides_of(self.votes)
        found = replace(
            self,
            covariates=np.column_stack([sides, self.covariates]),
            covariate_names=(SIDE, *self.covariate_names),
            covariate_mean=(float(sides.mean()) if sides.size else 1.0, *self.covariate_mean),
            covariate_sd=(1.0, *self.covariate_sd),
        )
        if np.any(sides < 0.0):
            return replace(found, rows=found.rows_at(slice(None)))

        def sided(rows: VoteRows) -> VoteRows:
            # What is the same in all votes tells none of them apart.
            return replace(rows, covariates=np.column_stack([np.ones(rows.n_rows), rows.covariates]))

        def chunks() -> Iterator[VoteRows]:
            return map(sided, () if self.chunks is None else self.chunks())

        return replace(found, rows=sided(self.rows), chunks=None if self.chunks is None else chunks)

    def without_cluster(self, name: str) -> Self:
        """Return the votes clustered by everything else."""
        at = [way for way, other in enumerate(self.cluster_names) if other != name]
        return replace(
            self,
            rows=merged(replace(self.rows, clusters=tuple(self.rows.clusters[way] for way in at))),
            cluster_names=tuple(self.cluster_names[way] for way in at),
            codes=tuple(self.codes[way] for way in at),
            nameless=tuple(self.nameless[way] for way in at) if self.nameless else (),
        )

    def among(self, models: Sequence[int]) -> Self:
        """Return the votes between some models, which are numbered anew in the order of their names."""
        chosen: IntArray = np.sort(np.asarray(models, dtype=np.int64))
        place = np.full(self.n_models, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)

        def within(rows: VoteRows) -> VoteRows:
            kept = rows.take((place[rows.first] >= 0) & (place[rows.second] >= 0))
            return replace(kept, n_models=chosen.size, first=place[kept.first], second=place[kept.second])

        def chunks() -> Iterator[VoteRows]:
            return map(within, () if self.chunks is None else self.chunks())

        rows = within(self.rows)
        at = (place[self.first] >= 0) & (place[self.second] >= 0)
        found = self._only(at)
        return replace(
            found,
            models=tuple(self.models[int(number)] for number in chosen.tolist()),
            first=place[found.first],
            second=place[found.second],
            rows=replace(rows, clusters=tuple(map(_dense, rows.clusters))),
            codes=tuple(map(_dense, found.codes)),
            nameless=tuple(
                int((codes[at] > codes.max() - n).sum()) for codes, n in zip(self.codes, self.nameless, strict=True)
            ),
            chunks=None if self.chunks is None else chunks,
        )


NEEDS_VOTES = "covariates, side and by need single votes; collect the lazy frame first"


def is_lazy(battles: object) -> bool:
    """Tell whether votes are a lazy frame of Polars or of another engine (a DuckDB relation)."""
    engines = {"duckdb", "pyspark", "ibis", "dask"}
    return isinstance(battles, pl.LazyFrame) or type(battles).__module__.partition(".")[0].strip("_") in engines


def _dense(codes: IntArray) -> IntArray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _places(column: pl.Series, levels: Sequence[str]) -> IntArray:
    return column.cast(pl.Enum(list(levels))).to_physical().to_numpy().astype(np.int64)


# --- votes with an outcome ---


def comparisons_of(battles: object) -> pl.DataFrame:
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
    if not {"outcome", "model_a", "model_b"} <= {*frame.columns}:
        return comparisons_of(as_data(battles, {"question": "arena"}))
    # Columns that only name a vote may be missing from a table made by hand.
    keys = {"run": pl.lit("table"), "battle": pl.int_range(pl.len()).cast(pl.String)}
    if "outcome" in frame.columns:
        keys["status"] = pl.when(pl.col("outcome").is_null()).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
    frame = frame.with_columns(**{name: value for name, value in keys.items() if name not in frame.columns})
    table = check_table(frame, "comparisons")
    names = lookalikes([*table["model_a"].unique().sort(), *table["model_b"].unique().sort()])
    if names:
        warn(lookalike_note(names))
    return renamed(table, ("model_a", "model_b"), names)


def _between(comparisons: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    if len(set(models)) < 2:
        n = "1 model" if len(set(models)) == 1 else "0 models"
        raise InputError(f"{n} to keep: at least two are needed for a comparison")
    known = set(comparisons["model_a"].unique().to_list()) | set(comparisons["model_b"].unique().to_list())
    unknown = [name for name in models if name not in known]
    if unknown:
        raise InputError(f"no vote is of a model {unknown[0]!r}; models with votes: {comma_list(sorted(known), 12)}")
    return comparisons.filter(pl.col("model_a").is_in(list(models)) & pl.col("model_b").is_in(list(models)))


def _with_outcome(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[tuple[str, int], ...]]:
    """Return the votes with an outcome between two models, and why the others have none."""
    itself = pl.col("model_a") == pl.col("model_b")
    without = frame.select(pl.col("outcome").is_null() | itself)[:, 0]
    if not without.any():
        return frame, ()
    reason = pl.when(itself).then(pl.lit("a model against itself"))
    reason = reason.otherwise(pl.col("status_reason").fill_null("no outcome")).alias("reason")
    reasons = frame.filter(without).group_by(reason).len().sort("len", "reason", descending=[True, False])
    return frame.filter(~without), tuple(reasons.iter_rows())


def _shares(votes: pl.DataFrame, outcome: IntArray, *, graded: bool) -> FloatArray:
    full, given = _FULL_SHARE[outcome], votes["preference"]
    if given.null_count() == votes.height:
        return full
    against = ((given > 0.5) & pl.Series(full == 0.0)) | ((given < 0.5) & pl.Series(full == 1.0))
    if wrong := int(against.fill_null(value=False).sum()):
        raise InputError(
            f"{plural(wrong, 'vote')} of {votes.height:,} have a preference (the share for side a) that "
            "contradicts their outcome: check which side the preference is for, or leave one of the two columns out"
        )
    if not graded:
        return full
    return np.where(given.is_null().to_numpy(), full, given.fill_null(0.0).to_numpy()).astype(np.float64)


def _weights(votes: pl.DataFrame) -> FloatArray:
    """Return weights with a mean of 1: only their ratios matter, and their sum is then a number of votes."""
    weight = votes["weight"].fill_null(1.0).to_numpy().astype(np.float64)
    if np.all(weight == 1.0):
        return weight
    if not weight.any():
        raise CannotAnswerError("every vote has a weight of 0, so none counts")
    weight /= weight.max()
    return weight / weight.mean()


# --- what votes share ---


def vote_sources(votes: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns that may hold what votes share.

    Many judges are a crowd, and raters of the votes that no person gave. A few judge models are chosen instruments: answers
    are about them, and they are no sample of judges.
    """
    found = {
        name: votes[name]
        for name in _SOURCES
        if name != "judge" and name in votes.columns and votes[name].null_count() < votes.height
    }
    if "judge" in votes.columns and votes["judge"].drop_nulls().n_unique() > FEW_JUDGES:
        judges = "judge " + votes["judge"].cast(pl.String)
        if "rater" in found:
            found["rater"] = found["rater"].cast(pl.String).zip_with(found["rater"].is_not_null(), judges)
        else:
            found["judge"] = judges
    return {name: found[name] for name in _SOURCES if name in found}


def _clusters(votes: pl.DataFrame, asked: tuple[str, ...]) -> dict[str, Any]:
    """Return what standard errors are clustered by, as the table's fields."""
    auto = asked == ("auto",)
    columns = vote_sources(votes) if auto else {}
    if not auto and asked != ("none",):
        columns = {
            name: _cluster_column(votes, name)
            for name in ((each if each in votes.columns else _ALIASES.get(each, each)) for each in asked)
        }
    kept: list[tuple[str, IntArray, int]] = []
    few: list[tuple[str, int]] = []
    for name, column in columns.items():
        codes = _coded(column)
        levels = int(codes.max()) + 1
        if auto and levels == votes.height:
            continue  # a level of its own for every vote says nothing
        if auto and levels < FEWEST_LEVELS:
            few.append((name, levels))
        else:
            kept.append((name, codes, column.null_count()))
    return {
        "cluster_names": tuple(name for name, _, _ in kept),
        "codes": tuple(codes for _, codes, _ in kept),
        "nameless": tuple(n for _, _, n in kept),
        "unclustered": tuple(few),
    }


def _cluster_column(votes: pl.DataFrame, name: str) -> pl.Series:
    if name not in votes.columns:
        have = [column for column in votes.columns if 1 < votes[column].n_unique() < votes.height]
        raise InputError(f"the votes have no column {name!r} to cluster by; columns with levels: {', '.join(have)}")
    if isinstance(votes[name].dtype, pl.List):
        raise InputError(f"{name!r} holds several labels a vote, so it names no clusters; choose another column")
    if votes[name].null_count() == votes.height:
        raise InputError(f"column {name!r} is empty in every vote; leave it out of the clusters")
    return votes[name]


def _coded(column: pl.Series) -> IntArray:
    """Return a number for every level; a vote without one is a level of its own, behind all others."""
    levels, places = level_codes(column)
    codes = places.astype(np.int64)
    missing = np.flatnonzero(codes < 0)
    codes[missing] = len(levels) + np.arange(len(missing))
    return codes


# --- what else moves them ---


def style_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return the pairs of columns that tell of style: length, headers, lists, bold."""
    pairs = numeric_pairs(votes)
    return tuple(name for name in pairs if name in STYLE) or tuple(
        name
        for name in pairs
        if any(word in name.lower() for word in _STYLE_WORDS) and "context" not in name and "user" not in name
    )


def numeric_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return every name that has a numeric column `<name>_a` and `<name>_b`."""
    names = [column.removesuffix("_a") for column in votes.columns if column.endswith("_a")]
    numbers = {
        column for column in votes.columns if votes[column].dtype.is_numeric() or votes[column].dtype == pl.Boolean
    }
    return tuple(name for name in names if name not in {"model", "rank"} and {f"{name}_a", f"{name}_b"} <= numbers)


def _covariates(votes: pl.DataFrame, asked: Sequence[str], *, side: bool) -> tuple[BoolArray, dict[str, Any]]:
    """Return which votes have all covariates, and these of such votes, as the table's fields.

    `InputError` for a pair that is not there, is not finite, or never differs.
    """
    known = numeric_pairs(votes)
    names = list(dict.fromkeys(name.removesuffix("_a").removesuffix("_b") for name in asked))
    for name in names:
        if name not in known:
            have = ", ".join(known) or "none"
            raise InputError(
                f"there are no numeric columns {name}_a and {name}_b in the votes; pairs of numbers there are: {have}"
            )
    columns = [f"{name}_{end}" for name in names for end in "ab"]
    kept = np.ones(votes.height, dtype=np.bool_)
    if columns:
        kept = votes.select(pl.all_horizontal(pl.col(columns).is_not_null()))[:, 0].to_numpy()
        votes = votes.filter(pl.Series(kept))
    for column in columns:
        if not votes[column].cast(pl.Float64).is_finite().all():
            raise InputError(f"{column} holds numbers that are NaN or infinite; put null where it is not known")
    found: list[tuple[str, FloatArray, float, float]] = []
    if side:
        sides = sides_of(votes)
        found.append((SIDE, sides, float(sides.mean()), 1.0))
    for name in names:
        difference = _relative(votes[f"{name}_a"], votes[f"{name}_b"])
        spread = float(difference.std()) if difference.size else 0.0
        if spread <= 1e-12:
            raise InputError(
                f"{name}_a and {name}_b differ by the same in every vote, so nothing can be estimated for {name}"
            )
        found.append((name, difference / spread, float(difference.mean()), spread))
    return kept, {
        "covariates": np.column_stack([np.zeros((votes.height, 0)), *(values for _, values, _, _ in found)]),
        "covariate_names": tuple(name for name, _, _, _ in found),
        "covariate_mean": tuple(mean for _, _, mean, _ in found),
        "covariate_sd": tuple(sd for _, _, _, sd in found),
    }


def _relative(a: pl.Series, b: pl.Series) -> FloatArray:
    """Return (a - b)/(a + b); of amounts that may be negative, where that has no meaning, a - b."""
    first, second = a.cast(pl.Float64).to_numpy(), b.cast(pl.Float64).to_numpy()
    if first.min(initial=0.0) < 0.0 or second.min(initial=0.0) < 0.0:
        return first - second
    total = first + second
    return np.divide(first - second, total, out=np.zeros_like(total), where=total > 0.0)


def sides_of(votes: pl.DataFrame) -> FloatArray:
    """Return 1 for a vote that showed side a first, or does not say, and -1 where side b was, shape (n_votes,)."""
    if "order" not in votes.columns or votes["order"].null_count() == votes.height:
        return np.ones(votes.height)
    return np.where((votes["order"] == "b_first").fill_null(value=False).to_numpy(), -1.0, 1.0)


# --- votes that came merged ---


def _counts_of(cells: VoteCells) -> VoteCounts:
    by = np.bincount(cells.rows.outcome, weights=cells.rows.count, minlength=4).astype(np.int64)
    reasons = {
        "the winner's label is not known": sum(count for _, count in cells.unknown),
        "the winner's label is missing": cells.n_unscored,
        "a model against itself": cells.n_self,
        "a model without a name": cells.n_unnamed,
    }
    return VoteCounts(
        n_rows=cells.n_rows,
        n_votes=cells.rows.n_votes,
        n_decided=int(by[:TIE].sum()),
        n_ties=int(by[TIE]),
        n_both_bad=int(by[BOTH_BAD]),
        n_unscored=sum(reasons.values()),
        reasons=tuple(sorted(((why, n) for why, n in reasons.items() if n), key=lambda pair: -pair[1])),
        labels=cells.unknown,
    )
