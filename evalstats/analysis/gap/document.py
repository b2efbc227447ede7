"""What is said of lab against live: does the lab order models as users do, is its level right, why not, and how it was asked."""

from collections.abc import Callable, Sequence
from typing import Literal

from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.gap import figures
from evalstats.analysis.gap.evidence import evidence
from evalstats.analysis.gap.result import CalibrationLine, GapRow, LabLiveGap, SideAccount
from evalstats.analysis.gap.shown import (
    TONES,
    Ends,
    ShownSide,
    apart,
    cell_names,
    flagged,
    of_parts,
    part_label,
    printed,
    printed_ends,
    share,
    spearman_words,
    standing_out,
    uncovered,
    verdict_words,
)
from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.result import level
from evalstats.document.model import (
    Column,
    Document,
    Interval,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    listed,
    sentence,
)
from evalstats.document.names import named
from evalstats.document.numbers import declared, interval_words, number, p_words, titled
from evalstats.grammar import and_list, conjugate, plural, plural_of

Order = Literal["well", "fairly well", "weakly", "open", "reversed", "unknown"]
MOST_ROWS = 20
_MOST_ACTIONS = 5
_NAMED = 3
_FEWEST = 6  # models for a line
_GOOD, _FAIR = 0.8, 0.5  # of Spearman's coefficient
_USABLE = 0.7  # leaves about one pair of four the other way round
_ORDERS: dict[Order, str] = {
    "open": "The lab is not shown to order models as live users do",
    "reversed": "The lab orders models the other way round than live users",
    "unknown": "Lab and live cannot be compared",
}
_LABELS: dict[Order, str] = {"well": "right order", "fairly well": "fair order", "weakly": "weak order"}


def document(found: LabLiveGap) -> Document:
    """Return what is said of lab against live."""
    lab, live = found.lab.about, found.live.about
    label, tone = _label(found)
    shown, words, drawn = _number(found)
    sides = "; ".join(f"{name}: {_rests_on(side)}" for name, side in (("lab", found.lab), ("live", found.live)))
    margin = "" if found.margin is None else f"; verdicts by the margin of {_margin_words(found)}"
    said = _sentences(found)
    return Document(
        kind="lab-live",
        title=f"Do lab scores on {lab.benchmark} predict live scores on {live.benchmark}?"
        if lab.benchmark and live.benchmark
        else "Does the lab predict the live world?",
        label=label,
        tone=tone,
        headline="; ".join((_headline(found), *asked_direction(lab.direction, live.direction))),
        number=shown,
        number_words=words,
        interval=drawn,
        scope=f"{plural(found.n_models, 'model')} on both sides; {sides}{margin}",
        answer=(
            figures.scores(found, models_table(found)),
            *([Text(text=" ".join(map(sentence, said)))] if said else []),
        ),
        notes=found.notes,
        actions=tuple(actions(found)),
        evidence=tuple(evidence(found)),
        method=tuple(method(found)),
    )


# --- the headline ---


def order_of(found: LabLiveGap) -> Order:
    """Return how well the lab orders models, as far as the interval for models like these (else these) shows it."""
    row = found.agreement.of("spearman")
    if row.estimate is None:
        return "unknown"
    each = row.like_these or row.of_these
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
    clauses = _clauses(found)
    aside = f" (Spearman {number(row.estimate)})" if clauses and (_off(found) or _level_is_off(found)) else ""
    said = f"{_ORDERS.get(order, f'The lab orders models {order}')}{aside}"
    if found.verdict == "invalid":
        return f"{said}; no gap can be judged"
    if clauses:
        return f"{said} {'but' if order in _LABELS else 'and'} {' and '.join(clauses)}"
    beyond = "" if found.margin is None else f" beyond the margin of {_margin_words(found)}"
    return f"{said}; no gap{beyond} is shown" if order in _LABELS else said


def _margin_words(found: LabLiveGap) -> str:
    """Write the margin as it was declared, without digits that nobody gave."""
    return f"{declared(found.margin or 0.0, found.live.about.scale)} {ShownSide(found, found.live).step}".rstrip()


