"""The models that both sides have, under one name, with everything cut to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.gap.aliases import NameMatch, match_models
from evalstats.analysis.gap.disclosure import too_small
from evalstats.analysis.gap.material import Cells, Material, Options, Side
from evalstats.analysis.gap.outcomes import Units, cell_sums, clusters_by_level, levels_of, unlabelled
from evalstats.analysis.gap.sides import Prepared, cut, on_one_scale, oriented
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.document.model import Note
from evalstats.document.numbers import plural, some
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.errors_in_variables.scores import LabLiveScores

FEWEST = 3
FEW_USERS = "(levels of few users)"
_LEAST_WITH_ERRORS = 6  # for a line
_MOST_OF = 0.5
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that was asked, with both sides scored over all of their models."""

    lab: Prepared
    live: Prepared
    lab_data: EvalData
    live_data: EvalData
    lab_factors: tuple[str, ...]
    live_factors: tuple[str, ...]
    aliases: Mapping[str, str]
    models: Sequence[str] | None
    same_scale: bool | None
    options: Options
    min_cell: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The prepared material, and how names were joined."""

    material: Material
    names: NameMatch
    scale_reason: str
    notes: tuple[Note, ...] = ()


def matched(asked: Asked) -> Matched:
    """Join both sides by the names of models.

    Raises
    ------
    InputError
        If a model to keep is on neither side.
    CannotAnswerError
        If fewer than three models are shared.
    """
    names = match_models(asked.lab.side.models, asked.live.side.models, dict(asked.aliases))
    joined = [(name, *pair) for name, pair in zip(names.shared, names.pairs, strict=True)]
    if asked.models is not None:
        joined = _kept(joined, asked.models)
    if len(joined) < FEWEST:
        raise CannotAnswerError(_too_few(len(joined), names))
    joined, told = _with_errors(sorted(joined), asked)
    shared = tuple(each[0] for each in joined)
    lab = cut(asked.lab, [each[1] for each in joined])
    live = cut(asked.live, [each[2] for each in joined])
    _refuse_one_side_twice(lab, live)
    same, why = on_one_scale(lab, live)
    if asked.same_scale is not None:
        same = _declared_scale(lab, live, same=asked.same_scale)
    x, v_x = oriented(lab)
    z, v_z = oriented(live)
    cells, no_cells = _cells(asked, lab.models, live.models)
    material = Material(
        models=shared,
        lab=lab,
        live=live,
        same_scale=same,
        scores=LabLiveScores(lab=x, live=z, lab_covariance=v_x, live_covariance=v_z),
        options=asked.options,
        cells=cells,
        no_cells_reason=no_cells,
        lab_data=_renamed(asked.lab, asked.lab_data, dict(zip(lab.models, shared, strict=True))),
        live_data=_renamed(asked.live, asked.live_data, dict(zip(live.models, shared, strict=True))),
    )
    said = (*told, *_unlabelled(asked, cells, lab.models, live.models), *_trusted_scale(asked, why))
    return Matched(material=material, names=names, scale_reason=why, notes=said)


def _unlabelled(
    asked: Asked, cells: Cells | None, lab_models: Sequence[str], live_models: Sequence[str]
) -> tuple[Note, ...]:
    """Warn of rows without a level: they are in the scores and not in what is told by scenario."""
    if cells is None:
        return ()
    said: list[Note] = []
    if cells.joined:
        text = (
            f"{', '.join(cells.factors)}: levels with fewer than {asked.min_cell} live users, and what covers them, are taken "
            f"together as {FEW_USERS}: {some(cells.joined)} (min_cell)"
        )
        said.append(Note(kind="left_out", text=text, caution=False))
    sides = [("lab", asked.lab.units, lab_models)]
    if cells.live is not None:
        sides.append(("live", asked.live.units, live_models))
    for where, units, models in sides:
        share = 0.0 if units is None else unlabelled(units, models, cells.factors)
        if share:
            what = ", ".join(cells.factors)
            text = f"{100 * share:.1f}% of the {where} outcomes have no level of {what}, so mix and behaviour leave them out"
            said.append(Note(kind="missing", text=text, remedy=f"label them by {what}"))
    return tuple(said)


def _refuse_one_side_twice(lab: Side, live: Side) -> None:
    """Refuse the same scores on both sides: they agree with themselves."""
    alike = (lab.kind, lab.name, lab.metric) == (live.kind, live.name, live.metric)
    if alike and np.array_equal(lab.estimate, live.estimate):
        raise InputError(
            f"both sides hold the same scores ({lab.metric!r} of {lab.name}), so there is nothing to compare: give the lab's "
            "results as --lab and what live users did as --live"
        )


def _trusted_scale(asked: Asked, why: str) -> tuple[Note, ...]:
    """Warn where one scale was declared against what the data say."""
    if not asked.same_scale or not why:
        return ()
    text = f"one scale was asked for, though {why}; live less lab means nothing if that is wrong"
    return (Note(kind="scale", text=text),)


def _with_errors(
    joined: list[tuple[str, str, str]], asked: Asked
) -> tuple[list[tuple[str, str, str]], tuple[Note, ...]]:
    """Leave out the models without a standard error where most have one; else errors count as unknown for all."""
    known = [_has_error(asked.lab, lab) and _has_error(asked.live, live) for _, lab, live in joined]
    without = [each[0] for each, has in zip(joined, known, strict=True) if not has]
    if not without:
        return joined, ()
    kept = [each for each, has in zip(joined, known, strict=True) if has]
    if len(kept) >= max(_LEAST_WITH_ERRORS, _MOST_OF * len(joined)):
        is_ = "model is" if len(without) == 1 else "models are"
        said = f"{len(without)} shared {is_} left out for want of a standard error: {some(without)}"
        return kept, (Note(kind="left_out", text=said),)
    # Errors of a side that lacks any count as unknown for all of it.
    some_have = f"only {len(kept)}" if kept else "none"
    said = f"{some_have} of {plural(len(joined), 'shared model')} have standard errors on both sides, so no gap can be told"
    return joined, (Note(kind="few", text=said, remedy="give results by item, or published standard errors"),)


def _has_error(prepared: Prepared, name: str) -> bool:
    covariance = prepared.side.covariance
    at = prepared.side.models.index(name)
    return covariance is not None and bool(np.isfinite(covariance[at, at]))


def _kept(joined: list[tuple[str, str, str]], models: Sequence[str]) -> list[tuple[str, str, str]]:
    unknown = [name for name in models if not any(name in each for each in joined)]
    if unknown:
        have = ", ".join(repr(each[0]) for each in joined[:12])
        raise InputError(f"{unknown[0]!r} is none of the models that both sides have: {have}")
    wanted = set(models)
    return [each for each in joined if wanted & set(each)]


def _too_few(n: int, names: NameMatch) -> str:
    """Say that too few models are shared, and which names look alike."""
    shared = f"the two sides share {plural(n, 'model')}" if n else "the two sides share no model"
    said = (
        f"{shared} by name; at least {FEWEST} are needed to speak of agreement, 6 for a line. The lab has "
        f"{_some(names.only_lab)}; live has {_some(names.only_live)}"
    )
    if not names.near:
        return f"{said}. No names look alike: name what belongs together with --aliases (aliases={...} in Python)"
    near = "; ".join(f"{one!r} and {other!r}" for one, other in names.near[:_NAMED])
    more = f" and {len(names.near) - _NAMED} more pairs" if len(names.near) > _NAMED else ""
    how = "Join them with --aliases FILE, which --near-names FILE writes (aliases={...} in Python)"
    return f"{said}. Names that look alike and were not joined: {near}{more}. {how}"


def _some(names: Sequence[str]) -> str:
    if not names:
        return "no further model"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(repr(name) for name in names[:_NAMED]) + more


def _declared_scale(lab: Side, live: Side, *, same: bool) -> bool:
    if same and "comparisons" in {lab.kind, live.kind}:
        raise InputError(
            "same_scale was asked for, and votes give ratings: their points are not those of the other side"
        )
    if same and _apart(lab, live):
        raise InputError(
            f"same_scale was asked for, and {lab.metric!r} (lab) runs from {lab.low:g} to {lab.high:g}, {live.metric!r} (live) "
            f"from {live.low:g} to {live.high:g}: bring both to one range first"
        )
    if same and lab.turned != live.turned:
        raise InputError(
            f"same_scale was asked for, and more is better in one of {lab.metric!r} (lab) and {live.metric!r} (live) only"
        )
    return same


def _apart(lab: Side, live: Side) -> bool:
    """Whether both ranges are known and differ."""
    known = None not in {lab.low, lab.high, live.low, live.high}
    return known and (lab.low, lab.high) != (live.low, live.high)


def _renamed(prepared: Prepared, data: EvalData, names: Mapping[str, str]) -> EvalData:
    """Return the outcomes of the shared models under the names of the result; other tables stay."""
    if prepared.units is None:
        return data
    rows = prepared.units.rows.filter(pl.col(ENTRY).is_in(list(names)))
    shown = pl.col(ENTRY).replace(dict(names))
    return replace(data, outcomes=rows.with_columns(model=shown, system=shown).drop(ENTRY))


def _cells(asked: Asked, lab_models: Sequence[str], live_models: Sequence[str]) -> tuple[Cells | None, str | None]:
    """Return the outcomes of both sides by cell, or why there are none."""
    lab, live = asked.lab.units, asked.live.units
    factors = asked.lab_factors
    mixed = asked.options.mix_factor
    if lab is None:
        return None, "the lab side holds no outcomes, so nothing is known by scenario"
    if not factors:
        return None, "the lab outcomes have no scenario (name another factor with by)"
    if live is not None and set(factors) <= set(asked.live_factors):
        return _joint(lab, live, factors, lab_models, live_models, asked.min_cell), None
    if mixed is None:
        what = "are no outcomes" if live is None else f"have no level of {', '.join(factors)}"
        return None, f"the live data {what}, so the live mix is unknown; give it with --mix"
    own = (mixed,)
    levels = sorted(levels_of(lab, lab_models, own) | {(level,) for level in asked.options.mix})
    return Cells(factors=own, levels=tuple(levels), lab=cell_sums(lab, lab_models, own, levels), live=None), None


def _joint(  # noqa: PLR0917 - two sides, each with its models
    lab: Units,
    live: Units,
    factors: tuple[str, ...],
    lab_models: Sequence[str],
    live_models: Sequence[str],
    min_cell: int,
) -> Cells:
    people = clusters_by_level(live, live_models, factors)
    few = (FEW_USERS,) * len(factors)
    joined = dict.fromkeys(_small(people, min_cell) if live.clusters else (), few)
    levels = sorted(
        {joined.get(level, level) for level in levels_of(lab, lab_models, factors) | set(people)},
        key=lambda at: (at == few, at),
    )
    return Cells(
        factors=factors,
        levels=tuple(levels),
        lab=cell_sums(lab, lab_models, factors, levels, joined=joined),
        live=cell_sums(live, live_models, factors, levels, joined=joined),
        joined=tuple(" / ".join(level) for level in sorted(joined)),
    )


def _small(people: Mapping[tuple[str, ...], int], least: int) -> list[tuple[str, ...]]:
    """Return the levels of fewer users than may be told of, with larger ones until they make that many together."""
    small = [level for level, n in people.items() if too_small(n, max(1, least))]
    if not small:
        return []
    rest = sorted((level for level in people if level not in small), key=lambda level: (people[level], level))
    # Users may stand behind several levels, so the sum is the most that they can be; one level alone is no cover either.
    while rest and (len(small) < 2 or sum(people[level] for level in small) < least):
        small.append(rest.pop(0))
    return small
