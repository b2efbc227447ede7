"""Which items tell models apart, and would fewer do? Item response curves, and short forms tried on models left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from evalstats import options as opt
from evalstats.analysis.design.entries import chosen_entries, entry_table, measured_alike
from evalstats.analysis.items.result import (
    AbilityGroup,
    AbilityRow,
    FamilyItem,
    FamilyRow,
    ItemReport,
    ItemRow,
    SizeRow,
)
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.item_fit import FALSE_DISCOVERIES, FEWEST_OF_FAMILY, curvature_tests, family_tests, one_answer
from evalstats.stats.item_quality import item_slopes
from evalstats.stats.item_response import FEWEST_MODELS as FEWEST_CURVES
from evalstats.stats.item_response import ItemCurves, two_parameter
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.stats.short_form import FEWEST_MODELS, SizeError, chosen_items, form_errors, worth_of_form
from evalstats.table.items import ITEM_KEY
from evalstats.table.systems import System

_MOST_GROUPS, _OF_GROUP = 8, 5

Key = tuple[str | None, str, str | None]


@record
class CurveFit:
    """Of every item the score of its curvature, its p-values, and whether it is found to misfit; NaN where it is not tested.

    `reason` says why none is tested.
    """

    z: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    misfit: BoolArray
    reason: str | None = None


def curve_fit(answers: FloatArray, curves: ItemCurves, *, seed: int) -> CurveFit:
    """Test whether the curves fit, with a false discovery rate of 5%."""
    z, p_value, p_adjusted = (np.full(len(answers), np.nan) for _ in range(3))
    reason = None
    try:
        found = curvature_tests(answers, curves, seed=seed)
        z, p_value = found.z[:, 0], found.p_value[:, 0]
        if found.tested.any():
            p_adjusted[found.tested] = benjamini_hochberg(p_value[found.tested])
    except CannotAnswerError as error:
        reason = str(error)
    misfit = np.asarray(p_adjusted <= FALSE_DISCOVERIES, dtype=np.bool_)
    return CurveFit(z=z, p_value=p_value, p_adjusted=p_adjusted, misfit=misfit, reason=reason)


def ability_groups(curves: ItemCurves, answers: FloatArray) -> tuple[tuple[AbilityGroup, ...], FloatArray]:
    """Deal models of similar ability into groups, and return these and the share of each that solves each item.

    Groups have at least five models; the shares have shape (n_items, n_groups), with none where models are fewer than ten.
    """
    n_groups = min(_MOST_GROUPS, len(curves.ability) // _OF_GROUP)
    if n_groups < 2:
        return (), np.empty((len(answers), 0))
    parts = np.array_split(np.argsort(curves.ability, kind="stable"), n_groups)
    groups = tuple(AbilityGroup(ability=float(curves.ability[part].mean()), n_models=len(part)) for part in parts)
    return groups, np.stack([answers[:, part].mean(axis=1) for part in parts], axis=1)


def families_of(
    family: str | Mapping[str, str], systems: Sequence[System], data: EvalData
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Return the families that have enough models to be tested, and that of every system; None for any other.

    Raises
    ------
    InputError
        If a mapping names a model that is not there, or one system is of several families.
    CannotAnswerError
        If no family has enough models, with as many beside it.
    """
    names = [system.name for system in systems]
    if isinstance(family, Mapping):
        strange = [name for name in family if name not in names]
        if strange:
            raise InputError(
                f"family names {quoted_list(strange)}, which is no system here; there are {quoted_list(names)}"
            )
        of_system = [family.get(name) for name in names]
    else:
        column = data.factor(family)
        of_system = [_only_level(system, column) for system in systems]
    counts = {name: of_system.count(name) for name in sorted({each for each in of_system if each is not None})}
    large = tuple(name for name, n in counts.items() if FEWEST_OF_FAMILY <= n <= len(names) - FEWEST_OF_FAMILY)
    if not large:
        told = and_list([f"{name} has {n}" for name, n in counts.items()], 6) or "no model has one"
        raise CannotAnswerError(
            f"a family is set against all other models, and either side needs at least {FEWEST_OF_FAMILY} models; {told} of "
            f"{len(names)}. Leave out {Option('family')}, or name larger families"
        )
    return large, tuple(each if each in large else None for each in of_system)


