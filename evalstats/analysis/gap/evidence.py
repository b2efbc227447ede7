"""The evidence on lab against live, in the order in which a sceptic asks: who stands off, what is mix, how far order holds."""

from collections.abc import Callable, Sequence

from evalstats.analysis.gap import figures
from evalstats.analysis.gap.agreement_result import Contradiction, PairOrder
from evalstats.analysis.gap.result import Decomposition, LabLiveGap
from evalstats.analysis.gap.shown import (
    TONES,
    ShownSide,
    apart,
    cell_names,
    flagged,
    of_parts,
    part_label,
    share,
    standing_out,
    uncovered,
    verdict_words,
)
from evalstats.analysis.result import level
from evalstats.document.model import Block, Column, Section, Table, Text, listed, sentence
from evalstats.document.names import named
from evalstats.document.numbers import number, p_words, titled
from evalstats.grammar import and_list, conjugate, plural, plural_of

_NAMED = 3
_MOST = 20
_COVERED = {"covered": "yes", "lab never covers": "no", "live never brings": "not live", "thin": "thinly"}
_STATUS = {"seen": "seen", "possible": "not ruled out"}


def evidence(found: LabLiveGap) -> list[Section]:
    """Return the parts of the evidence that these data give."""
    makers: tuple[Callable[[LabLiveGap], Section | None], ...] = (
        _models,
        _mix,
        _coverage,
        _order,
        _scenarios,
        _forecasts,
        _threats,
    )
    return [section for section in (make(found) for make in makers) if section is not None]


def _section(name: str, heading: str, *blocks: Block | None, news: bool = True) -> Section:
    return Section(id=name, heading=heading, blocks=tuple(block for block in blocks if block is not None), news=news)


def _text(*said: str) -> Text | None:
    return Text(text=" ".join(sentence(each) for each in said if each)) if any(said) else None


# --- models ---


def _models(found: LabLiveGap) -> Section | None:
    """Return every model's gap from the line through the others; without a line nothing, the answer has the differences."""
    line = found.line
    if line is None:
        return None
    rows = flagged(found)
    off = rows or standing_out(found)
    lie = f"{conjugate(len(off), 'lie')} off the line through the others"
    heading = f"{and_list([row.name for row in off], _NAMED)} {lie}{'' if rows else '; no gap is called'}"
    if not off:
        heading = "No model is shown to lie off the line through the others"
    live = ShownSide(found, found.live)
    noise = "could be noise alone" if line.p_value > 1 - found.conf_level else "are more than noise"
    spread = f"; true gaps spread by about {live.spread(line.tau)}" if line.tau else ""
    own = apart(found)
    beside = (
        f"Compared directly, {len(own)} of {found.n_models} models differ from their lab score"
        if own and found.level is not None
        else ""
    )
    # What the lab leads to expect of each model, its gap, and the gap drawn towards 0.
    table = Table(
        id="gaps",
        columns=(
            Column(title="Model", kind="name"),
            live.scores("Expected", spare=True),
            live.differences("Gap"),
            live.intervals(),
            Column(title="p (adjusted)", kind="p"),
            live.differences("Shrunken", spare=True),
        ),
        rows=tuple(
            (row.name, row.expected, row.estimate, row.deciding, row.p_adjusted, row.shrunken) for row in found.rows
        ),
        caption=(
            "Expected: by the line through the other models. Intervals of flagged models are widened for "
            "selection; p: of no gap, Benjamini-Hochberg"
        ),
        most=_MOST,
    )
    said = _text(f"Taken together, the gaps {noise} ({p_words(line.p_value)}){spread}", beside)
    return _section("models", heading, figures.gaps(found, table), said, news=bool(rows))


# --- mix ---


