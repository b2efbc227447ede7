"""Agreement in tables: coefficients by source of uncertainty, parts of the order, pairs and contradictions."""

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.layers import CoefficientRow, PairOrder, PartRow, Source
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import (
    coefficient,
    digits_of,
    gap_text,
    gap_unit,
    grouped,
    level,
    of,
    part_interval,
    share,
)
from evalstats.document.blocks import Block, Bullets, Heading, Table
from evalstats.document.numbers import interval, number, p_value, plural, scaled

_NAMES = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
_SOURCES: dict[Source, str] = {
    "items": "These models: other lab items",
    "votes": "These models: other live data",
    "items and votes": "These models: both",
    "models": "Other models, scores as exact",
    "all": "Other models, with all noise",
}
_KINDS = {"random": "Any", "top": "Better half live", "adjacent": "Neighbours live"}
CONTRADICTIONS = 10


def agreement_blocks(found: LabLiveGap) -> list[Block]:
    """Return all that is said of agreement: coefficients, parts of the order, pairs."""
    blocks: list[Block] = [Heading(text="Agreement", level=2), coefficients_table(found)]
    said = _beside_coefficients(found)
    if said:
        blocks.append(Bullets(items=tuple(said)))
    blocks.extend(
        table for table in (parts_table(found), subsets_table(found), slices_table(found)) if table is not None
    )
    return [*blocks, *pairs_blocks(found)]


def coefficients_table(found: LabLiveGap) -> Table:
    """One column for each coefficient; one line for its value, each source of uncertainty, the ceiling and the p."""
    rows = found.agreement.coefficients
    lines: list[tuple[str, list[str]]] = [("Over all models", [coefficient(row.estimate) for row in rows])]
    lines += [(words, [_by(row, source) for row in rows]) for source, words in _SOURCES.items()]
    lines += [
        ("Other models, by formula (a check)", [_ends(row.fisher_low, row.fisher_high) for row in rows]),
        ("Ceiling under this noise", [coefficient(row.ceiling) for row in rows]),
        ("Of true scores", [coefficient(row.disattenuated) for row in rows]),
        ("  its interval", [_true_ends(row) for row in rows]),
        ("p of no association", [p_value(row.p_value) for row in rows]),
    ]
    kept = [(words, cells) for words, cells in lines if any(cell != "–" for cell in cells)]
    columns = {"": [words for words, _ in kept]}
    columns |= {_NAMES[row.name]: [cells[i] for _, cells in kept] for i, row in enumerate(rows)}
    return table_of(
        columns,
        caption=(
            f"Agreement of {plural(found.agreement.n_models, 'model')}, with {level(found)} intervals by what else could have "
            "been drawn. Ceiling: what would be expected if true scores agreed perfectly"
        ),
        left=("",),
    )


def _by(row: CoefficientRow, source: Source) -> str:
    each = row.interval(source)
    return "–" if each is None else _ends(each.conf_low, each.conf_high)


def _true_ends(row: CoefficientRow) -> str:
    """Write what a correlation of true scores may be: with its cut-off interval only beside an estimate inside it."""
    low, high, estimate = row.disattenuated_low, row.disattenuated_high, row.disattenuated
    if low is None or high is None or estimate is None:
        return "–"
    if low <= -1 and high >= 1:
        return "anything"
    if estimate > high:
        return f"at least {number(low)}"
    return f"at most {number(high)}" if estimate < low else _ends(low, high)


