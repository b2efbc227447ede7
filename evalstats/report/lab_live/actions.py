"""What the answer means for whoever decides: at most five things to do, each with the numbers that it rests on."""

from collections.abc import Callable

from evalstats.analysis.gap.layers import CellPart, Part, PartRow
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_headline import level_told
from evalstats.analysis.gaps.wording_models import gap_interval
from evalstats.analysis.gaps.wording_parts import scenario_ends
from evalstats.analysis.gaps.words import (
    apart,
    capital,
    caveat,
    coefficient,
    flagged,
    found_size,
    gap_ends,
    gap_text,
    gap_unit,
    gap_words,
    is_share,
    metric_side,
    part_ends,
    part_interval,
    part_text,
    share,
    size_text,
    some,
    stopped,
)
from evalstats.document.numbers import number, plural
from evalstats.report.lab_live.action import Action
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import bullets, prose, section

MOST = 5
_NAMED = 3
_FEWEST = 6
_USABLE = 0.7  # a Spearman of .7 leaves about one pair of four the other way round


def what_this_means(page: LabLivePage) -> str:
    """Return the section of what can be acted on."""
    said = [f"**{prose(each.do)}** {prose(each.why)}" for each in actions(page.found)]
    return section("What this means", bullets(said), level=2) if said else ""


def actions(found: LabLiveGap) -> list[Action]:
    """Return at most five things that a lead can act on."""
    makers: tuple[Callable[[LabLiveGap], Action | None], ...] = (
        whom_to_distrust,
        what_weights_repair,
        use_of_ranks,
        what_to_add,
        what_data,
    )
    made = [make(found) for make in makers]
    return [each for each in made if each is not None][:MOST]


# --- models ---


def whom_to_distrust(found: LabLiveGap) -> Action | None:
    """Name the models whose lab score must not be read as it stands; else say how large a gap would have shown."""
    rows = flagged(found)
    if rows:
        told = "; ".join(f"{row.name} {gap_text(row.gap, found)} {gap_interval(row, found)}" for row in rows[:_NAMED])
        rest = f"; {len(rows) - _NAMED} more are in the table" if len(rows) > _NAMED else ""
        scores = "score" if len(rows) == 1 else "scores"
        weak = caveat(rows, found)
        doubt = f"{capital(weak)}: such a gap may be the line's. " if weak else ""
        return Action(
            f"Do not rely on the lab {scores} of {some([row.name for row in rows], _NAMED)}.",
            f"{capital(gap_words(found))}: {told}{rest}. {doubt}For the others the lab is not shown to mislead.",
        )
    others = apart(found)
    if found.line is None and others:
        row = others[0]
        differ = f"{len(others)} of {plural(found.n_models, 'model')} {'differs' if len(others) == 1 else 'differ'}"
        ends = gap_ends(row.difference_low, row.difference_high, found)
        return Action(
            "Do not read lab scores as live ones.",
            f"{differ}, most of all {row.name} ({gap_text(row.difference, found)} {ends}).",
        )
    if found.line is None or found.line.detectable is None:
        return None
    return Action(
        "Single out no model.",
        f"None of the {found.n_models} is shown to stand out from what the lab leads to expect, which does not say that none "
        "does.",
    )


# --- mix and level ---


def what_weights_repair(found: LabLiveGap) -> Action | None:
    """Say what part of the overall difference goes away when the lab is weighted to the live mix, and what stays."""
    parts = found.decomposition
    if parts is None:
        return _level(found)
    row = parts.overall
    weighted = "" if row.poststratified is None else _score(row.poststratified, found)
    plain = f"{part_text(row.lab, found, sign=False)}{_percent(found)}"
    do = "Weight the lab to the live mix before you compare levels."
    if not _known(row.mix):
        if row.poststratified is None or _holds(row.poststratified, row.lab.estimate):
            return None
        return Action(do, f"On average over models it then says {weighted} instead of {plain}.")
    mix = _difference(row.mix, found)
    if _without_zero(row.mix):
        why = f"Other scenarios account for {mix} of live less lab"
        why += f"; weighted, the lab says {weighted} instead of {plain}." if weighted else "."
    else:
        do = "Do not expect re-weighting the lab to close the gap."
        why = f"Other scenarios account for {mix} of live less lab."
    return Action(do, f"{why} {_stays(row.behaviour, found)}".strip())