def _clauses(found: LabLiveGap) -> list[str]:
    """Say which models the lab reads wrong, and whether it reads low or high on average."""
    rows, clauses = _off(found), list[str]()
    if not rows and found.verdict == "gap" and not _level_is_off(found):
        others = apart(found)
        clauses += [f"reads {len(others)} of {found.n_models} models wrong"] if others else []
    elif len(rows) > _NAMED:
        clauses.append(f"misjudges {len(rows)} of {found.n_models} models")
    else:
        over = [named(row.name) for row in rows if (row.estimate or 0.0) < 0]
        under = [named(row.name) for row in rows if (row.estimate or 0.0) > 0]
        clauses += [
            f"{verb} {and_list(names)}" for verb, names in (("overrates", over), ("underrates", under)) if names
        ]
    if _level_is_off(found) and found.level is not None:
        how = "low" if printed(found.level.estimate, found) > 0 else "high"
        said, because = f"reads {ShownSide(found, found.live).points(found.level.estimate)} {how}", _because(found)
        clauses.append(f"{said}, {because}" if because and not rows else said)
    return clauses


def _because(found: LabLiveGap) -> str:
    """Say whether other tasks, or other scores on the same tasks, make at least half of the level; "" where neither does."""
    parts = found.decomposition
    if parts is None:
        return ""
    row, total = parts.overall, parts.overall.total.estimate or 0.0
    first = max((row.mix, row.behaviour), key=lambda part: (part.estimate or 0.0) * total)
    if not first.excludes_zero or (first.estimate or 0.0) * total < 0.5 * total**2:
        return ""
    better = ((first.estimate or 0.0) > 0) == found.live.about.higher_is_better
    if first is row.mix:
        return f"because live users bring {'easier' if better else 'harder'} tasks"
    return f"because models do {'better' if better else 'worse'} on the same tasks"


def _mix_explains(found: LabLiveGap) -> bool:
    """Whether the mix explains the level, and nothing is shown to be left within the same tasks."""
    parts = found.decomposition
    if parts is None or parts.overall.behaviour.conf_low is None:
        return False
    mix, total = parts.overall.mix.estimate or 0.0, parts.overall.total.estimate or 0.0
    most = mix * total > 0 and abs(mix) >= 0.5 * abs(total)
    return most and parts.overall.mix.excludes_zero and not parts.overall.behaviour.excludes_zero


def _drawn(value: float, ends: Ends, found: LabLiveGap) -> Interval | None:
    about = found.live.about
    return drawn_interval(
        value,
        ends,
        scale=about.scale,
        unit=about.shown_unit,
        origin=0.0,
        margin=found.margin or 0.0,
        conf_level=found.conf_level,
    )


def _number(found: LabLiveGap) -> tuple[str, str, Interval | None]:
    """Return the number that the headline is about, and the words below it."""
    rows, live = _off(found), ShownSide(found, found.live)
    if found.verdict == "aligned":
        return f"{found.n_models} of {found.n_models} models", "within the margin", None
    if len(rows) == 1:
        row = rows[0]
        value, ends = printed(row.estimate or 0.0, found), printed_ends(row.deciding, found)
        words = f"{row.name}, live minus expected, {live.ends(ends)}"
        return live.difference(value), words, _drawn(value, ends, found)
    if rows:
        return f"{len(rows)} of {found.n_models} models", "off the line through the others", None
    if _level_is_off(found) and found.level is not None:
        value, ends = printed(found.level.estimate, found), printed_ends(found.level.ends, found)
        return live.difference(value), f"live minus lab, {live.ends(ends)}", _drawn(value, ends, found)
    row = found.agreement.of("spearman")
    if row.estimate is None:
        return "", "", None
    of = row.like_these or row.of_these
    drawn = drawn_interval(
        row.estimate,
        None if of is None else (of.conf_low, of.conf_high),
        digits=2,
        origin=0.0,
        bounds=(-1.0, 1.0),
        conf_level=found.conf_level,
    )
    return f"Spearman {number(row.estimate)}", spearman_words(found), drawn


def _rests_on(side: SideAccount) -> str:
    if side.kind == "aggregates" or side.n_units is None:
        return "published numbers" + (" without errors" if side.errors == "none" else "")
    counted = f"{side.n_units:,} {side.unit_word}"
    if side.n_clusters and side.clusters and side.n_clusters != side.n_units:
        return f"{counted} in {side.n_clusters:,} {plural_of(side.clusters[0])}"
    return counted


# --- the answer ---