def _only_level(system: System, column: str) -> str | None:
    levels = system.rows[column].drop_nulls().unique().to_list()
    if len(levels) > 1:
        raise InputError(
            f"{system.name!r} has {plural(len(levels), 'level')} of {column!r} ({quoted_list(levels, 3)}); a model has one "
            "family"
        )
    return str(levels[0]) if levels else None


def family_rows(
    answers: FloatArray,
    curves: ItemCurves,
    keys: Sequence[Key],
    families: tuple[tuple[str, ...], tuple[str | None, ...]],
    *,
    seed: int,
) -> tuple[tuple[FamilyRow, ...], tuple[FamilyItem, ...], tuple[str, ...]]:
    """Return a row for each family, one for each item on which it differs from others as able, and what is amiss."""
    names, of_system = families
    codes = np.array([-1 if each is None else names.index(each) for each in of_system])
    found = family_tests(answers, curves, codes, seed=seed)
    # What one family knows makes the others look as if they lagged: an item counts for the family that stands out most.
    away = np.abs(np.nan_to_num(found.z))
    shown = (found.p_adjusted <= FALSE_DISCOVERIES) & (away == away.max(axis=1, keepdims=True))
    items = [
        FamilyItem(
            task=keys[at][0],
            item=keys[at][1],
            variant=keys[at][2],
            family=names[place],
            share=float(answers[at, codes == place].mean()),
            expected=float(answers[at, codes == place].mean() - found.excess[at, place]),
            p_value=float(found.p_value[at, place]),
            p_adjusted=float(found.p_adjusted[at, place]),
        )
        for at, place in np.argwhere(shown).tolist()
    ]
    rows = tuple(
        FamilyRow(
            name=name,
            models=int((codes == place).sum()),
            n_more=int((shown[:, place] & (found.z[:, place] > 0)).sum()),
            n_fewer=int((shown[:, place] & (found.z[:, place] < 0)).sum()),
            n_tested=int((~np.isnan(found.p_value[:, place])).sum()),
        )
        for place, name in enumerate(names)
    )
    lacking = sum(each is None for each in of_system)
    amiss = (
        *(() if found.settled else ("The items that families are compared on did not settle; findings may be off",)),
        *((f"{plural(lacking, 'model')} belong to no family of {FEWEST_OF_FAMILY} or more",) if lacking else ()),
    )
    return rows, tuple(sorted(items, key=lambda each: (each.p_value, -abs(each.share - each.expected)))), amiss


METHODS = {
    "2pl": "item response curves by marginal maximum likelihood",
    "1pl": "item response curves with one slope by marginal maximum likelihood",
}
_SIZES = (10, 20, 50, 100, 200, 500, 1000)
_USUAL, _SHARE = 100, 5
_FOLDS = 5
_LEVEL = 0.95


