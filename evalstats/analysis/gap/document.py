"""What is said of lab against live: does the lab order models as users do, is its level right, and why not."""

from collections.abc import Callable
from typing import Literal

from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.gap import figures
from evalstats.analysis.gap.evidence import USABLE, evidence
from evalstats.analysis.gap.figures import (
    TONES,
    apart,
    cell_names,
    difference_column,
    difference_text,
    difference_unit,
    ends_column,
    ends_text,
    flagged,
    metric_side,
    models_like_these,
    part_ends,
    part_label,
    points,
    printed,
    printed_ends,
    score_column,
    score_text,
    score_unit,
    share,
    size_text,
    spearman_words,
    spread_text,
    these_models,
    told,
    uncovered,
    verdict_words,
)
from evalstats.analysis.gap.method import method
from evalstats.analysis.gap.result import GapRow, LabLiveGap, PartRow, SideAccount
from evalstats.document.model import Block, Column, Document, Table, Text, Tone, sentence
from evalstats.document.numbers import declared, interval_words, number, titled
from evalstats.grammar import and_list, plural, plural_of

Order = Literal["well", "fairly well", "weakly", "open", "reversed", "unknown"]
MOST_ROWS = 20
_MOST_ACTIONS = 5
_NAMED = 3
_FEWEST, _FULL = 6, 10  # models for a line, and for a gap to be called without a margin
_GOOD, _FAIR = 0.8, 0.5  # of Spearman's coefficient
_ORDERS: dict[Order, str] = {
    "open": "The lab is not shown to order models as live users do",
    "reversed": "The lab orders models the other way round than live users",
    "unknown": "Lab and live cannot be compared",
}
_LABELS: dict[Order, str] = {"well": "right order", "fairly well": "fair order", "weakly": "weak order"}


def document(found: LabLiveGap) -> Document:
    """Return what is said of lab against live."""
    label, tone = _label(found)
    shown, words = _number(found)
    asked = asked_direction(found.lab.direction, found.live.direction)
    return Document(
        kind="lab-live",
        title=_title(found),
        label=label,
        tone=tone,
        headline="; ".join((_headline(found), *asked)),
        number=shown,
        number_words=words,
        scope=_scope(found),
        answer=tuple(_answer(found)),
        notes=found.notes,
        actions=tuple(actions(found)),
        evidence=tuple(evidence(found)),
        method=tuple(method(found)),
    )


# --- the headline ---


def _title(found: LabLiveGap) -> str:
    lab, live = found.lab.name, found.live.name
    if not lab or not live:
        return "Does the lab predict the live world?"
    return f"Do lab scores on {lab} predict live scores on {live}?"


def order_of(found: LabLiveGap) -> Order:
    """Return how well the lab orders models, as far as the interval for models like these (else these) shows it."""
    row = found.agreement.of("spearman")
    if row.estimate is None:
        return "unknown"
    each = models_like_these(row) or these_models(row)
    low, high = (None, None) if each is None else (each.conf_low, each.conf_high)
    if low is None or high is None:
        known = row.p_value is not None and row.p_value <= 1 - found.conf_level
        low = high = row.estimate if known else 0.0
    if low > 0:
        if row.estimate < _FAIR:
            return "weakly"
        return "well" if row.estimate >= _GOOD and low >= _FAIR else "fairly well"
    return "reversed" if high < 0 else "open"


def _level_is_off(found: LabLiveGap) -> bool:
    return found.verdict == "gap" and found.level is not None and found.level.verdict == "gap"


def _off(found: LabLiveGap) -> list[GapRow]:
    """Return the models that the answer calls: none where the verdict on all of them is open."""
    return flagged(found) if found.verdict == "gap" else []


def _label(found: LabLiveGap) -> tuple[str, Tone]:
    order = order_of(found)
    if found.verdict == "aligned":
        return "aligned", "good"
    if order in {"unknown", "reversed"}:
        return ("no answer" if order == "unknown" else "reversed order"), "bad"
    if found.verdict == "invalid":
        return ("order only" if order in _LABELS else "open"), "caution"
    if _off(found):
        return f"misjudges {plural(len(_off(found)), 'model')}", "bad"
    if _level_is_off(found):
        if _mix_explains(found):
            return f"{_LABELS.get(order, 'order open')}, other tasks", "neutral"
        return f"{_LABELS.get(order, 'order open')}, wrong level", "caution"
    if found.verdict == "gap":
        return f"{len(apart(found))} of {found.n_models} differ", "caution"
    return (_LABELS[order], "neutral") if order in _LABELS else ("open", "caution")