def _sentences(found: LabLiveGap) -> list[str]:
    """Say in two sentences what stands behind the headline."""
    apart_alone = flagged(found) or (found.level is not None and found.level.verdict == "gap")
    if found.verdict == "invalid" or (found.verdict == "inconclusive" and apart_alone):
        return [found.verdict_reason]
    live = ShownSide(found, found.live)
    said = _within(found)
    if not said and found.level is not None and (_off(found) or not _level_is_off(found)):
        value, ends = printed(found.level.estimate, found), printed_ends(found.level.ends, found)
        said = [f"Live minus lab is {live.difference(value)} on average over models ({live.ends(ends)})"]
    if rows := standing_out(found):
        sizes = [f"{named(row.name)} ({live.difference(row.estimate)})" for row in rows]
        said.append(f"{and_list(sizes, _NAMED)} {conjugate(len(rows), 'stand')} out, but {rows[0].reason}")
    limit = 1 - found.conf_level
    alone = [named(row.name) for row in found.rows if (row.p_value or 1.0) <= limit < (row.p_adjusted or 0.0)]
    if alone:
        looks, do = ("gap looks", "does") if len(alone) == 1 else ("gaps look", "do")
        among = f"{do} not stand out among {found.n_models} models"
        said.append(f"{len(alone)} {looks} real alone ({and_list(alone, _NAMED)}) but {among}")
    return said


def _within(found: LabLiveGap) -> list[str]:
    """Say how lab and live differ within the same scenario."""
    parts = found.decomposition
    if parts is None or parts.overall.behaviour.conf_low is None or parts.overall.behaviour.estimate is None:
        return []
    part, estimate, shown = parts.overall.behaviour, parts.overall.behaviour.estimate or 0.0, of_parts(found)
    where = f"Within the same {' and '.join(parts.factors)}"
    if part.excludes_zero:
        how = "above" if estimate > 0 else "below"
        return [f"{where}, live scores lie {shown.size(estimate)} {how} the lab's ({shown.ends(part.ends)})"]
    most = max(abs(part.conf_low or 0.0), abs(part.conf_high or 0.0))
    return [f"{where}, lab and live agree to within about {shown.points(most)} ({shown.estimate(part)})"]


def models_table(found: LabLiveGap) -> Table:
    """One line for each model, the best live first: both scores, and the gap from the line or the plain difference."""
    lab, live = ShownSide(found, found.lab), ShownSide(found, found.live)
    by_line = any(row.estimate is not None for row in found.rows)
    by_difference = not by_line and any(row.difference is not None for row in found.rows)
    columns = [
        Column(title="Model", kind="name"),
        lab.scores(titled("Lab", lab.unit)),
        live.scores(titled("Live", live.unit)),
    ]
    more, caption = found.live.about.higher_is_better, "Best live first"
    if by_line or by_difference:
        columns += [
            live.differences(("Live minus expected" if more else "Expected minus live") if by_line else "Difference"),
            live.intervals(),
            Column(title="Verdict", kind="verdict"),
        ]
    elif "none" not in (found.lab.errors, found.live.errors):
        columns += [lab.intervals("Lab CI", sign=False), live.intervals("Live CI", sign=False)]
    if by_line:
        expected = "what the line through the other models predicts"
        caption += f". Expected: {expected}; verdicts are adjusted"
    elif by_difference:
        caption += f". Difference: {'live minus lab' if more else 'lab minus live, so that above 0 is better'}"

    def cells(row: GapRow) -> tuple[str | float | tuple[float | None, float | None] | None, ...]:
        if by_line:
            verdict = "material gap" if row.material else verdict_words(row.verdict)
            own = (row.estimate, row.deciding, verdict)
        elif by_difference:
            ends = None if row.difference_low is None else (row.difference_low, row.difference_high)
            own = (row.difference, ends, verdict_words(row.difference_verdict or "invalid"))
        else:
            own = ((row.lab_low, row.lab_high), (row.live_low, row.live_high))
        return (row.name, row.lab, row.live, *own)[: len(columns)]

    return Table(
        id="scores",
        columns=tuple(columns),
        rows=tuple(map(cells, found.rows)),
        caption=caption,
        tones=TONES,
        most=MOST_ROWS,
        frame=found.to_frame().to_dict(as_series=False),
    )


# --- what to do ---


def actions(found: LabLiveGap) -> list[str]:
    """Return at most five things to do, each with the number that it rests on."""
    makers: tuple[Callable[[LabLiveGap], str], ...] = (_distrust, _weigh, _ranks, _add, _more_data)
    return [text for text in (make(found) for make in makers) if text][:_MOST_ACTIONS]