def _mix(found: LabLiveGap) -> Section | None:
    parts = found.decomposition
    if parts is None:
        return None
    row, shown = parts.overall, of_parts(found)
    table = _decomposition_table(shown, parts)
    figure = figures.mix(found, table)
    if figure is None:
        if row.poststratified is None:
            return None
        heading = f"For the live mix the lab predicts {shown.score(row.poststratified.estimate)} on average"
        return _section("mix", heading, table, _text(f"Unweighted, the lab reads {shown.score(row.lab.estimate)}"))
    mixed, own = row.mix.excludes_zero, row.behaviour.excludes_zero
    amount = shown.difference(row.mix.estimate)
    if mixed and not own:
        heading = f"Task mix accounts for {amount} of {shown.difference(row.total.estimate)}"
    elif mixed:
        rest = shown.difference(row.behaviour.estimate)
        heading = f"Task mix accounts for {amount}, other scores on the same tasks for {rest}"
    elif own:
        heading = "The difference is within the same tasks, not in their mix"
    else:
        heading = "Neither mix nor behaviour is shown to differ"
    beyond = [each for each in parts.rows if each.behaviour.excludes_zero]
    names = and_list([named(each.model) for each in beyond], _NAMED)
    differ = conjugate(len(beyond), "differ")
    single = f"Individually, {len(beyond)} of {len(parts.rows)} models {differ} on the same tasks: {names}"
    return _section("mix", heading, figure, _text(single if beyond else ""), news=bool(mixed or own or beyond))


def _decomposition_table(shown: ShownSide, parts: Decomposition) -> Table:
    """Return the parts of live minus lab, of all models and of each; or what the lab predicts for the live mix."""
    rows, name = [parts.overall, *parts.rows], Column(title="Model", kind="name")
    if parts.overall.total.estimate is None:
        predicted = [
            (None, None) if row.poststratified is None else (row.poststratified.estimate, row.poststratified.ends)
            for row in rows
        ]
        return Table(
            id="mix",
            columns=(
                name,
                shown.scores(titled("Lab", shown.unit)),
                shown.scores("For the live mix"),
                shown.intervals(sign=False, spare=True),
            ),
            rows=tuple(
                (row.model or "mean of all", row.lab.estimate, *each) for row, each in zip(rows, predicted, strict=True)
            ),
            caption="What the lab predicts of each model for the live mix",
            lead=True,
            most=_MOST,
        )
    return Table(
        id="mix",
        columns=(
            name,
            shown.differences("Live minus lab"),
            shown.differences("Mix"),
            shown.intervals(spare=True),
            shown.differences("Behaviour"),
            shown.intervals(),
            shown.differences("Unexplained", spare=True),
        ),
        rows=tuple(
            (
                row.model or "mean of all",
                row.total.estimate,
                row.mix.estimate,
                row.mix.ends,
                row.behaviour.estimate,
                row.behaviour.ends,
                None if row.unexplained is None else row.unexplained.estimate,
            )
            for row in rows
        ),
        caption="Mix: live users bring other tasks. Behaviour: the same tasks score differently. Unexplained: one side has none",
        lead=True,
        most=_MOST,
    )


def _coverage(found: LabLiveGap) -> Section | None:
    """Return the shares of each scenario on both sides."""
    parts = found.decomposition
    if parts is None or not parts.cells:
        return None
    none, thin = uncovered(found)
    if none:
        total = share(sum(cell.live_share for cell in none))
        heading = f"The lab has no item for {total} of live use: {cell_names(none)}"
    elif thin:
        heading = f"The lab covers {cell_names(thin)} thinly"
    else:
        cell = max(parts.cells, key=lambda each: abs(each.live_share - each.lab_share))
        shares = f"{share(cell.live_share)} of live use and {share(cell.lab_share)} of the lab"
        heading = f"{cell.cell} is {shares}"
    weights = parts.weighting
    said = (
        f"Weighted to the live mix, {plural(weights.n, 'lab item')} are worth {number(weights.effective_n, 0)}"
        if weights is not None
        else ""
    )
    shown, order = of_parts(found), sorted(parts.cells, key=lambda cell: (-cell.live_share, cell.cell))
    names = ("cell", "lab_share", "live_share", "lab_rate", "live_rate", "n_lab", "n_live", "status")
    table = Table(
        id="coverage",
        columns=(
            Column(title=" / ".join(parts.factors), kind="name"),
            Column(title="Lab share"),
            Column(title="Live share"),
            shown.scores(titled("Lab", shown.unit)),
            shown.scores(titled("Live", shown.unit)),
            shown.differences("Mix"),
            shown.differences("Behaviour"),
            Column(title="Covered", spare=True),
        ),
        rows=tuple(
            (
                cell.cell,
                share(cell.lab_share),
                share(cell.live_share),
                cell.lab_rate,
                cell.live_rate,
                None if cell.mix is None else cell.mix.estimate,
                None if cell.behaviour is None else cell.behaviour.estimate,
                _COVERED[cell.status],
            )
            for cell in order
        ),
        caption="Shares and mean scores of each side, and what each adds to mix and behaviour",
        most=_MOST,
        frame={name: [getattr(cell, name) for cell in order] for name in names},
    )
    return _section("coverage", heading, figures.coverage(found, table) or table, _text(said))


