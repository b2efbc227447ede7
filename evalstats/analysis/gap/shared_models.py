"""The models that both sides have, with both sides cut to them: what every part of the answer is computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import polars as pl

from evalstats.analysis.design.entries import ENTRY
from evalstats.analysis.gap.model_names import NameMatch, match_models
from evalstats.analysis.gap.outcome_sums import Level
from evalstats.analysis.gap.score_scale import on_scale
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural
from evalstats.options import GapScale
from evalstats.record import record
from evalstats.schema.plan import LiveMix
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.standardisation import CellTable

FEWEST = 3
FEW_USERS = "(levels of few users)"
_LEAST_WITH_ERRORS = 6  # for a line
_MOST_OF = 0.5
_NAMED = 5


@record
class SharedCells:
    """Outcomes of both sides by cell, the combinations of `levels` of the factors that both have.

    `live` is None where only votes or published numbers are known of it: then the mix is given.
    `joined` are levels that were taken together since too few live users stand behind each.
    """

    factors: tuple[str, ...]
    levels: tuple[Level, ...]
    lab: CellTable
    live: CellTable | None
    joined: tuple[str, ...] = ()

    def label(self, cell: int) -> str:
        """Name a cell for a reader."""
        return " / ".join(self.levels[cell])


@record
class SharedModels:
    """Both sides over the models they share, and what was asked.

    Attributes
    ----------
    models
        Under the names of the result; each side has its own.
    scores, plain
        Both estimates with their covariances, turned so that more is better; a side whose link is "logit" is in logits there
        (for `scale_reason`), and `plain` has it as it is (None where none is).
    not_one_scale
        Why live minus lab would mean nothing; "" where it means something.
    cells, no_cells_reason
        None where a side has no outcomes or they share no factor, and why.
    margin
        In the live metric's own unit.
    """

    models: tuple[str, ...]
    lab: SideScores
    live: SideScores
    same_scale: bool
    scores: LabLiveScores
    plain: LabLiveScores | None = None
    scale_reason: str = ""
    not_one_scale: str = ""
    cells: SharedCells | None = None
    no_cells_reason: str | None = None
    conf_level: float = 0.95
    margin: float | None = None
    n_resamples: int = 2000
    top: tuple[int, ...] = (5, 10)
    seed: int = 0
    mix: LiveMix | None = None
    min_cell: int = 1
    names: NameMatch = field(default_factory=lambda: NameMatch(pairs=(), shared=()))
    notes: tuple[Note, ...] = ()

    @property
    def own_scores(self) -> LabLiveScores:
        """Scores in the metrics' own numbers, whatever the scale of the line."""
        return self.scores if self.plain is None else self.plain

    @property
    def n_models(self) -> int:
        """How many models both sides have."""
        return len(self.models)

    @property
    def best_first(self) -> list[int]:
        """Places of the models, the best live first."""
        return np.lexsort((np.arange(self.n_models), -self.own_scores.live)).tolist()


def shared_models(
    lab: SideScores,
    live: SideScores,
    *,
    aliases: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    same_scale: bool | None = None,
    scale: GapScale = "auto",
    conf_level: float = 0.95,
    margin: float | None = None,
    n_resamples: int = 2000,
    top: tuple[int, ...] = (5, 10),
    seed: int = 0,
    mix: LiveMix | None = None,
    min_cell: int = 1,
) -> SharedModels:
    """Join both sides by the names of models, and cut them to those that both have."""
    names = match_models(lab.models, live.models, aliases)
    joined = [(name, *pair) for name, pair in zip(names.shared, names.pairs, strict=True)]
    if models is not None:
        unknown = [name for name in models if not any(name in each for each in joined)]
        if unknown:
            have = ", ".join(repr(each[0]) for each in joined[:12])
            raise InputError(f"{unknown[0]!r} is none of the models that both sides have: {have}")
        joined = [each for each in joined if set(models) & set(each)]
    if len(joined) < FEWEST:
        raise CannotAnswerError(_too_few(len(joined), names))
    joined, notes = _with_errors(sorted(joined), lab, live)
    shared = tuple(name for name, _, _ in joined)
    lab = _renamed(lab.only([own for _, own, _ in joined]), shared)
    live = _renamed(live.only([own for _, _, own in joined]), shared)
    own, other = ((side.kind, side.about.benchmark, side.about.name) for side in (lab, live))
    if own == other and np.array_equal(lab.estimate, live.estimate):
        raise InputError(
            f"both sides hold the same scores ({own[2]!r} of {own[1]}), so there is nothing to compare: give the lab's "
            f"results as {Option('lab')} and what live users did as {Option('live')}"
        )
    one_scale, not_one_scale = on_one_scale(lab, live)
    if same_scale is not None:
        _check_declared_scale(lab, live, same=same_scale)
        one_scale = same_scale
    cells, no_cells_reason = _cells(lab, live, mix, min_cell)
    notes += _unlabelled(lab, live, cells, min_cell)
    if same_scale and not_one_scale:
        text = f"One scale was asked for, though {not_one_scale}; live minus lab means nothing if that is wrong"
        notes.append(Note(kind="scale", text=text))
    plain = LabLiveScores(
        lab=lab.sign * lab.estimate,
        live=live.sign * live.estimate,
        lab_covariance=lab.covariance,
        live_covariance=live.covariance,
    )
    lab, live, scores, reason = on_scale(lab, live, plain, scale, conf_level=conf_level)
    return SharedModels(
        models=shared,
        lab=lab,
        live=live,
        same_scale=one_scale,
        scores=scores,
        plain=None if scores is plain else plain,
        scale_reason=reason,
        not_one_scale=not_one_scale,
        cells=cells,
        no_cells_reason=no_cells_reason,
        conf_level=conf_level,
        margin=margin,
        n_resamples=n_resamples,
        top=top,
        seed=seed,
        mix=mix,
        min_cell=min_cell,
        names=names,
        notes=tuple(notes),
    )


