"""Would other items, scaffolds or judges give the same order? Generalizability theory over any facets."""

from collections.abc import Sequence

import numpy as np

from evalstats import options as opt
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.reliability.cells import MeasuredCells, measured_cells
from evalstats.analysis.reliability.result import (
    TARGETS,
    ComponentRow,
    CurveRow,
    FacetRow,
    FirstPlaceRow,
    ObjectRow,
    ReliabilityReport,
    ReliabilityRow,
    TargetRow,
)
from evalstats.analysis.result import Origin
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.grammar import and_list, plural_of
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.checks import FloatArray
from evalstats.stats.reliability import (
    Coefficient,
    GStudy,
    drawn_coefficients,
    drawn_levels_needed,
    first_place_changes,
    from_components,
    levels_needed,
    study_sizes,
)
from evalstats.stats.reliability import reliability as coefficients
from evalstats.stats.variance_components import VarianceComponents, object_scores, variance_components
from evalstats.table.systems import require_outcomes

BY_SQUARES = "variance components by mean squares"
BY_LIKELIHOOD = "variance components by REML"
INTERVAL = "generalized interval of variance components"
FIRST_PLACES = "first places under other levels"
_KINDS: tuple[Coefficient, ...] = ("relative", "absolute")
_DRAWS = 4000
_WORLDS = 1000  # draws under which first places are awarded anew
_FEW = 5
_MOST_MISSING = 0.05
_UNEVEN = 0.8


@recorded
def reliability(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    object: opt.MeasuredObject = "model",  # noqa: A002 - the object of measurement is the theory's term
    facets: opt.Facets = None,
    fixed: opt.FixedFacets = (),
    models: opt.Models = None,
    accept: opt.Accept = (),
    conf_level: opt.ConfLevel = 0.95,
    higher_is_better: opt.HigherIsBetter = None,
    seed: opt.Seed = 0,
) -> ReliabilityReport:
    """Tell how reliable scores are over items, trials, scaffolds, judges, and what more of each would buy.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    metric
        The score; needed only where a benchmark declares no headline.
    object
        The object of measurement: the column whose levels are to be told apart.
    facets
        What a score could have had another level of, each a sample unless it is in `fixed`: "item", "trial", "benchmark",
        "judge", "system" or any other column. A facet whose levels each occur with one level of another is nested in it. By
        default items, their versions (`variant`), and trials where most items have several.
    fixed
        Facets whose levels are the only ones of interest; what they do to a model is part of its true score.
    models
        Levels of `object` to keep.
    accept
        As in `leaderboard`.
    conf_level
        Level of all intervals.
    higher_is_better
        As in `leaderboard`.
    seed
        Of the draws behind the intervals.

    Returns
    -------
    ReliabilityReport
        Components of variance, E rho^2 and Phi with intervals, reliability by number of levels, and how probable it is that
        the first place changes with other levels of each facet.

    Raises
    ------
    InputError
        If a name, column or option is unknown, or several systems of one model would be averaged.
    CannotAnswerError
        If a facet has one level, cannot be separated from the object or another facet, or too few cells cross them.

    Notes
    -----
    Components come from mean squares where the design is balanced, else from REML with a random intercept for every effect;
    those below 0 are set to 0 and marked. Intervals are percentiles of 4,000 draws of the components (generalized confidence
    intervals): exact for one facet and normal effects. Their coverage at 95% in balanced designs of 5, 10 or 30 models, 3, 5 or
    20 scaffolds and 30 items, over three sets of normal components (2,000 tables each, `facet-reliability` of `make validate`):
    .94 to .96 for E rho^2, .94 to .97 for Phi; right-or-wrong scores .94 to .96. With a fifth of the cells missing and 3
    scaffolds: .99 for 5 models, .95 for 10. With few levels the price is width: at E rho^2 = .83 the mean width is .71 with 5
    models and 3 scaffolds, .50 with 10 models and .23 with 30.

    Reliability is that of these models: where they differ more, it is higher. The first place is foretold for a normal model in
    which all objects are measured alike (`evalstats.stats.reliability.first_place_changes`).

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from evalstats import from_frame
    >>> rng = np.random.default_rng(0)
    >>> model, item = np.linspace(-1, 1, 12), rng.normal(size=80)
    >>> right = (rng.random((12, 80)) < 1 / (1 + np.exp(-model[:, None] - item))).astype(int)
    >>> rows = [{"model": f"m{m}", "item": i, "score": right[m, i]} for m in range(12) for i in range(80)]
    >>> found = reliability(from_frame(pl.DataFrame(rows)))
    >>> found.verdict, [row.name for row in found.facets]
    ('inconclusive', ['item'])
    """
    data = as_data(data, opt.GivenOptions.of(reliability, locals()).names()).with_metric(
        metric, higher_is_better=higher_is_better
    )
    data.need_rows("reliability over facets")
    require_outcomes(data)
    column = data.factor(object)
    wanted = (facets,) if isinstance(facets, str) else None if facets is None else tuple(facets)
    columns = None if wanted is None else {data.factor(name): name for name in wanted}
    if columns is not None and column in columns:
        raise InputError(f"{column} is the object of measurement and cannot be a facet too; name other facets")
    held = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    cells = measured_cells(
        data,
        column=column,
        facets=None if columns is None else tuple(columns),
        metric=metric,
        models=models,
        accept=accept,
    )
    # Items are called items, whatever their column.
    of_items = (columns or {}).pop("item", "item")
    held = tuple("item" if name == of_items else name for name in held)
    cells = cells.named({column: object, **(columns or {})})
    found = variance_components(
        cells.factors,
        cells.means,
        counts=cells.counts,
        within=cells.within,
        repetition=cells.repetition,
    )
    absent = [name for name in held if name not in found.levels or name == object]
    if absent:
        raise InputError(f"{absent[0]} is fixed and no facet; the facets are {and_list([*found.levels][1:])}")
    study = from_components(
        {":".join(effect): float(value) for effect, value in zip(found.effects, found.variances, strict=True)},
        found.levels,
        nested=found.within,
        fixed=held,
        measured=object,
    )
    draws = np.maximum(found.draws(_DRAWS, np.random.default_rng(seed)), 0.0)
    scores = object_scores(cells.factors, cells.means)
    better = scores if cells.metric.higher_is_better else -scores
    order: list[int] = np.argsort(-better, kind="stable").tolist()
    relative, absolute = (_coefficient(study, draws, kind, conf_level) for kind in _KINDS)
    facet_rows = tuple(_facet_row(name, found, cells, held) for name in list(found.levels)[1:])
    sampled = [row.name for row in facet_rows if not row.fixed]
    targets = tuple(
        _target(study, draws, name, kind=kind, target=target, conf_level=conf_level)
        for name in sampled
        for kind in _KINDS
        for target in TARGETS
    )
    return ReliabilityReport(
        about=cells.metric.facts,
        object=object,
        conf_level=conf_level,
        facets=facet_rows,
        objects=tuple(ObjectRow(name=cells.names[at], score=float(scores[at])) for at in order),
        components=_components(study, found, draws, conf_level),
        relative=relative,
        absolute=absolute,
        curve=tuple(row for name in sampled for row in _curve(study, draws, name, targets, conf_level)),
        targets=targets,
        first_places=_first_places(study, draws[:_WORLDS], better, sampled, conf_level=conf_level, seed=seed),
        balanced=found.balanced,
        n_cells=len(cells.means),
        n_items=cells.n_items,
        n_lost=cells.n_lost,
        n_meant=cells.n_meant,
        n_resamples=_DRAWS,
        method=BY_SQUARES if found.balanced else BY_LIKELIHOOD,
        origin=Origin(sources=sources_of(data, cells.runs), version=toolkit_version(), seed=seed),
        notes=(*run_notes(data, cells.runs), *cells.notes, *_notes(found, cells, object, better)),
    )