def _headline(found: LabLiveGap) -> str:
    order = order_of(found)
    if found.verdict == "aligned":
        within = "" if found.margin is None else f", to within {_margin_words(found)}"
        return f"All {found.n_models} models do live what the lab leads to expect{within}"
    row = found.agreement.of("spearman")
    if order == "unknown":
        return f"{_ORDERS[order]}: {(row.reason or 'too few models').rstrip('.')}"
    clauses = [*_models_clause(found), *_level_clause(found)]
    aside = f" (Spearman {number(row.estimate)})" if clauses and not _number_is_spearman(found) else ""
    said = f"{_ORDERS.get(order, f'The lab orders models {order}')}{aside}"
    if found.verdict == "invalid":
        return f"{said}; no gap can be judged"
    if clauses:
        return f"{said} {'but' if order in _LABELS else 'and'} {' and '.join(clauses)}"
    beyond = "" if found.margin is None else f" beyond the margin of {_margin_words(found)}"
    return f"{said}; no gap{beyond} is shown" if order in _LABELS else said


def _margin_words(found: LabLiveGap) -> str:
    """Write the margin as it was declared, without digits that nobody gave."""
    return f"{declared(found.margin or 0.0, found.live.scale)} {difference_unit(found.live.unit)}".rstrip()


def _models_clause(found: LabLiveGap) -> list[str]:
    rows = _off(found)
    if not rows and found.verdict == "gap" and not _level_is_off(found):
        others = apart(found)
        return [f"reads {len(others)} of {found.n_models} models wrong"] if others else []
    if len(rows) > _NAMED:
        return [f"misjudges {len(rows)} of {found.n_models} models"]
    over = [row.name for row in rows if (row.estimate or 0.0) < 0]
    under = [row.name for row in rows if (row.estimate or 0.0) > 0]
    return [f"{verb} {and_list(names)}" for verb, names in (("overrates", over), ("underrates", under)) if names]


def _level_clause(found: LabLiveGap) -> list[str]:
    if not _level_is_off(found) or found.level is None:
        return []
    how = "low" if printed(found.level.estimate, found) > 0 else "high"
    said = f"reads {points(found.level.estimate, found)} {how}"
    because = _because(found)
    return [f"{said}, {because}" if because and not _off(found) else said]


def _because(found: LabLiveGap) -> str:
    """Say whether other tasks, or other scores on the same tasks, take the level where it is; "" where neither is shown."""
    parts = found.decomposition
    if parts is None or parts.overall.total.estimate is None:
        return ""
    row, total = parts.overall, parts.overall.total.estimate
    shown = [
        part
        for part in (row.mix, row.behaviour)
        if part.estimate is not None and part.excludes_zero and part.estimate * total > 0
    ]
    if not shown:
        return ""
    first = max(shown, key=lambda part: abs(part.estimate or 0.0))
    better = ((first.estimate or 0.0) > 0) == found.live.higher_is_better
    half = abs(first.estimate or 0.0) >= 0.5 * abs(total)
    mostly = "partly " if not half else "mostly " if len(shown) > 1 else ""
    if first is row.mix:
        return f"{mostly}because live users bring {'easier' if better else 'harder'} tasks"
    return f"{mostly}because models do {'better' if better else 'worse'} on the same tasks"


def _mix_explains(found: LabLiveGap) -> bool:
    """Whether the mix explains the level, and nothing is shown to be left within the same tasks."""
    parts = found.decomposition
    if parts is None or parts.overall.behaviour.conf_low is None:
        return False
    mix, total = parts.overall.mix.estimate or 0.0, parts.overall.total.estimate or 0.0
    most = mix * total > 0 and abs(mix) >= 0.5 * abs(total)
    return most and parts.overall.mix.excludes_zero and not parts.overall.behaviour.excludes_zero


def _number_is_spearman(found: LabLiveGap) -> bool:
    return not (_off(found) or _level_is_off(found) or found.verdict == "aligned")