# --- order ---


def _order(found: LabLiveGap) -> Section | None:
    row, pairs = found.agreement.of("spearman"), found.agreement.pairs
    turned, said = ((), "") if pairs is None else (pairs.contradictions, _pairs_words(pairs))
    table = _pairs_table(found, turned) if turned else None
    if row.estimate is None:
        heading = f"{plural(len(turned), 'pair')} in another order live"
        return _section("order", heading, table, _text(said)) if said else None
    ceiling = (
        f"If true scores agreed perfectly, noise would leave a Spearman of about {number(row.ceiling)}"
        if row.ceiling is not None
        else ""
    )
    true_scores, pearson = "", found.agreement.of("pearson")
    low, high, estimate = pearson.disattenuated_low, pearson.disattenuated_high, pearson.disattenuated
    if low is not None and high is not None and estimate is not None and (low > -1 or high < 1):
        ends = f"{number(estimate)} ({level(found)} CI {number(low)} to {number(high)})"
        true_scores = f"The correlation of true scores is {f'at least {number(low)}' if estimate > high else ends}"
    p = f" ({p_words(row.p_value)})" if row.p_value is not None else ""
    heading = f"Over all {found.n_models} models Spearman is {number(row.estimate)}{p}"
    return _section("order", heading, _order_table(found), _text(ceiling, true_scores, said), table)


def _order_table(found: LabLiveGap) -> Table:
    """Return all coefficients over all models, and Spearman's within parts of the order."""
    whole = [
        (
            f"{row.name.capitalize()}, all models",
            row.estimate,
            *(None if each is None else (each.conf_low, each.conf_high) for each in (row.of_these, row.like_these)),
            row.ceiling,
            None,
        )
        for row in found.agreement.coefficients
    ]
    parts = [
        (
            f"Spearman, {part_label(row)}",
            row.spearman,
            row.ends,
            None,
            None,
            None if row.n_shared is None else f"{row.n_shared} of {row.n_models}",
        )
        for row in found.agreement.parts
        if row.spearman is not None
    ]
    return Table(
        id="order",
        columns=(
            Column(title="Agreement", kind="name"),
            Column(title="Estimate", kind="number", digits=2),
            Column(title="these models", kind="interval", digits=2),
            Column(title="models like these", kind="interval", digits=2),
            Column(title="Ceiling", kind="number", digits=2, spare=True),
            Column(title="In both", spare=True),
        ),
        rows=(*whole, *parts),
        caption=f"{level(found)} CIs: for these models, rank coefficients of true scores and Pearson's as measured; for models "
        "like them, all as measured. In both: how many of the best k live are among the best k of the lab",
    )


def _pairs_words(pairs: PairOrder) -> str:
    """Say how many pairs of models both sides separate, and how many of these they order alike."""
    if pairs.n_separated_both is None:
        return ""
    if not pairs.n_separated_both:
        return f"No pair of models is separated on both sides, out of {pairs.n_pairs:,}"
    turned = pairs.n_contradicted
    how = f"order {turned:,} of them the other way round" if turned else "order all of them the same way"
    return f"Both sides separate {pairs.n_separated_both:,} of {plural(pairs.n_pairs, 'pair')} (Holm), and {how}"


def _pairs_table(found: LabLiveGap, contradictions: Sequence[Contradiction]) -> Table:
    """Return the pairs that both sides separate in opposite directions, the surest first."""
    return Table(
        id="pairs",
        columns=(
            Column(title="Better live", kind="name"),
            Column(title="Better in the lab", kind="name"),
            ShownSide(found, found.live).differences("Live"),
            ShownSide(found, found.lab).differences("Lab"),
            Column(title="p live", kind="p", spare=True),
            Column(title="p lab", kind="p", spare=True),
        ),
        rows=tuple(
            (
                each.better_live,
                each.better_lab,
                each.live_difference,
                each.lab_difference,
                each.live_p_adjusted,
                each.lab_p_adjusted,
            )
            for each in contradictions
        ),
        caption="Pairs that both sides separate in opposite directions; differences are the better live minus the other",
        most=8,
    )


# --- scenarios ---