def _ends(drawn: FloatArray, conf_level: float) -> tuple[float, float] | None:
    """Return percentiles of draws; None where they have no width."""
    low, high = np.quantile(drawn, [0.5 - 0.5 * conf_level, 0.5 + 0.5 * conf_level]).tolist()
    return (low, high) if high > low else None


def _coefficient(study: GStudy, draws: FloatArray, kind: Coefficient, conf_level: float) -> ReliabilityRow:
    point = coefficients(study)
    ends = _ends(drawn_coefficients(study, draws)[kind], conf_level)
    return ReliabilityRow(
        kind=kind,
        estimate=point.relative if kind == "relative" else point.absolute,
        conf_low=ends[0] if ends else None,
        conf_high=ends[1] if ends else None,
        conf_level=conf_level,
        method=INTERVAL,
        reason=point.reason or (None if ends else "the scores leave no error to draw from"),
    )


def _components(
    study: GStudy, found: VarianceComponents, draws: FloatArray, conf_level: float
) -> tuple[ComponentRow, ...]:
    parts = coefficients(study).parts
    total = float(found.variances.sum())
    shares = draws / draws.sum(axis=1, keepdims=True)
    rows: list[ComponentRow] = []
    for at, (part, effect) in enumerate(zip(study.components, found.effects, strict=True)):
        ends, of_share = _ends(np.sqrt(draws[:, at]), conf_level), _ends(shares[:, at], conf_level)
        rows.append(
            ComponentRow(
                estimate=float(np.sqrt(part.variance)),
                conf_low=ends[0] if ends else None,
                conf_high=ends[1] if ends else None,
                conf_level=conf_level,
                df=float(found.df[at]),
                method=INTERVAL,
                reason=None if ends else "every draw lies at 0, the least possible",
                factors=effect,
                variance=part.variance,
                share=part.variance / total,
                share_low=of_share[0] if of_share else None,
                share_high=of_share[1] if of_share else None,
                role=parts[part.name][0],
                zero=effect in found.zero,
            )
        )
    return tuple(rows)