def _number(found: LabLiveGap) -> tuple[str, str]:
    """Return the number that the headline is about, and the words below it."""
    rows = _off(found)
    if found.verdict == "aligned":
        return f"{found.n_models} of {found.n_models} models", "within the margin"
    if len(rows) == 1:
        row = rows[0]
        ends = ends_text(printed_ends(row.deciding, found), found)
        return difference_text(printed(row.estimate or 0.0, found), found), f"{row.name}, live minus expected, {ends}"
    if rows:
        return f"{len(rows)} of {found.n_models} models", "off the line through the others"
    if _level_is_off(found) and found.level is not None:
        ends = ends_text(printed_ends(found.level.ends, found), found)
        return difference_text(printed(found.level.estimate, found), found), f"live minus lab, {ends}"
    row = found.agreement.of("spearman")
    return (f"Spearman {number(row.estimate)}", spearman_words(found)) if row.estimate is not None else ("", "")


def _scope(found: LabLiveGap) -> str:
    sides = "; ".join(f"{name}: {_rests_on(side)}" for name, side in (("lab", found.lab), ("live", found.live)))
    margin = "" if found.margin is None else f"; verdicts by the margin of {_margin_words(found)}"
    return f"{plural(found.n_models, 'model')} on both sides; {sides}{margin}"


def _rests_on(side: SideAccount) -> str:
    if side.kind == "aggregates" or side.n_units is None:
        return "published numbers" + (" without errors" if side.errors == "none" else "")
    counted = f"{side.n_units:,} {side.unit_word}"
    if side.n_clusters and side.clusters and side.n_clusters != side.n_units:
        return f"{counted} in {side.n_clusters:,} {plural_of(side.clusters[0])}"
    return counted


# --- the answer ---


def _answer(found: LabLiveGap) -> list[Block]:
    said = _sentences(found)
    figure = figures.scores(found, models_table(found))
    return [figure, *([Text(text=" ".join(map(sentence, said)))] if said else [])]


def _sentences(found: LabLiveGap) -> list[str]:
    """Say in two sentences what stands behind the headline."""
    if found.verdict == "invalid":
        return [found.verdict_reason]
    if found.verdict == "inconclusive" and (
        flagged(found) or (found.level is not None and found.level.verdict == "gap")
    ):
        return [found.verdict_reason]
    said = [*_within(found), *_level_beside(found)][:1]
    judged = (found.n_models >= _FULL or found.margin is not None) and order_of(found) in _LABELS
    line = found.line
    # Where the scores bend away from the line no model is called a gap, whatever its size.
    if judged and line is not None and line.detectable is not None and not line.bent and not _off(found):
        size = size_text(line.detectable, found)
        said.append(f"A model {size} off the line would have been detected with 80% probability; none was")
    alone = [
        row.name
        for row in found.rows
        if row.excludes_zero and row.p_adjusted is not None and row.p_adjusted > 1 - found.conf_level
    ]
    if alone and not _off(found):
        one = len(alone) == 1
        said.append(
            f"{'One gap looks' if one else f'{len(alone)} gaps look'} real alone ({and_list(alone, _NAMED)}); "
            f"{'it does not survive' if one else 'none survives'} adjustment for {found.n_models} models"
        )
    return said


def _within(found: LabLiveGap) -> list[str]:
    """Say how lab and live differ within the same scenario."""
    parts = found.decomposition
    if parts is None or parts.overall.behaviour.conf_low is None or parts.overall.behaviour.estimate is None:
        return []
    part, estimate = parts.overall.behaviour, parts.overall.behaviour.estimate or 0.0
    where = f"Within the same {' and '.join(parts.factors)}"
    if part.excludes_zero:
        how = "above" if estimate > 0 else "below"
        amount = size_text(estimate, found, metric_side(found))
        ends = ends_text(part.ends, found, metric_side(found))
        return [f"{where}, live scores lie {amount} {how} the lab's ({ends})"]
    most = max(abs(part.conf_low or 0.0), abs(part.conf_high or 0.0))
    about = points(most, found, metric_side(found))
    return [f"{where}, lab and live agree to within about {about} ({told(part, found, metric_side(found))})"]