def _with_errors(
    joined: list[tuple[str, str, str]], lab: SideScores, live: SideScores
) -> tuple[list[tuple[str, str, str]], list[Note]]:
    """Leave out the models without a standard error where most have one; else errors count as unknown for all."""

    def has_error(side: SideScores, name: str) -> bool:
        at = side.models.index(name)
        return side.covariance is not None and bool(np.isfinite(side.covariance[at, at]))

    kept = [each for each in joined if has_error(lab, each[1]) and has_error(live, each[2])]
    without = [each[0] for each in joined if each not in kept]
    if not without:
        return joined, []
    if len(kept) >= max(_LEAST_WITH_ERRORS, _MOST_OF * len(joined)):
        is_ = "model is" if len(without) == 1 else "models are"
        said = f"{len(without)} shared {is_} dropped for lack of a standard error: {and_list(without)}"
        return kept, [Note(kind="left_out", text=said)]
    # Errors of a side that lacks any count as unknown for all of it.
    some_have = f"Only {len(kept)}" if kept else "None"
    said = f"{some_have} of {plural(len(joined), 'shared model')} have standard errors on both sides, so no gap can be told"
    return joined, [
        Note(
            kind="few", text=said, remedy="Give results by item, or published standard errors (of shares, n is enough)"
        )
    ]


def _too_few(n: int, names: NameMatch) -> str:
    """Say that too few models are shared, and which names look alike."""

    def some(own: Sequence[str]) -> str:
        return and_list([repr(name) for name in own], _NAMED) if own else "no further model"

    shared = f"the two sides share {plural(n, 'model')}" if n else "the two sides share no model"
    said = (
        f"{shared} by name; at least {FEWEST} are needed to speak of agreement, 6 for a line. The lab has "
        f"{some(names.only_lab)}; live has {some(names.only_live)}"
    )
    if not names.near:
        return f"{said}. No names look alike: name what belongs together with {Option('aliases', blank='FILE')}"
    near = "; ".join(f"{one!r} and {other!r}" for one, other in names.near[:_NAMED])
    more = f" and {len(names.near) - _NAMED} more pairs" if len(names.near) > _NAMED else ""
    how = f"Join them with {Option('aliases', blank='FILE')}"
    return f"{said}. Names that look alike and were not joined: {near}{more}. {how}"


def _renamed(side: SideScores, shared: Sequence[str]) -> SideScores:
    """Return a side whose outcomes are those of the shared models under the names of the result; other tables stay."""
    if side.outcomes is None or side.data is None:
        return side
    rows = side.outcomes.rows.filter(pl.col(ENTRY).is_in(list(side.models)))
    shown = pl.col(ENTRY).replace(dict(zip(side.models, shared, strict=True)))
    return replace(side, data=replace(side.data, outcomes=rows.with_columns(model=shown, system=shown).drop(ENTRY)))


# --- scale ---


def on_one_scale(lab: SideScores, live: SideScores) -> tuple[bool, str]:
    """Tell whether live minus lab means something, and why not."""
    if "comparisons" in {lab.kind, live.kind}:
        return False, "votes give ratings, which have a scale of their own"
    one, other = lab.about, live.about
    if one.name != other.name:
        return False, f"the lab measures {one.name!r} and live {other.name!r}"
    if (*one.bad_to_good(), lab.sign) != (*other.bad_to_good(), live.sign):
        ends = [", ".join("?" if end is None else f"{end:g}" for end in (each.low, each.high)) for each in (one, other)]
        return False, f"{one.name!r} runs over [{ends[0]}] in the lab and over [{ends[1]}] live"
    if lab.kind == "aggregates" and one.low is None:
        return False, f"the range of {one.name!r} is not known, so one scale cannot be taken for granted"
    return True, ""