def _stays(behaviour: Part, found: LabLiveGap) -> str:
    if not _known(behaviour):
        return ""
    stays = _difference(behaviour, found)
    if _without_zero(behaviour):
        return f"The rest, {stays}, is within the same scenarios, and no weighting repairs it."
    return f"That anything is left within the same scenarios is not shown ({stays})."


def _level(found: LabLiveGap) -> Action | None:
    row = found.level
    if row is None or row.verdict != "gap":
        return None
    how = "optimistic" if row.estimate < 0 else "pessimistic"
    return Action(f"Read lab scores as too {how} on average.", stopped(capital(level_told(found))))


def _score(part: Part, found: LabLiveGap) -> str:
    return f"{part_text(part, found, sign=False)}{_percent(found)} {part_ends(part, found, sign=False)}".removesuffix(
        " –"
    )


def _difference(part: Part, found: LabLiveGap) -> str:
    unit = gap_unit(metric_side(found))
    return f"{part_text(part, found)}{f' {unit}' if unit else ''} {part_ends(part, found)}"


def _percent(found: LabLiveGap) -> str:
    return "%" if is_share(metric_side(found)) else ""


def _known(part: Part) -> bool:
    return part.conf_low is not None and part.conf_high is not None


def _holds(part: Part, value: float | None) -> bool:
    """Whether an interval holds a value, or is not there to tell."""
    if part.conf_low is None or part.conf_high is None or value is None:
        return True
    return part.conf_low <= value <= part.conf_high


def _without_zero(part: Part) -> bool:
    return part.conf_low is not None and part.conf_high is not None and (part.conf_low > 0 or part.conf_high < 0)


# --- ranks ---


def use_of_ranks(found: LabLiveGap) -> Action | None:
    """Say whether lab ranks can be used among the best models live, and the surest pair of which they cannot."""
    if "none" in (found.lab.errors, found.live.errors):
        # An interval would know half of the noise at most, and look surer than it is.
        return _without_errors(found)
    rows = [row for row in found.agreement.parts if row.kind == "top" and part_interval(row)[0] is not None]
    turned = _turned(found)
    if not rows:
        return Action("Do not order all pairs of models by the lab.", turned) if turned else None
    weak = [row for row in rows if row.conf_low is not None and row.conf_low <= 0]
    if weak:
        do, row = f"Do not choose among the {weak[0].label} by lab rank.", weak[0]
    else:
        row = min(rows, key=lambda each: each.n_models)
        do = _use_within(row)
    told = f"{_within(row)} The lab alone does not say which models these are. {turned}"
    return Action(do, told.strip())


def _use_within(row: PartRow) -> str:
    """Say no more than the interval carries: above 0 is better than chance, and far above 0 is what an order needs."""
    if row.conf_low is not None and row.conf_low >= _USABLE:
        return f"Among these models, the {row.label}, the lab's order is usable."
    return f"Among the {row.label} do not rely on the lab's order alone: it is better than chance, and may still turn pairs."


def _without_errors(found: LabLiveGap) -> Action | None:
    """Say that agreement falls among the best, where it does, and that it cannot be told from noise."""
    whole = found.agreement.of("spearman").estimate
    rows = [row for row in found.agreement.parts if row.kind == "top" and row.spearman is not None]
    if whole is None or not rows:
        return None
    row = min(rows, key=lambda each: each.n_models)
    if row.spearman is None or row.spearman >= whole:
        return None
    return Action(
        "Do not carry the agreement over all models to the best of them.",
        f"Spearman is {number(whole)} over all {found.n_models} and {number(row.spearman)} within the {row.label}; how much of "
        "that is noise, nothing tells without standard errors.",
    )