def _distrust(found: LabLiveGap) -> str:
    rows, live = _off(found), ShownSide(found, found.live)
    if not rows:
        return ""
    gaps = [f"{named(row.name)} (gap {live.difference(row.estimate)}, {live.ends(row.deciding)})" for row in rows]
    gaps = gaps if len(rows) > 1 else [named(rows[0].name)]  # whose gap is the number of the card
    out = [named(row.name) for row in rows if row.extrapolated]
    doubt = f". The line is drawn out to {and_list(out, _NAMED)}, so such a gap may be the line's" if out else ""
    scores = "score" if len(rows) == 1 else "scores"
    return f"Do not rely on the lab {scores} of {and_list(gaps, _NAMED)}{doubt}"


def _weigh(found: LabLiveGap) -> str:
    parts, shown = found.decomposition, of_parts(found)
    if parts is None or parts.overall.poststratified is None:
        if not _level_is_off(found) or found.level is None:
            return ""
        low = printed(found.level.estimate, found) > 0
        points = ShownSide(found, found.live).points(found.level.estimate)
        return f"Read lab scores as {points} too {'low' if low else 'high'} on average"
    row, weighted = parts.overall, parts.overall.poststratified
    behaviour = row.behaviour
    if row.mix.conf_low is not None and not row.mix.excludes_zero:
        if not behaviour.excludes_zero:
            return ""
        rest = shown.estimate(behaviour)
        return f"Do not expect re-weighting the lab to close the gap: within the same tasks live differs by {rest}"
    low, high, own = weighted.conf_low, weighted.conf_high, row.lab.estimate
    if row.mix.conf_low is None and (low is None or high is None or own is None or low <= own <= high):
        return ""
    said = f"Weight the lab to the live mix before comparing levels: it then reads {shown.score(weighted.estimate)}"
    return f"{said} instead of {shown.score(row.lab.estimate)}"


def _ranks(found: LabLiveGap) -> str:
    """Say whether lab ranks can be used among the best models live."""
    if "none" in (found.lab.errors, found.live.errors):
        return ""  # an interval would know half of the noise at most, and look surer than it is
    rows = [(row, row.ends) for row in found.agreement.parts if row.kind == "top" and row.ends is not None]
    if not rows:
        return ""
    weak = [each for each in rows if each[1][0] <= 0]
    row, ends = weak[0] if weak else min(rows, key=lambda each: each[0].n_models)
    said = f"Do not rely on the lab's order alone among the {part_label(row)}"
    if weak:
        said = f"Do not choose among the {part_label(row)} by lab rank"
    elif ends[0] >= _USABLE:
        said = f"Among the {part_label(row)} the lab's order is usable"
    return f"{said}: Spearman within them is {number(row.spearman)} ({interval_words(*ends, digits=2)})"


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
    live = ShownSide(found, found.live)
    amount, ends = live.difference(row.estimate), live.ends(row.deciding)
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
    lab, live, shown = abs(line.slope) * found.lab.noise, found.live.noise, ShownSide(found, found.live)
    if line.tau_low > 0 and line.tau**2 > lab**2 + live**2:  # then more data would show no smaller gap
        return ""
    return f"To detect gaps below {shown.size(line.detectable)}, get more {'lab items' if lab > live else 'live data'} first"


# --- the method ---


_KINDS = {"outcomes": "outcomes", "comparisons": "votes", "aggregates": "published numbers"}
_LAYERS = {
    "calibrated gap": "gaps by a line through the other models",
    "decomposition": "what is mix and what is behaviour",
}


def method(found: LabLiveGap) -> list[Section]:
    """Return the parts on the method."""
    named = {name: known_methods()[name] for name in _used(found)}
    texts = list(named.values())
    # Methods have names of ours.
    how = [f"{name[:1].upper()}{name[1:]}: {text.how}" for name, text in named.items()]
    references = dict.fromkeys(source for text in texts for source in text.sources)
    pairs = [f"{lab} is {live}" for lab, live in found.joined_by_alias]
    joined = [f"Joined by aliases, the lab's name first: {and_list(pairs, 6)}"] if pairs else []
    left_out = grouped([(reason, _LAYERS.get(layer, layer)) for layer, reason in found.left_out])
    unanswered = [f"{and_list(names, len(names)).capitalize()}: {reason}" for reason, names in left_out]
    sections = (
        ("method", "How it was computed", (f"Estimated: {found.estimand}", *how)),
        ("assumptions", "What this assumes", (*(text.takes for text in texts), *_errors(found))),
        ("unanswered", "What these data cannot answer", unanswered),
        ("sides", "The two sides", (_side(found.lab, "Lab"), _side(found.live, "Live"), *joined)),
        ("fine-print", "Fine print of the parts", _fine_print(found)),
        ("references", "References", tuple(references)),
    )
    made = [listed(name, heading, items) for name, heading, items in sections if any(items)]
    return [
        *made[:2],
        *_line(found),
        *_pairs(found),
        *made[2:],
        found.origin.section(),
    ]


