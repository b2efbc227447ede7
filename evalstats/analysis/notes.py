"""Sentences that several questions share: groups behind items, what the plan declares, which average it is."""

from collections.abc import Mapping, Sequence

from evalstats.analysis.compare.flips import flips_table
from evalstats.analysis.compare.other_methods import effects_blocks
from evalstats.analysis.compare.result import DECIDED, Comparison, GroupRow, OtherLevels, Verdict, qualified
from evalstats.analysis.compare.verdict import margin_sentence
from evalstats.analysis.costs import costs_table
from evalstats.analysis.looks.wording import sequential_blocks
from evalstats.analysis.method_rows import MethodRow
from evalstats.analysis.scales import direction_phrases
from evalstats.analysis.score.claims import claim_note, claim_sentence
from evalstats.analysis.score.result import Score
from evalstats.document.blocks import Banner, Block, Bullets, Fold, Heading, Paragraph, Table, Tone
from evalstats.document.numbers import interval, many, number, p_value, plural, scaled
from evalstats.schema.plan import PlanAccount
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.clusters import Dependence

VERDICT_TONE: Mapping[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "caution",
    "powerless": "caution",
    "invalid": "bad",
}
_FLIPS_SHOWN = 12


def comparison_sentences(result: Comparison) -> list[str]:
    """Verdict, number, what it rests on; then the warnings."""
    first = f"{_verdict_line(result)} ({result.verdict_reason})."
    return [
        first,
        difference_sentence(result),
        *([margin_sentence(result)] if result.at_margin else []),
        basis_sentence(result),
        *[f"Warning: {text}." for text in result.warnings],
    ]