def _facet_row(name: str, found: VarianceComponents, cells: MeasuredCells, held: Sequence[str]) -> FacetRow:
    n = found.levels[name] if name == cells.repetition else int(cells.factors[name].max()) + 1
    within = () if name == cells.repetition else found.within.get(name, ())
    return FacetRow(name=name, n_levels=n, n_each=found.levels[name], within=within, fixed=name in held)


def _target(
    study: GStudy, draws: FloatArray, facet: str, *, kind: Coefficient, target: float, conf_level: float
) -> TargetRow:
    point = levels_needed(study, facet, target, coefficient=kind)
    drawn = drawn_levels_needed(study, draws, facet, target, coefficient=kind)
    tails = [0.5 - 0.5 * conf_level, 0.5 + 0.5 * conf_level]
    low, high = (int(end) if np.isfinite(end) else None for end in np.quantile(drawn, tails, method="inverted_cdf"))
    return TargetRow(
        facet=facet,
        kind=kind,
        target=target,
        n=point.n,
        n_low=low,
        n_high=high,
        limit=point.limit,
        reason=point.reason,
    )


def _curve(
    study: GStudy, draws: FloatArray, facet: str, targets: Sequence[TargetRow], conf_level: float
) -> list[CurveRow]:
    rows: list[CurveRow] = []
    for n in study_sizes(study, facet, [row.n for row in targets if row.facet == facet and row.n is not None]):
        point, drawn = coefficients(study, {facet: n}), drawn_coefficients(study, draws, {facet: n})
        for kind in _KINDS:
            ends = _ends(drawn[kind], conf_level)
            rows.append(
                CurveRow(
                    kind=kind,
                    facet=facet,
                    n=n,
                    estimate=point.relative if kind == "relative" else point.absolute,
                    conf_low=ends[0] if ends else None,
                    conf_high=ends[1] if ends else None,
                    conf_level=conf_level,
                    reason=point.reason,
                )
            )
    return rows


def _first_places(
    study: GStudy,
    draws: FloatArray,
    scores: FloatArray,
    facets: Sequence[str],
    *,
    conf_level: float,
    seed: int,
) -> tuple[FirstPlaceRow, ...]:
    """Award the first place anew: for each facet with as many other levels and with one, then for all facets together."""
    asked: list[tuple[tuple[str, ...], int | None]] = []
    for name in facets:
        asked.append(((name,), None))
        if name not in ("item", "trial") and study.facet(name).n_levels > 1:
            asked.append(((name,), 1))
    if len(facets) > 1:
        asked.append((tuple(facets), None))
    rows: list[FirstPlaceRow] = []
    for renewed, n in asked:
        # The same numbers for each, whichever facets come before it.
        rng = np.random.default_rng(seed)
        drawn = first_place_changes(study, draws, scores, renewed, n_levels=n, rng=rng)
        ends = _ends(drawn, conf_level)
        rows.append(
            FirstPlaceRow(
                renewed=renewed,
                n=n,
                estimate=float(drawn.mean()),
                conf_low=ends[0] if ends else None,
                conf_high=ends[1] if ends else None,
                conf_level=conf_level,
                method=FIRST_PLACES,
                reason=None if ends else "the first place was the same under every draw",
            )
        )
    return tuple(rows)


def _notes(found: VarianceComponents, cells: MeasuredCells, measured: str, better: FloatArray) -> list[Note]:
    notes: list[Note] = []
    few = [
        f"{n:,} {plural_of(name)}"
        for name, n in ((name, int(codes.max()) + 1) for name, codes in cells.factors.items())
        if n < (2 * _FEW if name == measured else _FEW)
    ]
    if few:
        text = f"Only {and_list(few)}: how much they differ is known roughly, so the intervals are wide"
        notes.append(Note(kind="few", text=text))
    for name, codes in cells.factors.items():
        n = int(codes.max()) + 1
        if name != measured and not found.within.get(name) and found.levels[name] < _UNEVEN * n:
            text = f"The {n:,} {plural_of(name)} hold unequal shares of the scores and count as {found.levels[name]:,}"
            notes.append(Note(kind="choice", text=text, caution=False))
    notes.extend(
        Note(
            kind="dependence",
            text=f"Each {measured} has {plural_of(name)} of its own: what one does to any {measured} and what it does to this "
            "one alone cannot be separated",
        )
        for name in cells.factors
        if measured in found.within.get(name, ()) and name != "item"
    )
    if cells.n_lost > _MOST_MISSING * cells.n_meant:
        text = f"{cells.n_lost:,} of {cells.n_meant:,} scores are missing, and are taken to be missing at random"
        notes.append(Note(kind="missing", text=text))
    if np.count_nonzero(better == better.max()) > 1:
        notes.append(
            Note(kind="choice", text=f"Several share the first place; {cells.names[int(better.argmax())]} is taken")
        )
    notes.extend(Note(kind="fit", text=text[:1].upper() + text[1:]) for text in found.warnings)
    return notes