@recorded
def items(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    models: opt.Models = None,
    size: opt.FormSize = None,
    irt: opt.IrtModel = "2pl",
    family: opt.ModelFamily = None,
    new: opt.NewAnswers = None,
    accept: opt.Accept = (),
    contrast: opt.EntryContrast = "model",
    higher_is_better: opt.HigherIsBetter = None,
    seed: opt.Seed = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> ItemReport:
    """Tell which items tell models apart, and how far the score of a few well-chosen ones is from that of all.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    metric
        The score, right or wrong; needed only where the benchmark declares no headline.
    models, accept, contrast, higher_is_better
        As in `leaderboard`.
    size
        Items of the short form; by default 100, or a fifth of fewer than 500 items.
    irt
        "2pl": every item has a slope of its own; "1pl": all share one, as Rasch's model has it.
    family
        A column with the family of each model, or a mapping from models to families. Of every family of at least five models,
        the items are named that it solves more or less often than other models of the same ability.
    new
        Results of models that are no part of `data`, on some of its items: each one's score on all of them
        (`ItemReport.new_scores`).
    seed
        Deals the models into five parts, each of which is left out in turn; and of the simulated p-values.
    on_progress
        Called as on_progress(done, 5) after each part.

    Returns
    -------
    ItemReport
        Curves of all items, models on the same scale, and for each size of a short form its error on models left out.

    Raises
    ------
    InputError
        If a name, column or option is unknown, or scores are not right or wrong.
    CannotAnswerError
        If fewer than five models were measured alike, or have fewer than ten items in common; if no family is large enough.

    Notes
    -----
    Only items that all models answered count. The curves are `evalstats.stats.item_response.two_parameter`'s. A short form takes
    of every stratum of difficulty the item with the steepest curve, and the score on all items is predicted from a model's
    answers to it (`evalstats.stats.short_form`). Its error is measured on models that had no part in curves or choice, which
    takes at least ten models; it holds for new models like these. With at least twenty models, the fit of every curve is tested
    (`evalstats.stats.item_fit`); of several trials one counts there.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from evalstats import from_frame
    >>> rng = np.random.default_rng(0)
    >>> logit = rng.normal(size=20)[:, None] + np.linspace(-2, 2, 100)
    >>> right = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int)
    >>> rows = [{"model": f"m{m}", "item": i, "score": right[m, i]} for m in range(20) for i in range(100)]
    >>> found = items(from_frame(pl.DataFrame(rows)), size=20)
    >>> form = found.form
    >>> sum(row.chosen for row in found.rows), form.estimate < form.random_error
    (20, True)
    """
    entries = chosen_entries(
        data, opt.GivenOptions.of(items, locals()), purpose="a curve for every item", least=FEWEST_CURVES
    )
    data, chosen = entries.data, entries.metric
    if chosen.kind != "binary":
        raise InputError(f"curves of items need scores that are right or wrong; {chosen.name!r} is {chosen.kind}")
    board, left_out = measured_alike(
        entry_table(data, chosen, entries.systems, contrast=entries.column, accept=accept),
        "curves of items cannot be fitted",
    )
    table = board.table.take(board.table.paired())
    if len(table) < 2 * _SHARE:
        raise CannotAnswerError(
            f"{plural(len(table), 'item')} of {int(board.counted.sum()):,} have a score of all {len(table.names)} models, and "
            f"{2 * _SHARE} are needed; name models that answered the same items"
        )
    size = min(_USUAL, len(table) // _SHARE) if size is None else size
    # Which items are picked may hang on the last digit of a sum, and so on the order of the cells in memory.
    trials, total = (np.array(cells, dtype=np.float64, order="C") for cells in (table.n_scored, table.total))
    # Where lower is better, an item is solved by a score of 0: curves and forms are those of the mirrored metric.
    right = total if chosen.higher_is_better else trials - total
    same_slope = irt == "1pl"
    families = None if family is None else families_of(family, table.systems, data)
    curves = two_parameter(right, trials, same_slope=same_slope)
    form = chosen_items(curves, size)
    errors: tuple[SizeError, ...] = ()
    reason = None
    if len(table.names) < FEWEST_MODELS:
        reason = (
            f"{FEWEST_MODELS} models are needed to say whether fewer items would do, and there are {len(table.names)}"
        )
    else:
        errors = form_errors(
            right,
            sorted({size, *(each for each in _SIZES if 2 * each <= len(table))}),
            trials=trials,
            curves=curves,
            same_slope=same_slope,
            folds=_FOLDS,
            seed=seed,
            on_fold=on_progress,
        )
    answers = one_answer(right, trials, seed=seed)
    fit = curve_fit(answers, curves, seed=seed)
    groups, group_shares = ability_groups(curves, answers)
    keys = table.items.select(name for name in ITEM_KEY if name in table.items.columns).to_dicts()
    of_families, family_items, amiss = ((), (), ())
    if families is not None:
        places = [(key.get("task"), str(key["item"]), key.get("variant")) for key in keys]
        of_families, family_items, amiss = family_rows(answers, curves, places, families, seed=seed)
    # Held near 1 by their prior, slopes say little against it: the sign is tested without curves.
    turned = np.asarray(item_slopes(right / trials).p_adjusted <= 1 - _LEVEL, dtype=np.bool_)
    dropped = int(board.counted.sum()) - len(table)
    lacking = (f"{plural(dropped, 'item')} that some model lacks are left out",) if dropped else ()
    unsettled = () if curves.converged else ("The search for the curves did not come to rest; slopes may be off",)
    scores = total / trials
    report = ItemReport(
        about=chosen.facts,
        contrast=contrast,
        conf_level=_LEVEL,
        rows=_rows(keys, curves, fit, turned=turned, share=scores.mean(axis=1), group_shares=group_shares, form=form),
        models=_models(table.names, curves, scores, sign=1.0 if chosen.higher_is_better else -1.0),
        sizes=tuple(_size_row(each, len(table), len(table.names)) for each in errors),
        sizes_reason=reason,
        size=size,
        groups=groups,
        fit_reason=fit.reason,
        families=of_families,
        family_items=family_items,
        irt=irt,
        n_items_any=int(board.counted.sum()),
        folds=_FOLDS if errors else 0,
        log_likelihood=curves.log_likelihood,
        converged=curves.converged,
        method=METHODS[irt],
        left_out=left_out,
        origin=Origin(sources=sources_of(data, board.runs), version=toolkit_version(), seed=seed),
        notes=(
            *run_notes(data, board.runs),
            *chosen.cautions,
            *board.kinds.refusal(),
            *as_notes("fit", (*unsettled, *amiss)),
            *board.kinds.notes("weakens"),
            *as_notes("left_out", (*lacking, *entries.notes), caution=False),
            *board.kinds.notes("note"),
        ),
    )
    if new is None:
        return report
    scores = report.new_scores(new)
    suspect = [
        f"{each.name} answered {plural(each.n_items, 'item')} on which the archive scores "
        f"{'higher' if (each.off_random or 0.0) > 0 else 'lower'} than on a random part, so its score may be wrong"
        for each in scores
        if each.suspect
    ]
    remedy = "Draw the items at random, or run the short form"
    cautions = tuple(Note(kind="selection", text=text, remedy=remedy) for text in suspect)
    return replace(report, new=scores, notes=(*cautions, *report.notes))


def _rows(
    keys: list[dict[str, str | None]],
    curves: ItemCurves,
    fit: CurveFit,
    *,
    turned: BoolArray,
    share: FloatArray,
    group_shares: FloatArray,
    form: IntArray,
) -> tuple[ItemRow, ...]:
    inside = np.isin(np.arange(len(keys), dtype=np.int64), form)
    tests = [
        [None if np.isnan(value) else float(value) for value in each] for each in (fit.z, fit.p_value, fit.p_adjusted)
    ]
    return tuple(
        ItemRow(
            item=str(key["item"]),
            task=key.get("task"),
            variant=key.get("variant"),
            share=float(share[at]),
            slope=float(curves.slope[at]),
            slope_error=float(curves.slope_error[at]),
            intercept=float(curves.intercept[at]),
            intercept_error=float(curves.intercept_error[at]),
            reversed=bool(turned[at]),
            chosen=bool(inside[at]),
            bend=tests[0][at],
            p_value=tests[1][at],
            p_adjusted=tests[2][at],
            misfit=bool(fit.misfit[at]),
            group_shares=tuple(group_shares[at].tolist()),
        )
        for at, key in enumerate(keys)
    )


def _models(names: tuple[str, ...], curves: ItemCurves, scores: FloatArray, *, sign: float) -> tuple[AbilityRow, ...]:
    found = [
        AbilityRow(name=name, score=float(score), ability=float(ability), ability_error=float(error))
        for name, score, ability, error in zip(
            names, scores.mean(axis=0), curves.ability, curves.ability_error, strict=True
        )
    ]
    return tuple(sorted(found, key=lambda row: (-sign * row.score, row.name)))


def _size_row(found: SizeError, n_items: int, n_models: int) -> SizeRow:
    low, high = (
        np.sqrt(n_models / (2.0 * special.gammaincinv(n_models / 2.0, at)))
        for at in ((1 + _LEVEL) / 2, (1 - _LEVEL) / 2)
    )
    return SizeRow(
        estimate=found.score_error,
        conf_low=found.score_error * float(low),
        conf_high=found.score_error * float(high),
        conf_level=_LEVEL,
        df=float(n_models),
        size=found.size,
        largest_error=found.largest_error,
        rank_error=found.rank_error,
        random_error=found.random_error,
        random_size=worth_of_form(found.score_error, found.random_error, found.size, n_items),
        difference_error=found.difference_error,
        difference_size=worth_of_form(found.difference_error, found.random_difference_error, found.size, n_items),
    )