def _scenarios(found: LabLiveGap) -> Section | None:
    gaps = found.scenario_gaps
    if gaps is None:
        return None
    rows = sorted(gaps.means, key=lambda row: (row.estimate is None, -abs(row.estimate or 0.0)))
    off = [row for row in rows if row.verdict == "gap"]
    judged = sum(row.verdict != "invalid" for row in rows)
    if not judged:
        return None
    live = ShownSide(found, found.live)
    heading = f"No {gaps.factor} shows a difference between live and lab"
    if off:
        # Another level may lie farther off and be open: the heading speaks of what is shown.
        many = f"{len(off)} of {judged} {plural_of(gaps.factor)}, most in {off[0].scenario}"
        which = f"{off[0].scenario} alone" if len(off) == 1 else many
        heading = f"Live differs from the lab in {which}: {live.difference(off[0].estimate)}"
    names = (
        "scenario",
        "model",
        "estimate",
        "std_error",
        "conf_low",
        "conf_high",
        "p_value",
        "p_adjusted",
        "verdict",
    )
    # Live minus lab in each scenario, mean over models; the CSV has every model's too.
    table = Table(
        id="scenarios",
        columns=(
            Column(title=gaps.factor, kind="name"),
            live.differences("Live minus lab"),
            live.intervals(),
            Column(title="p (adjusted)", kind="p"),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (row.scenario, row.estimate, row.deciding, row.p_adjusted, verdict_words(row.verdict)) for row in rows
        ),
        caption=f"Mean over models in each {gaps.factor}, Benjamini-Hochberg over all of them",
        tones=TONES,
        most=_MOST,
        frame={name: [getattr(row, name) for row in (*gaps.means, *gaps.rows)] for name in names},
    )
    figure = figures.scenarios(found, rows, table) if any(row.estimate is not None for row in rows) else table
    cells = [row.verdict for row in gaps.rows if row.verdict != "invalid"]
    said = f"Individually, {cells.count('gap')} of {plural(len(cells), 'pair')} of model and {gaps.factor} "
    said += conjugate(cells.count("gap"), "differ")
    news = "gap" in [*cells, *(row.verdict for row in rows)]
    return _section("scenarios", heading, figure, _text(said if "gap" in cells else ""), news=news)


# --- forecasts ---


def _forecasts(found: LabLiveGap) -> Section | None:
    fitted = found.hierarchy
    new = [] if fitted is None else [row for row in fitted.forecasts if row.expected is not None]
    if fitted is None or not new:
        return None
    ends = "" if fitted.coverage_low is None else f" ({share(fitted.coverage_low)} to {share(fitted.coverage_high)})"
    said = f"Predicted by the others, {share(fitted.coverage)} of known models fall inside their {level(found)} interval{ends}"
    lab, live = ShownSide(found, found.lab), ShownSide(found, found.live)
    first = max(new, key=lambda row: (row.expected or 0.0) * (1 if found.live.about.higher_is_better else -1))
    heading = (
        f"Of {plural(len(new), 'new model')}, {first.name} should do best live: about {live.score(first.expected)}"
    )
    table = Table(
        id="forecasts",
        columns=(
            Column(title="Model", kind="name"),
            lab.scores(titled("Lab", lab.unit)),
            live.scores(titled("Expected live", live.unit)),
            live.intervals(f"{level(found)} prediction", sign=False),
            Column(title="Beyond the known", spare=True),
        ),
        rows=tuple(
            (row.name, row.lab, row.expected, (row.pred_low, row.pred_high), "yes" if row.extrapolated else None)
            for row in new
        ),
        caption="Prediction intervals include the spread of true gaps, since a new model has a gap of its own",
        most=_MOST,
    )
    return _section("forecasts", heading, figures.forecasts(found, table), _text(said))


# --- threats ---


def _threats(found: LabLiveGap) -> Section | None:
    if not found.threats:
        return None
    seen = [each for each in found.threats if each.status == "seen"]
    n = len(found.threats)
    show = conjugate(len(seen), "show")
    heading = (
        f"{len(seen)} of {n} threats to validity {show} in these data: {and_list([each.title.lower() for each in seen], n)}"
        if seen
        else f"None of {n} threats to validity shows in these data"
    )
    rows = sorted(found.threats, key=lambda each: each.status != "seen")
    items = tuple(f"{each.title} ({_STATUS[each.status]}): {sentence(each.text)}" for each in rows)
    return listed("threats", heading, items)