def _level_beside(found: LabLiveGap) -> list[str]:
    """Say what the level is where the number of the answer is another."""
    row = found.level
    if row is None or (_level_is_off(found) and not _off(found)):
        return []
    value, ends = printed(row.estimate, found), printed_ends(row.ends, found)
    return [f"Live minus lab is {difference_text(value, found)} on average over models ({ends_text(ends, found)})"]


def models_table(found: LabLiveGap) -> Table:
    """One line for each model, the best live first: both scores, and the gap from the line or the plain difference."""
    lab, live = found.lab, found.live
    by_line = any(row.estimate is not None for row in found.rows)
    by_difference = not by_line and any(row.difference is not None for row in found.rows)
    columns: list[Column] = [
        Column(title="Model", kind="name"),
        score_column(found, lab, titled("Lab", score_unit(lab))),
        score_column(found, live, titled("Live", score_unit(live))),
    ]
    if by_line or by_difference:
        columns += [
            difference_column(found, live, "Gap" if by_line else "Difference"),
            ends_column(found, live),
            Column(title="Verdict", kind="verdict"),
        ]
    elif "none" not in (lab.errors, live.errors):
        columns += [ends_column(found, lab, "Lab CI", sign=False), ends_column(found, live, "Live CI", sign=False)]
    return Table(
        id="scores",
        columns=tuple(columns),
        rows=tuple(_model_cells(row, len(columns), by_line=by_line) for row in found.rows),
        caption=_models_caption(found, by_line=by_line, by_difference=by_difference),
        tones=TONES,
        most=MOST_ROWS,
        frame=found.to_frame().to_dict(as_series=False),
    )


def _model_cells(
    row: GapRow, n: int, *, by_line: bool
) -> tuple[str | float | tuple[float | None, float | None] | None, ...]:
    own = (row.name, row.lab, row.live)
    if n == len(own):
        return own
    if n == len(own) + 2:
        return (*own, (row.lab_low, row.lab_high), (row.live_low, row.live_high))
    if by_line:
        return (*own, row.estimate, row.deciding, verdict_words(row.verdict))
    ends = None if row.difference_low is None else (row.difference_low, row.difference_high)
    return (*own, row.difference, ends, verdict_words(row.difference_verdict or "invalid"))


def _models_caption(found: LabLiveGap, *, by_line: bool, by_difference: bool) -> str:
    more = found.live.higher_is_better
    if by_line:
        expected = "what the lab score leads to expect by the line through the other models"
        gap = f"live minus {expected}" if more else f"{expected}, minus live"
        return f"The best live first. Gap: {gap}; verdicts are adjusted"
    if by_difference:
        return f"The best live first. Difference: {'live minus lab' if more else 'lab minus live, so that above 0 is better'}"
    return "The best live first"


# --- what to do ---


def actions(found: LabLiveGap) -> list[str]:
    """Return at most five things to do, each with the number that it rests on."""
    makers: tuple[Callable[[LabLiveGap], str], ...] = (_distrust, _weigh, _ranks, _add, _more_data)
    return [text for text in (make(found) for make in makers) if text][:_MOST_ACTIONS]


def _distrust(found: LabLiveGap) -> str:
    rows = _off(found)
    if not rows:
        return ""
    if len(rows) == 1:
        gap = f"{difference_text(rows[0].estimate, found)} ({ends_text(rows[0].deciding, found)})"
        doubt = "; the line is drawn out to it, so this gap may be the line's" if rows[0].extrapolated else ""
        return f"Do not rely on the lab score of {rows[0].name}: its gap is {gap}{doubt}"
    listed = "; ".join(
        f"{row.name} {difference_text(row.estimate, found)} ({ends_text(row.deciding, found)})" for row in rows[:_NAMED]
    )
    out = [row.name for row in rows if row.extrapolated]
    doubt = f". The line is drawn out to {and_list(out)}, so such a gap may be the line's" if out else ""
    more = f"; {len(rows) - _NAMED} more are in the table" if len(rows) > _NAMED else ""
    return f"Do not rely on the lab scores of these models: {listed}{more}{doubt}"