def _ends(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else interval(low, high)


def _beside_coefficients(found: LabLiveGap) -> list[str]:
    rows = found.agreement.coefficients
    reasons = [
        (each.reason, _SOURCES[each.source].lower())
        for row in rows
        for each in row.intervals
        if each.reason and each.conf_low is None
    ]
    reasons += [(row.reason, _NAMES[row.name]) for row in rows if row.reason]
    said = [f"No interval for {', '.join(dict.fromkeys(names))}: {reason}." for reason, names in grouped(reasons)]
    if any((row.disattenuated or 0.0) > 1 for row in rows):
        said.append(
            "An estimate of the correlation of true scores may come out above 1 where noise happens to help: it is not cut off "
            "at 1, while the interval is, since no correlation exceeds 1."
        )
    over = [row for row in rows if row.ceiling is not None and row.estimate is not None and row.estimate > row.ceiling]
    if over:
        said.append("A coefficient above its ceiling is chance, or noise that both sides share.")
    return said


def parts_table(found: LabLiveGap) -> Table | None:
    """Agreement within the best models and within thirds of the order: a wide range of models makes any lab look good."""
    rows = [row for row in found.agreement.parts if row.spearman is not None or row.kendall is not None]
    if len(rows) < 2:
        return None
    columns = {
        "Models": [row.label for row in rows],
        "Number": [str(row.n_models) for row in rows],
        "Spearman": [coefficient(row.spearman) for row in rows],
        f"{level(found)} interval": [_part_ends(row) for row in rows],
        "Kendall": [coefficient(row.kendall) for row in rows],
        "Shared": ["–" if row.n_shared is None else str(row.n_shared) for row in rows],
        "By chance": [number(row.n_shared_by_chance, 1) for row in rows],
    }
    return table_of(
        columns,
        caption=(
            "Within parts of the order: over a wide range of models even a rough benchmark agrees; among models that are close "
            "it need not. Intervals are for these models. Shared: how many are among as many best on the other side"
            f"{_without_width(found)}"
        ),
        left=("Models",),
        wide=("Shared", "By chance"),
    )


def _part_ends(row: PartRow) -> str:
    """Write the interval of a part; none of no width, which would claim that there is no noise."""
    return _ends(*part_interval(row))


def _without_width(found: LabLiveGap) -> str:
    if not any(row.conf_low is not None and part_interval(row)[0] is None for row in found.agreement.parts):
        return ""
    bare = [name for name, side in (("lab", found.lab), ("live", found.live)) if side.errors == "none"]
    why = f"the {' and '.join(bare)} scores have no errors" if bare else "no draw of the noise moves this order"
    return f". No interval: {why}, so that none can be told"


def slices_table(found: LabLiveGap) -> Table | None:
    """Agreement where the lab is cut to one level of a factor."""
    rows = [row for row in found.agreement.slices if row.spearman is not None]
    if not rows:
        return None
    columns = {
        "Lab items of": [f"{row.factor} {row.level}" if row.level else "all" for row in rows],
        "Spearman": [coefficient(row.spearman) for row in rows],
        f"{level(found)} interval": [_ends(row.conf_low, row.conf_high) for row in rows],
        "Ceiling": [coefficient(row.ceiling) for row in rows],
        "Cut": ["lab alone" if row.cut == "lab" else "both sides" for row in rows],
    }
    if len({row.cut for row in rows}) == 1:
        del columns["Cut"]
    return table_of(
        columns,
        caption="Which lab items agree with live users; each line alone, so the best of several is partly luck",
        left=("Lab items of", "Cut"),
    )


def subsets_table(found: LabLiveGap) -> Table | None:
    """Kendall's coefficient over repeated subsets of models: one line for each size, one column for each way to draw."""
    rows = found.agreement.subsets
    if not rows:
        return None
    kinds = [kind for kind in _KINDS if any(row.kind == kind for row in rows)]
    sizes = sorted({row.size for row in rows})
    by = {(row.size, row.kind): row for row in rows}

    def cell(size: int, kind: str) -> str:
        row = next((row for key, row in by.items() if key == (size, kind)), None)
        return "–" if row is None else f"{number(row.mean)} {interval(row.low, row.high)}"

    columns = {"Models drawn": [str(size) for size in sizes]}
    columns |= {_KINDS[kind]: [cell(size, kind) for size in sizes] for kind in kinds}
    return table_of(
        columns,
        caption=(
            "Kendall's coefficient over repeated draws of fewer models: mean, and from where to where 9 of 10 draws lie (no "
            "interval of confidence)"
        ),
        left=(),
    )


# --- pairs ---


def pairs_blocks(found: LabLiveGap) -> list[Block]:
    """Say how pairs of models are ordered, and show the contradictions."""
    pairs = found.agreement.pairs
    if pairs is None:
        return []
    blocks: list[Block] = [Bullets(title="Pairs of models", items=tuple(pairs_lines(pairs)))]
    table = contradictions_table(found)
    return blocks if table is None else [*blocks, table]


def pairs_lines(pairs: PairOrder) -> list[str]:
    """Return short statements on the order of pairs."""
    ends = _percent_ends(pairs.agreement_low, pairs.agreement_high)
    said = [f"{share(pairs.agreement)} of {plural(pairs.n_pairs, 'pair')} are in the same order by estimate{ends}."]
    if pairs.n_separated_lab is not None and pairs.n_separated_live is not None and pairs.n_separated_both is not None:
        said.append(
            f"Separated, adjusted over all pairs (Holm): {pairs.n_separated_lab:,} in the lab, {pairs.n_separated_live:,} live, "
            f"{pairs.n_separated_both:,} on both sides; of these {pairs.n_same or 0:,} in the same order, "
            f"{pairs.n_contradicted or 0:,} in the opposite."
        )
    if pairs.separability_lab is not None and pairs.separability_live is not None:
        said.append(
            "Separability (the pair's own interval excludes 0): "
            f"{share(pairs.separability_lab)} in the lab, {share(pairs.separability_live)} live."
        )
    if pairs.confidence_agreement is not None:
        ends = "" if pairs.confidence_low is None else f" {interval(pairs.confidence_low, pairs.confidence_high)}"
        said.append(
            "Agreement with confidence (+1 both sides sure and alike, −1 sure and opposed, 0 else): "
            f"{number(pairs.confidence_agreement)}{ends}."
        )
    if pairs.brier is not None:
        said.append(_brier(pairs))
    return [*said, *([f"{pairs.reason.rstrip('.')}."] if pairs.reason else [])]


def _brier(pairs: PairOrder) -> str:
    brier = pairs.brier
    if brier is None:
        return ""
    ends = "" if brier.conf_low is None else f" {interval(brier.conf_low, brier.conf_high)}"
    return (
        f"Brier score of the lab's odds for the live order of pairs: {number(brier.score)}{ends} (a coin 0.25, less is better): "
        f"reliability {number(brier.reliability)}, resolution {number(brier.resolution)}, "
        f"uncertainty {number(brier.uncertainty)}."
    )


def _percent_ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f", from {share(low)} to {share(high)}"


def contradictions_table(found: LabLiveGap) -> Table | None:
    """Return the pairs that both sides separate in opposite directions; the surest first."""
    pairs = found.agreement.pairs
    if pairs is None or not pairs.contradictions:
        return None
    order = sorted(pairs.contradictions, key=lambda each: max(each.lab_p_adjusted, each.live_p_adjusted))
    shown = order[:CONTRADICTIONS]
    more = f"; the {len(shown)} surest of {len(order):,}" if len(shown) < len(order) else ""
    lab = found.lab
    columns = {
        "Better live": [each.better_live for each in shown],
        "Better in the lab": [each.better_lab for each in shown],
        of("Live", gap_unit(found.live)): [gap_text(each.live_difference, found, unit=False) for each in shown],
        of("Lab", gap_unit(lab)): [
            scaled(each.lab_difference, lab.scale, digits_of(found, lab), sign=True) for each in shown
        ],
        "p live": [p_value(each.live_p_adjusted) for each in shown],
        "p lab": [p_value(each.lab_p_adjusted) for each in shown],
    }
    return table_of(
        columns,
        caption=f"Pairs that both sides separate, in opposite directions (better live less the other){more}",
        left=("Better live", "Better in the lab"),
        wide=("p live", "p lab"),
    )