def _within(row: PartRow) -> str:
    shared = (
        ""
        if row.n_shared is None
        else f"; {row.n_shared} of these {row.n_models} are among as many best in the lab "
        f"({number(row.n_shared_by_chance, 1)} by chance)"
    )
    return f"Spearman within them is {coefficient(row.spearman, *part_interval(row))} for these models{shared}."


def _turned(found: LabLiveGap) -> str:
    pairs = found.agreement.pairs
    if pairs is None or not pairs.n_contradicted or not pairs.contradictions:
        return ""
    first = min(pairs.contradictions, key=lambda each: max(each.lab_p_adjusted, each.live_p_adjusted))
    one = pairs.n_contradicted == 1
    return (
        f"In {plural(pairs.n_contradicted, 'pair')} of models each side is sure of another order: "
        f"{'' if one else 'most of all '}{first.better_live} is ahead of {first.better_lab} live, and behind in the lab."
    )


# --- scenarios ---


def what_to_add(found: LabLiveGap) -> Action | None:
    """Say which scenarios the lab needs items of, and where it predicts worst."""
    cells = [] if found.decomposition is None else sorted(found.decomposition.cells, key=lambda cell: -cell.live_share)
    none = [cell for cell in cells if cell.status == "lab never covers" and cell.live_share > 0]
    thin = [cell for cell in cells if cell.status == "thin" and cell.live_share > 0]
    worst = _worst(found)
    if none:
        total = share(sum(cell.live_share for cell in none), 1)
        more = f" It has fewer than ten of {_cells(thin)}." if thin else ""
        why = f"It has none, and {total} of live use falls there.{more} {worst}"
        return Action(f"Add lab items of {_cells(none)}.", why.strip())
    if thin:
        return Action(
            f"Add lab items of {_cells(thin)}.", f"It has fewer than ten, which hardly tell a rate. {worst}".strip()
        )
    return Action("Look at scenarios first where the lab is most wrong.", worst) if worst else None


def _worst(found: LabLiveGap) -> str:
    gaps = found.scenario_gaps
    flagged_ = [] if gaps is None else [row for row in gaps.means if row.verdict == "gap"]
    if gaps is None or not flagged_:
        return ""
    row = max(flagged_, key=lambda each: abs(each.estimate or 0.0))
    told = f"{gap_text(row.estimate, found)} {scenario_ends(row, found)}"
    return f"By {gaps.factor} the lab predicts worst in {row.scenario}: live less lab {told}."


def _cells(cells: list[CellPart]) -> str:
    return some([cell.cell for cell in cells], _NAMED)


# --- data ---


def what_data(found: LabLiveGap) -> Action | None:
    """Say what more data would show: which side is noisier, or that models differ by more than noise."""
    without = [name for name, side in (("lab", found.lab), ("live", found.live)) if side.errors == "none"]
    if without:
        return Action(
            f"Get standard errors of the {' and '.join(without)} scores.",
            "Results by item, sessions or votes give them; without them no gap can be told from noise.",
        )
    line = found.line
    if found.n_models < _FEWEST:
        more = plural(_FEWEST - found.n_models, "further model")
        return Action(f"Score {more} on both sides.", f"A line through the models needs {_FEWEST}.")
    if line is None or line.detectable is None or found.lab.noise is None or found.live.noise is None:
        return None
    lab, live = abs(line.slope) * found.lab.noise, found.live.noise
    noises = (
        f"noise of the lab is {size_text(lab, found)}, of live scores {size_text(live, found)} (standard deviations)"
    )
    missed = capital(found_size(line.detectable, found))
    if line.tau_low > 0 and line.tau**2 > lab**2 + live**2:
        return Action(
            "Do not expect more items or users to show smaller gaps.",
            f"{missed}: a gap must stand out among true gaps, which spread by {size_text(line.tau, found)} between models; "
            f"{noises}.",
        )
    first = "lab items" if lab > live else "live data"
    return Action(f"To see smaller gaps, get more {first} first.", f"{missed}; {noises}.")