def _weigh(found: LabLiveGap) -> str:
    parts, side = found.decomposition, metric_side(found)
    if parts is None or parts.overall.poststratified is None:
        if not _level_is_off(found) or found.level is None:
            return ""
        low = printed(found.level.estimate, found) > 0
        return f"Read lab scores as {points(found.level.estimate, found)} too {'low' if low else 'high'} on average"
    row, weighted = parts.overall, parts.overall.poststratified
    if row.mix.conf_low is not None and not row.mix.excludes_zero:
        if not row.behaviour.excludes_zero:
            return ""
        rest = told(row.behaviour, found, side)
        return f"Do not expect re-weighting the lab to close the gap: within the same tasks live differs by {rest}"
    if row.mix.conf_low is None and _holds(weighted.ends, row.lab.estimate):
        return ""
    said = f"Weight the lab to the live mix before comparing levels: it then says {score_text(weighted.estimate, found, side)}"
    said += f" instead of {score_text(row.lab.estimate, found, side)}"
    if row.behaviour.excludes_zero:
        amount, ends = difference_text(row.behaviour.estimate, found, side), ends_text(row.behaviour.ends, found, side)
        said += f"; within the same tasks {amount} remain ({ends})"
    return said


def _holds(ends: tuple[float | None, float | None] | None, value: float | None) -> bool:
    """Whether an interval holds a value, or is not there to tell."""
    if ends is None or ends[0] is None or ends[1] is None or value is None:
        return True
    return ends[0] <= value <= ends[1]


def _ranks(found: LabLiveGap) -> str:
    """Say whether lab ranks can be used among the best models live."""
    if "none" in (found.lab.errors, found.live.errors):
        return ""  # an interval would know half of the noise at most, and look surer than it is
    rows = [row for row in found.agreement.parts if row.kind == "top" and part_ends(row) is not None]
    weak = [row for row in rows if row.conf_low is not None and row.conf_low <= 0]
    if weak:
        return f"Do not choose among the {part_label(weak[0])} by lab rank: {_spearman(weak[0])}"
    if not rows:
        return ""
    row = min(rows, key=lambda each: each.n_models)
    if row.conf_low is not None and row.conf_low >= USABLE:
        return f"Among the {part_label(row)} the lab's order is usable: {_spearman(row)}"
    return f"Do not rely on the lab's order alone among the {part_label(row)}: {_spearman(row)}"


def _spearman(row: PartRow) -> str:
    ends = part_ends(row)
    words = "" if ends is None else f" ({interval_words(*ends, digits=2)})"
    return f"Spearman within them is {number(row.spearman)}{words}"


def _add(found: LabLiveGap) -> str:
    """Say which scenarios the lab needs items of, else where it predicts worst."""
    none, thin = uncovered(found)
    if none:
        total = share(sum(cell.live_share for cell in none))
        return f"Add lab items of {cell_names(none)}: {total} of live use falls where the lab has none"
    if thin:
        return f"Add lab items of {cell_names(thin)}: fewer than ten hardly tell a rate"
    gaps = found.scenario_gaps
    worst = [] if gaps is None else [row for row in gaps.means if row.verdict == "gap"]
    if not worst:
        return ""
    row = max(worst, key=lambda each: abs(each.estimate or 0.0))
    amount, ends = difference_text(row.estimate, found), ends_text(row.deciding, found)
    return f"Look at {row.scenario} first: live minus lab is {amount} ({ends})"


def _more_data(found: LabLiveGap) -> str:
    """Say what more data would show: which side is noisier, or that models differ by more than noise."""
    without = [name for name, side in (("lab", found.lab), ("live", found.live)) if side.errors == "none"]
    if without:
        return f"Get standard errors of the {' and '.join(without)} scores: without them no gap can be told from noise"
    line = found.line
    if found.n_models < _FEWEST:
        more = plural(_FEWEST - found.n_models, "further model")
        return f"Score {more} on both sides: a line through the models needs {_FEWEST}"
    if line is None or line.detectable is None or found.lab.noise is None or found.live.noise is None:
        return ""
    lab, live = abs(line.slope) * found.lab.noise, found.live.noise
    seen = f"one of {size_text(line.detectable, found)} would have been detected with 80% probability"
    if line.tau_low > 0 and line.tau**2 > lab**2 + live**2:
        return (
            f"Do not expect more data to show smaller gaps: true gaps spread by {spread_text(line.tau, found)} between models, "
            f"and {seen}"
        )
    return f"To see gaps below {size_text(line.detectable, found)}, get more {'lab items' if lab > live else 'live data'} first"