def comparison_blocks(result: Comparison) -> list[Block]:
    """Return the whole comparison, verdict first, then the evidence, then the method."""
    blocks: list[Block] = [
        Heading(text=f"{result.candidate.name} against {result.baseline.name}", level=1),
        Banner(
            label=result.verdict,
            text=f"{_verdict_line(result)}: {result.verdict_reason}.",
            tone=VERDICT_TONE[result.verdict],
        ),
        Paragraph(text=f"{difference_sentence(result)} {basis_sentence(result)}"),
        *([Paragraph(text=margin_sentence(result))] if result.at_margin else []),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(scores_table(result))
    if result.groups:
        blocks.append(groups_table(result))
    blocks.extend(_details(result))
    return blocks


def _details(result: Comparison) -> list[Block]:
    """Return what stands behind the answer, part by part; a comment on GitHub folds each part away."""
    notes = tuple(f"{row.method}: {row.note}" for row in result.rows if row.note)
    parts: list[tuple[str, list[Block]]] = [
        ("Watched while the run goes on", [] if result.sequential is None else sequential_blocks(result.sequential)),
        ("The difference, by method", [methods_table(result), *([Bullets(items=notes)] if notes else [])]),
        ("Effect sizes", effects_blocks(result.effects, result.conf_level)),
        ("Missing data", missing_blocks(result)),
        ("Items that flipped", flipped_blocks(result)),
        ("Beyond the score", _costs(result)),
        ("Hidden groups", [dependence_table(result)] if result.dependence else []),
        (
            "Method",
            [
                Bullets(title="Method", items=tuple(method_items(result))),
                *([Bullets(title="Notes", items=result.notes)] if result.notes else []),
            ],
        ),
    ]
    return [Fold(title=title, blocks=tuple(blocks)) for title, blocks in parts if blocks]


def _costs(result: Comparison) -> list[Block]:
    """Return what either side takes, where the files say."""
    if not result.costs:
        return []
    table = costs_table(result.costs, result.baseline.name, result.candidate.name, result.conf_level)
    notes = tuple(f"{row.quantity}: {text}" for row in result.costs for text in (row.reason, row.note) if text)
    return [table, *([Bullets(items=notes)] if notes else [])]


def _verdict_line(result: Comparison) -> str:
    a, b = result.baseline.name, result.candidate.name
    lines: dict[Verdict, str] = {
        "better": f"{b} is better than {a} on {result.benchmark}",
        "worse": f"{b} is worse than {a} on {result.benchmark}",
        "equivalent": f"{b} and {a} are equivalent on {result.benchmark}, by the declared margin",
        "inconclusive": result.only_higher() or f"the data do not tell {b} and {a} apart on {result.benchmark}",
        "powerless": f"this design could not tell {b} and {a} apart on {result.benchmark}",
        "invalid": f"{b} and {a} cannot be compared on these data",
    }
    line = lines[result.verdict]
    return qualified(line if line.startswith((a, b)) else line[0].upper() + line[1:], result.qualifiers)


def difference_sentence(result: Comparison) -> str:
    """Return the difference with its interval and p, in one sentence."""
    unit = f" {result.unit}" if result.unit else ""
    shown = f"{scaled(result.estimate, result.scale, sign=True)}{unit}"
    level = f"{100 * result.conf_level:g}%"
    if result.conf_low is None:
        return f"The observed difference is {shown}; there is no interval ({_no_interval(result)})."
    ends = interval(result.conf_low, result.conf_high, result.scale)
    p_text = p_value(result.p_value)
    p_shown = f"p {p_text}" if p_text.startswith(("<", ">")) else f"p = {p_text}"
    sentence = f"The difference is {shown}, {level} interval {ends}, {p_shown} ({result.method})."
    if result.margin is None:
        return sentence
    narrower = interval(result.equivalence_low, result.equivalence_high, result.scale)
    return (
        f"{sentence} The declared margin is ±{scaled(result.margin, result.scale)}{unit}; the "
        f"{100 * (2 * result.conf_level - 1):g}% interval that equivalence is judged by is {narrower}."
    )


def basis_sentence(result: Comparison) -> str:
    """Say what the number rests on: items, clusters, trials, and what could have been seen."""
    parts = [plural(result.n_items, "paired item")]
    if result.n_clusters is not None:
        names = " and ".join(result.clusters)
        parts.append(f"in {result.n_clusters} clusters ({names})")
    if result.n_trials > 2 * result.n_items:
        parts.append(f"from {result.n_trials:,} scored trials")
    text = f"It rests on {' '.join(parts)}"
    if result.design_effect is not None:
        text += f"; design effect {number(result.design_effect)}"
        if result.effective_clusters is not None:
            text += f", effectively {number(result.effective_clusters, 1)} clusters"
    if result.mde is not None:
        unit = f" {result.unit}" if result.unit else ""
        text += f"; a true difference of {scaled(result.mde, result.scale, 1)}{unit} would be found with 80% power"
    return f"{text}.{average_sentence(result.average)}"


def average_sentence(average: str) -> str:
    """Name the average, as a sentence behind another; "" where there is nothing to say."""
    return f" It is the {average}." if average else ""


def _no_interval(result: Comparison) -> str:
    return result.verdict_reason if result.verdict == "invalid" else "see the method rows"


def scores_table(result: Comparison) -> Table:
    """Each side's own score on the shared items."""
    unit = f" ({result.baseline.unit})" if result.baseline.unit else ""
    return Table(
        columns=("System", f"Score{unit}", f"{100 * result.conf_level:g}% interval", "Method"),
        rows=tuple(
            (
                score.name,
                scaled(score.estimate, score.scale, 1),
                interval(score.conf_low, score.conf_high, score.scale, 1),
                score.method,
            )
            for score in (result.baseline, result.candidate)
        ),
        align="lrrl",
        caption=f"Scores on the shared items: {result.metric}",
        wide=("Method",),
    )


def methods_table(result: Comparison) -> Table:
    """Every method's answer to the same question; the first row is the headline."""
    unit = f" ({result.unit})" if result.unit else ""
    rows = tuple(_method_cells(row, result.scale) for row in result.rows)
    return Table(
        columns=("Method", "Role", f"Difference{unit}", f"{100 * result.conf_level:g}% interval", "p"),
        rows=rows,
        align="llrrr",
        caption="The difference, by method; the first row decides",
        wide=("Role",),
    )


def _method_cells(row: MethodRow, scale: float) -> tuple[str, ...]:
    ends = "" if row.conf_low is None and row.estimate is None else interval(row.conf_low, row.conf_high, scale)
    estimate = "" if row.estimate is None else scaled(row.estimate, scale, sign=True)
    return row.method, row.role, estimate, ends, "" if row.p_value is None else p_value(row.p_value)


def groups_table(result: Comparison) -> Table:
    """Return the comparison within every level of the factor."""
    unit = f" ({result.unit})" if result.unit else ""
    return Table(
        columns=(
            str(result.by),
            "Items",
            "Baseline",
            "Candidate",
            f"Difference{unit}",
            "Interval",
            "Adjusted p",
            "Verdict",
        ),
        rows=tuple(_group_cells(group, result.scale) for group in result.groups),
        align="lrrrrrrl",
        caption=(
            f"By {result.by}: {len(result.groups)} comparisons as one family; intervals and p are adjusted for all of them "
            f"(Bonferroni: {100 * result.conf_level:g}% over all rows). Different verdicts in two rows are not by themselves a "
            "difference between the rows"
        ),
        wide=("Baseline", "Candidate", "Adjusted p"),
    )


def _group_cells(group: GroupRow, scale: float) -> tuple[str, ...]:
    return (
        group.level,
        str(group.n_items),
        scaled(group.baseline, scale, 1),
        scaled(group.candidate, scale, 1),
        scaled(group.estimate, scale, 1, sign=True),
        interval(group.conf_low, group.conf_high, scale, 1),
        p_value(group.p_adjusted),
        f"{group.verdict} (these items)" if group.qualifiers else group.verdict,
    )


def missing_blocks(result: Comparison) -> list[Block]:
    """Say what could not be paired and how far it could move the answer."""
    missing = result.missing
    counts = (
        f"Items: {missing.n_both} scored on both sides, {missing.n_only_baseline} only for {result.baseline.name}, "
        f"{missing.n_only_candidate} only for {result.candidate.name}, {missing.n_neither} on neither. "
        f"Harness errors: {result.baseline.n_error} and {result.candidate.n_error}; "
        f"unscored rows: {result.baseline.n_unscored} and {result.candidate.n_unscored}."
    )
    explanation = missing.explanation[:1].upper() + missing.explanation[1:]
    blocks: list[Block] = [Heading(text="Missing data", level=2), Paragraph(text=f"{counts} {explanation}.")]
    if missing.rows:
        unit = f" ({result.unit})" if result.unit else ""
        blocks.append(
            Table(
                columns=("If", f"Difference{unit}", "Interval", "p"),
                rows=tuple(
                    (
                        row.note.partition(";")[0],
                        scaled(row.estimate, result.scale, sign=True),
                        interval(row.conf_low, row.conf_high, result.scale),
                        p_value(row.p_value),
                    )
                    for row in missing.rows
                ),
                align="lrrr",
                caption="The same analysis on all items, with the missing scores filled in",
            )
        )
    return blocks


def flipped_blocks(result: Comparison) -> list[Block]:
    """List the items on which one side succeeds and the other fails, where their rows stand, and count them by scenario."""
    if not result.flipped:
        return []
    sign = 1 if result.higher_is_better else -1
    gained = sum(sign * item.change > 0 for item in result.flipped)
    lost = len(result.flipped) - gained
    shown = result.flipped[:_FLIPS_SHOWN]
    more = f"; the first {len(shown)} are shown" if len(shown) < len(result.flipped) else ""
    by = [flips_table(result.flipped_by, result.by or "scenario")] if result.flipped_by else []
    return [
        *by,
        Table(
            columns=("Item", "Scenario", "Baseline", "Candidate", "Row of the baseline", "Row of the candidate"),
            rows=tuple(
                (
                    "/".join(part for part in (item.task, item.item, item.variant) if part),
                    item.scenario or "",
                    scaled(item.baseline, result.scale, 0),
                    scaled(item.candidate, result.scale, 0),
                    str(item.baseline_source or ""),
                    str(item.candidate_source or ""),
                )
                for item in shown
            ),
            align="llrrll",
            caption=f"Items that flipped: {gained} gained, {lost} lost{more}",
            wide=("Row of the baseline", "Row of the candidate", "Scenario"),
        ),
    ]


def dependence_table(result: Comparison) -> Table:
    """Show the design effect of every factor that was not declared as clusters, with its permutation band."""
    return Table(
        columns=("Factor", "Levels", "Design effect", "Band if unrelated", "p (adjusted)", "Flag"),
        rows=tuple(
            (
                row.factor,
                str(row.n_levels),
                number(row.design_effect),
                interval(row.band_low, row.band_high),
                p_value(row.p_adjusted),
                "" if row.flag == "none" else row.flag,
            )
            for row in result.dependence
        ),
        align="lrrrrl",
        caption=(
            'Do the differences run in groups that were not declared as clusters? p is adjusted for all factors; "note" '
            "marks one that is small only without that, as some are by chance"
        ),
        wide=("Band if unrelated",),
    )


def dependence_warnings(rows: Sequence[Dependence]) -> list[str]:
    """Return a warning that names the factor along which the differences run in groups, and any further ones.

    The main suspect is the flagged factor with the most levels: coarser ones that it lies within show up as well.
    """
    flagged = sorted((row for row in rows if row.flag == "warn"), key=lambda row: (-row.n_levels, row.factor))
    if not flagged:
        return []
    main, *others = flagged
    also = f", and so do items of one {' or '.join(row.factor for row in others)}" if others else ""
    advice = (
        f"to conclude about other {many(main.factor)}, add --cluster {main.factor}"
        if main.n_levels >= FEW_CLUSTERS
        else f"{main.n_levels} {many(main.factor)} are too few to conclude about others, so look at them one by one"
    )
    found = f"design effect {number(main.design_effect, 1)}, permutation p {p_value(main.p_adjusted)}"
    return [f"items of one {main.factor} behave alike ({found}){also}: {advice}"]


def not_for_others(result: Comparison, others: Sequence[OtherLevels]) -> tuple[str, ...]:
    """Say for which items the verdict holds, where it would be another with the levels of a factor as clusters."""
    lost = sorted((row for row in others if not row.holds), key=lambda row: (-row.n_levels, row.factor))
    if result.verdict not in DECIDED or not lost:
        return ()
    main = lost[0]
    ends = "no interval"
    if main.conf_low is not None:
        low, high = (scaled(end, result.scale, 1) for end in (main.conf_low, main.conf_high))
        ends = f"{low} to {high} {result.unit}".rstrip()
    return (
        f"on these {result.n_items:,} items, not established for other {many(main.factor)} than these {main.n_levels} ({ends})",
    )


def method_items(result: Comparison) -> list[str]:
    """Return short statements on how the answer was reached."""
    kind = result.metric_kind + ("" if result.higher_is_better else ", lower is better")
    items = [
        f"{result.method}, because {result.method_reason}.",
        f"Estimand: {result.estimand}.",
        f"Metric: {result.metric} ({kind}) on {result.benchmark}.",
    ]
    if result.margin is not None:
        unit = f" {result.unit}" if result.unit else ""
        items.append(
            f"Margin declared: ±{scaled(result.margin, result.scale)}{unit}; the "
            f"{100 * (2 * result.conf_level - 1):g}% interval is "
            f"{interval(result.equivalence_low, result.equivalence_high, result.scale)}."
        )
    if len(result.baseline.runs) == len(result.candidate.runs) == 1 and not result.runs_counted:
        items.append(
            "One run of each side: variation from run to run cannot be told from these data and is not in the interval."
        )
    items.extend(plan_items(result.plan))
    digests = ", ".join(f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources)
    items.append(f"Runs: {digests}. evalstats {result.version}, seed {result.seed} (permutations only).")
    return items


def plan_items(plan: PlanAccount | None) -> list[str]:
    """Say which plan holds, what it declares, and where the result departs from it."""
    if plan is None:
        return []
    declared = "; ".join(f"{name} {value}" for name, value in plan.declared) or "nothing that concerns this question"
    departures = "".join(f" It {text}." for text in plan.departures)
    return [f"Declared plan: {plan.source or 'given in code'}, digest {plan.digest[:12]}: {declared}.{departures}"]


def score_sentences(score: Score) -> list[str]:
    """Say one system's score in words."""
    unit = "" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    percent = "%" if score.unit == "%" else ""
    shown = f"{scaled(score.estimate, score.scale, 1)}{percent}{unit}"
    level = f"{100 * score.conf_level:g}%"
    what = qualified(score.metric, direction_phrases(score.direction))
    if score.conf_low is None:
        first = f"{score.name} scores {shown} on {score.benchmark} ({what}); no interval: {score.reason}."
    else:
        ends = interval(score.conf_low, score.conf_high, score.scale, 1)
        first = f"{score.name} scores {shown} on {score.benchmark} ({what}), {level} interval {ends} ({score.method})."
    basis = f"It rests on {plural(score.n_items, 'item')}"
    if score.n_trials > score.n_items:
        basis += f" and {plural(score.n_trials, 'trial')}"
    if score.n_clusters is not None:
        basis += f" in {score.n_clusters} clusters ({' and '.join(score.clusters)})"
    if score.n_error or score.n_unscored:
        basis += (
            f"; {plural(score.n_error, 'harness error')} and {plural(score.n_unscored, 'unscored row')} are left out"
        )
    basis = f"{basis}.{average_sentence(score.average)}"
    held: list[str] = []
    if score.against is not None:
        held = [claim_sentence(score.name, score.against, score.metric, scale=score.scale, unit=score.unit)]
        basis = f"{basis} {claim_note(score.against)}."
    return [*held, first, basis, *[f"{text[:1].upper()}{text[1:]}." for text in (*score.warnings, *score.notes)]]


def score_blocks(score: Score) -> list[Block]:
    """Return one system's score with its further intervals and pass^k."""
    blocks: list[Block] = [
        Heading(text=f"{score.name} on {score.benchmark}", level=1),
        Paragraph(text=" ".join(score_sentences(score))),
        Table(
            columns=("Method", "Score", f"{100 * score.conf_level:g}% interval"),
            rows=tuple(
                (row.method, scaled(row.estimate, score.scale), interval(row.conf_low, row.conf_high, score.scale))
                for row in score.rows
            ),
            align="lrr",
        ),
    ]
    notes = tuple(f"{row.method}: {row.note}" for row in score.rows if row.note)
    if notes:
        blocks.append(Bullets(items=notes))
    if score.pass_hat:
        blocks.append(
            Table(
                columns=("k", "pass^k", f"{100 * score.conf_level:g}% interval"),
                rows=tuple(
                    (str(k), scaled(estimate, 100), interval(low, high, 100))
                    for k, estimate, low, high in score.pass_hat
                ),
                align="rrr",
                caption="Chance (%) that k independent trials of one item all succeed; unbiased, items as the unit",
            )
        )
    return blocks