def _check_declared_scale(lab: SideScores, live: SideScores, *, same: bool) -> None:
    if same and "comparisons" in {lab.kind, live.kind}:
        raise InputError(
            "same_scale was asked for, and votes give ratings: their points are not those of the other side"
        )
    one, other = lab.about, live.about
    if same and one.bounds and other.bounds and one.bounds != other.bounds:
        raise InputError(
            f"same_scale was asked for, and {one.name!r} (lab) runs from {one.low:g} to {one.high:g}, {other.name!r} (live) "
            f"from {other.low:g} to {other.high:g}: bring both to one range first"
        )
    if same and lab.sign != live.sign:
        raise InputError(
            f"same_scale was asked for, and more is better in one of {one.name!r} (lab) and {other.name!r} (live) only"
        )


# --- cells ---


def too_small(n: int, least: int) -> bool:
    """Whether so few people stand behind a cell that it is not shown; an empty cell has nobody to protect, and is."""
    return 0 < n < least


def _cells(
    lab: SideScores, live: SideScores, mix: LiveMix | None, min_cell: int
) -> tuple[SharedCells | None, str | None]:
    """Return the outcomes of both sides by cell, or why there are none."""
    factors = lab.factors
    if lab.outcomes is None:
        return None, "the lab side holds no outcomes, so nothing is known by scenario"
    if not factors:
        return None, "the lab outcomes have no scenario (name another factor with by)"
    by_cell = live.outcomes is not None and set(factors) <= set(live.factors)
    if not by_cell and mix is None:
        what = "are no outcomes" if live.outcomes is None else f"have no level of {', '.join(factors)}"
        return None, f"the live data {what}, so the live mix is unknown; give it with {Option('mix')}"
    if not by_cell and mix is not None:
        factors = (mix.factor,)
    in_lab = lab.outcomes.levels(lab.models, factors)
    if not in_lab:
        return None, f"the lab outcomes of the shared models have no level of {', '.join(factors)}"
    if live.outcomes is None or not by_cell:
        levels = sorted(in_lab if mix is None else in_lab | {(level,) for level in mix.shares})
        table = lab.outcomes.cells(lab.models, factors, levels)
        return SharedCells(factors=factors, levels=tuple(levels), lab=table, live=None), None
    people = live.outcomes.people(live.models, factors)
    if not people:
        return None, f"the live outcomes of the shared models have no level of {', '.join(factors)}"
    few = (FEW_USERS,) * len(factors)
    joined = dict.fromkeys(_levels_of_few(people, min_cell) if live.outcomes.clusters else (), few)
    levels = sorted({joined.get(level, level) for level in in_lab | set(people)}, key=lambda at: (at == few, at))
    return SharedCells(
        factors=factors,
        levels=tuple(levels),
        lab=lab.outcomes.cells(lab.models, factors, levels, joined),
        live=live.outcomes.cells(live.models, factors, levels, joined),
        joined=tuple(" / ".join(level) for level in sorted(joined)),
    ), None


def _levels_of_few(people: Mapping[Level, int], least: int) -> list[Level]:
    """Return the levels of fewer users than may be told of, with larger ones until they make that many together."""
    small = [level for level, n in people.items() if too_small(n, least)]
    if not small:
        return []
    rest = sorted((level for level in people if level not in small), key=lambda level: (people[level], level))
    # Users may stand behind several levels, so the sum is the most that they can be; one level alone is no cover either.
    while rest and (len(small) < 2 or sum(people[level] for level in small) < least):
        small.append(rest.pop(0))
    return small


def _unlabelled(lab: SideScores, live: SideScores, cells: SharedCells | None, min_cell: int) -> list[Note]:
    """Warn of rows without a level: they are in the scores and not in what is told by scenario."""
    if cells is None:
        return []
    notes, what = list[Note](), ", ".join(cells.factors)
    if cells.joined:
        text = (
            f"{what}: levels with fewer than {min_cell} live users, and what covers them, are taken "
            f"together as {FEW_USERS}: {and_list(cells.joined)} (min_cell)"
        )
        notes.append(Note(kind="left_out", text=text, caution=False))
    for where, side in (("lab", lab), ("live", live))[: 1 if cells.live is None else 2]:
        share = 0.0 if side.outcomes is None else side.outcomes.unlabelled(side.models, cells.factors)
        if share:
            text = f"{100 * share:.1f}% of the {where} outcomes have no level of {what}, so mix and behaviour leave them out"
            notes.append(Note(kind="missing", text=text, remedy=f"Label them by {what}"))
    return notes
