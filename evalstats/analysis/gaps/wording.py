"""Lab versus live in words and tables. Only what is in the result is said."""

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_agreement import agreement_blocks
from evalstats.analysis.gaps.wording_answer import (
    LAYERS,
    gap_sentences_of,
    order_sentences,
    pairs_sentences,
    standing_sentences,
    top_sentences,
)
from evalstats.analysis.gaps.wording_forecasts import forecast_blocks
from evalstats.analysis.gaps.wording_headline import answer_tone, headline
from evalstats.analysis.gaps.wording_line import level_line, line_blocks, side_lines
from evalstats.analysis.gaps.wording_mix import mix_blocks
from evalstats.analysis.gaps.wording_models import models_blocks
from evalstats.analysis.gaps.wording_parts import (
    forecast_sentences,
    level_sentences,
    mix_sentences,
    scenario_sentences,
)
from evalstats.analysis.gaps.wording_slices import drop_blocks, scenario_blocks
from evalstats.analysis.gaps.words import capital, grouped, some, stopped
from evalstats.analysis.notes import plan_items
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph
from evalstats.document.numbers import plural

_STATUS = {"seen": "seen in these data", "possible": "not ruled out", "ruled out": "ruled out"}
_NEAR = 6


def gap_sentences(found: LabLiveGap) -> list[str]:
    """Say whether the lab predicts the live world, for which models not, what falls away, and what to beware of.

    Parameters
    ----------
    found
        What `gap()` gave.

    Returns
    -------
    list of str
        Whole sentences; the answer comes first, warnings last.
    """
    return [
        stopped(headline(found)),
        *standing_sentences(found),
        *[stopped(f"Warning: {text}") for text in found.warnings],
    ]


def gap_blocks(found: LabLiveGap) -> list[Block]:
    """Return the whole answer: verdict, what it rests on, models, agreement, line, mix, forecasts, threats, method.

    Parameters
    ----------
    found
        What `gap()` gave.
    """
    return [
        Heading(
            text=f"{found.lab.name} (lab) and {found.live.name} (live): {plural(found.n_models, 'model')}", level=1
        ),
        Banner(label=found.verdict, text=stopped(headline(found)), tone=answer_tone(found)),
        *_paragraphs(found),
        *_warnings(found),
        *left_out_blocks(found),
        *models_blocks(found),
        *agreement_blocks(found),
        *line_blocks(found),
        *mix_blocks(found),
        *scenario_blocks(found),
        *drop_blocks(found),
        *forecast_blocks(found),
        *threats_blocks(found),
        Bullets(title="The two sides", items=tuple(side_lines(found))),
        Bullets(title="Method", items=tuple(method_items(found))),
        *_notes(found),
    ]


def _paragraphs(found: LabLiveGap) -> list[Block]:
    """Return what stands behind the answer, one paragraph for each question."""
    groups = (
        [*order_sentences(found), *top_sentences(found), *pairs_sentences(found)],
        gap_sentences_of(found),
        [*level_sentences(found), *mix_sentences(found), *scenario_sentences(found)],
        forecast_sentences(found),
    )
    return [Paragraph(text=" ".join(said)) for said in groups if said]


def _warnings(found: LabLiveGap) -> list[Block]:
    texts = tuple(dict.fromkeys(stopped(text) for text in found.warnings))
    return [Bullets(title="Warnings", items=texts, tone="caution")] if texts else []


def left_out_blocks(found: LabLiveGap) -> list[Block]:
    """Say which layers are missing, and why."""
    reasons = grouped((reason, LAYERS.get(layer, layer)) for layer, reason in found.left_out)
    items = tuple(f"{capital(some(names, len(names)))}: {stopped(reason)}" for reason, names in reasons)
    return [Bullets(title="Not answered, and why", items=items)] if items else []


def threats_blocks(found: LabLiveGap) -> list[Block]:
    """Return the threats to validity, those that the data show first."""
    order = ("seen", "possible", "ruled out")
    threats = sorted(found.threats, key=lambda each: order.index(each.status))
    items = tuple(f"{each.title} ({_STATUS[each.status]}): {stopped(each.text)}" for each in threats)
    return [Bullets(title="Threats to validity", items=items, tone="caution")] if items else []


def method_items(found: LabLiveGap) -> list[str]:
    """Return short statements on how the answer was reached."""
    none = found.method == "none"
    items = [
        f"{'No gap was estimated' if none else capital(found.method)}, because {found.method_reason}",
        f"Estimand: {found.estimand}",
        f"Verdict: {found.verdict_reason}",
        *level_line(found),
        *_further_methods(found),
        *plan_items(found.plan),
        _sources(found),
    ]
    return [stopped(item) for item in items]


def _further_methods(found: LabLiveGap) -> list[str]:
    layers = (
        ("Decomposition", found.decomposition),
        ("Drops", found.drops),
        ("Forecasts", found.hierarchy),
    )
    told = [f"{name}: {each.method}" for name, each in layers if each is not None and each.method]
    priors = "" if found.hierarchy is None else found.hierarchy.priors
    return [*told, *([f"Priors: {priors}"] if priors else [])]


def _sources(found: LabLiveGap) -> str:
    digests = [f"{run} ({digest[:12]})" if digest else run for run, digest in found.sources]
    files = f"From: {some(digests)}. " if digests else ""
    drawn = f"{found.n_resamples:,} draws" if found.n_resamples else "no draws"
    return f"{files}evalstats {found.version}, {drawn}, seed {found.seed}"


def _notes(found: LabLiveGap) -> list[Block]:
    notes = [stopped(text) for text in found.notes]
    if found.joined_by_alias:
        pairs = [f"{lab} is {live}" for lab, live in found.joined_by_alias]
        notes.append(f"Joined by aliases, the lab's name first: {some(pairs, _NEAR)}.")
    if found.near_names:
        pairs = [f"{lab} and {live}" for lab, live in found.near_names]
        notes.append(
            f"Alike and not joined, the lab's name first: {some(pairs, _NEAR)}; --aliases says which are one model."
        )
    return [Bullets(title="Notes", items=tuple(dict.fromkeys(notes)))] if notes else []