def grouped(found: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Collect names under the same reason, in the order of their first appearance.

    >>> grouped([("too few", "a"), ("no error", "b"), ("too few", "c")])
    [('too few', ['a', 'c']), ('no error', ['b'])]
    """
    collected: dict[str, list[str]] = {}
    for reason, name in found:
        collected.setdefault(reason.rstrip("."), []).append(name)
    return list(collected.items())


def _used(found: LabLiveGap) -> list[str]:
    """Return the methods of this result."""
    parts = found.decomposition
    used = {
        "rank and product-moment correlation": found.agreement.of("spearman").estimate is not None,
        "York's line": found.line is not None,
        "each model against the line of the others": found.line is not None,
        "false-coverage intervals": found.line is not None or found.level is not None,
        "differences of scores": found.line is None and found.level is not None,
        "mean over models of live minus lab": found.level is not None,
        "Kitagawa": parts is not None and parts.overall.total.conf_low is not None,
        "lab items weighted to the live mix": parts is not None and parts.weighting is not None,
        "One model of both sides": found.hierarchy is not None,
    }
    return [name for name, is_used in used.items() if is_used]


def _errors(found: LabLiveGap) -> list[str]:
    """Say which errors are not known, and what follows from that."""
    sides = (("lab", found.lab), ("live", found.live))
    none = [name for name, side in sides if side.errors == "none"]
    marginal = [name for name, side in sides if side.errors == "marginal"]
    said = (
        [f"The {' and '.join(none)} scores have no standard errors, so how noisy they are is unknown."] if none else []
    )
    if marginal:
        said.append(
            f"Of the {' and '.join(marginal)} scores only published standard errors are known, not what the models share: noise "
            "is an upper bound, flags and the interval of the mean difference are conservative, and the ceiling is a lower bound."
        )
    return said


# --- the line ---


def _line(found: LabLiveGap) -> list[Section]:
    line = found.line
    if line is None:
        return []
    live, lab = ShownSide(found, found.live), ShownSide(found, found.lab)
    # What to multiply a slope with to be in shown units, and the words for one step in the lab.
    of_live, of_lab = (1.0 if each.side.link == "logit" else each.side.about.scale for each in (live, lab))
    ratio = 1.0 if found.same_scale else of_live / of_lab
    unit = "logits" if found.live.link == "logit" else live.step or "points"
    own = lab.step or ("point" if found.same_scale else f"point of {found.lab.about.name}")
    per = f"{unit} for each {f'logit of {found.lab.about.name}' if found.lab.link == 'logit' else own} in the lab"
    low, high = ("without end" if end is None else number(end * ratio) for end in (line.slope_low, line.slope_high))
    one_to_one = ""
    if found.same_scale and line.slope_low is not None and line.slope_high is not None:
        if line.slope_high < 1:
            one_to_one = ", so the lab exaggerates differences between models"
        elif line.slope_low > 1:
            one_to_one = ", so the lab understates differences between models"
    spread = f"True gaps {f'spread by {live.spread(line.tau)}' if line.tau else 'show no spread'} beyond noise"
    most = "open above" if line.tau_high is None else f"at most {live.spread(line.tau_high)}"
    items = [
        *([f"Shares enter as logits: {found.scale_reason}."] if found.scale_reason else []),
        f"Live changes by {number(line.slope * ratio)} {per} ({level(found)} CI {low} to {high}){one_to_one}.",
        f"{spread} ({most}); test of no spread: chi-squared {number(line.statistic, 1)}, {line.df} df, {p_words(line.p_value)}.",
    ]
    blocks = (Items(items=tuple(items)), *((_other_lines(found, line, ratio),) if line.others else ()))
    return [Section(id="line", heading="The line from lab to live, and other lines", blocks=blocks)]


def _other_lines(found: LabLiveGap, line: CalibrationLine, ratio: float) -> Table:
    beyond = sum(row.p_value is not None and row.p_value <= 1 - found.conf_level for row in found.rows)
    linked, live = found.live.link == "logit", ShownSide(found, found.live)
    digits, scale = (2, 1.0) if linked else (live.digits, found.live.about.scale)
    rows = [("York, which is used", line.slope * ratio, line.intercept, beyond, "")]
    rows += [(each.title, each.slope * ratio, each.intercept, each.n_beyond, each.why) for each in line.others]
    names = ("line", "slope", "intercept", "n_beyond", "why")
    return Table(
        id="lines",
        columns=(
            Column(title="Line"),
            Column(title="Slope", kind="number", digits=2),
            Column(title="Intercept", kind="number", digits=digits, scale=scale),
            Column(title="Models beyond", kind="count"),
        ),
        rows=tuple(row[:4] for row in rows),
        caption=f"Models beyond: gaps that each line would call significant at {level(found)}, one by one",
        frame={name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)},
    )


def _pairs(found: LabLiveGap) -> list[Section]:
    """Return further measures of the order of pairs."""
    pairs = found.agreement.pairs
    if pairs is None:
        return []

    def ends(low: float | None, high: float | None, scale: float = 1.0) -> str:
        return (
            ""
            if None in (low, high)
            else f", {level(found)} CI {interval_words(low, high, scale, 0 if scale > 1 else 2)}"
        )

    said = [f"Pairs in the same order: {share(pairs.agreement)}{ends(pairs.agreement_low, pairs.agreement_high, 100)}."]
    if pairs.separability_lab is not None and pairs.separability_live is not None:
        said.append(
            f"Separability of pairs: {share(pairs.separability_lab)} in the lab, {share(pairs.separability_live)} live."
        )
    if pairs.confidence_agreement is not None:
        said.append(
            "Agreement with confidence (+1 both sides sure and alike, −1 opposed, 0 else): "
            f"{number(pairs.confidence_agreement)}{ends(pairs.confidence_low, pairs.confidence_high)}."
        )
    if pairs.brier is not None:
        brier = f"{number(pairs.brier.estimate)}{ends(pairs.brier.conf_low, pairs.brier.conf_high)}"
        said.append(f"Brier score of the lab's odds for the live order (a coin: 0.25): {brier}.")
    return [listed("measures", "Further measures of the order", said)]


# --- the data ---


def _side(side: SideAccount, name: str) -> str:
    about = side.about
    said = [
        f"{name}: {_KINDS[side.kind]} of {about.benchmark}, {about.name}{'' if about.higher_is_better else ' (lower is better)'}",
        plural(side.n_models, "model"),
        f"{side.n_units:,} {side.unit_word}" if side.n_units and side.unit_word != "units" else "",
        f"clustered by {' and '.join(side.clusters)} ({side.n_clusters:,})"
        if side.clusters and side.n_clusters
        else "",
        " to ".join(dict.fromkeys(day for day in (side.first_day, side.last_day) if day)) or "undated",
        side.method,
        "" if side.reliability is None else f"{share(side.reliability)} of the variance between models is not noise",
        f"only here: {and_list(side.only_here)}" if side.only_here else "",
    ]
    return "; ".join(filter(None, said))


def _fine_print(found: LabLiveGap) -> list[str]:
    """Return what limits single parts, each once."""
    layers = (
        ("Mix and behaviour", found.decomposition),
        ("By scenario", found.scenario_gaps),
        ("Forecasts", found.hierarchy),
    )
    said = [f"{name}: {note.text}" for name, layer in layers if layer is not None for note in layer.notes]
    if found.decomposition is not None and found.decomposition.mix_source != "counted in the live data":
        said.append(f"The live mix: {found.decomposition.mix_source}")
    if found.hierarchy is not None:
        said.append(f"Priors of the forecasts: {found.hierarchy.priors}")
        ratios = [ratio for _, ratio in found.hierarchy.sensitivity]
        ends = f"{number(min(ratios))} to {number(max(ratios))}"
        said.append(f"Under other priors, a typical prediction interval is {ends} times as wide")
    reasons = grouped(
        [
            (each.reason, "models like these" if each.source in {"all", "models"} else "these models")
            for row in found.agreement.coefficients
            for each in row.intervals
            if each.reason
        ]
    )
    return said + [f"No interval for {and_list(list(dict.fromkeys(whom)))}: {reason}" for reason, whom in reasons]
