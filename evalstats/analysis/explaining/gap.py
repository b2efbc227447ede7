"""Lab against live explained to somebody who is no statistician, with the models and numbers of this very result."""

from evalstats.analysis.explaining.arena_meaning import how_of
from evalstats.analysis.explaining.gap_meaning import (
    agreement_means,
    gaps_mean,
    parts_mean,
    verdict_means,
    would_change,
)
from evalstats.analysis.explaining.words import described, section, sentence, sources_of
from evalstats.analysis.gap.result import LabLiveGap, SideAccount
from evalstats.analysis.gaps.words import some
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import plural

_AGREEMENT = "rank and product-moment correlation"
_FCR = "Benjamini-Hochberg, false-coverage intervals"
_WEIGHTED = "lab items weighted to the live mix"
_WHAT = {
    "outcomes": "scores of single items or sessions",
    "comparisons": "votes between two answers",
    "aggregates": "published numbers",
}


def explain_gap(found: LabLiveGap) -> list[Block]:
    """Return the explanation: question, method, assumptions, what the numbers and the verdict mean, what would change it.

    Parameters
    ----------
    found
        What `gap()` gave.
    """
    return [
        Heading(text=f"{found.lab.name} and {found.live.name}: what this says of lab and live", level=1),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(found)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(found)),
        *section("What this takes for granted, and how it could fail here", _assumptions(found)),
        *section("What agreement means", agreement_means(found)),
        *section("What a gap means", gaps_mean(found)),
        *section("What mix and behaviour mean", parts_mean(found)),
        *section(f"What the verdict means: {found.verdict}", verdict_means(found)),
        *section("What would change the conclusion", would_change(found)),
        *sources_of(_methods(found)),
    ]


def _methods(found: LabLiveGap) -> list[str]:
    """Return the methods of this result, by the names under which there are words for them."""
    names = [_AGREEMENT]
    if found.method != "none":
        names.append(found.method)
    if found.line is not None:
        names.append(_FCR)
    if found.level is not None:
        names.append(found.level.method)
    if found.decomposition is not None:
        # With a mix from outside there is nothing to split, and the weighting is all there is.
        names.extend([found.decomposition.method] if found.decomposition.overall.total.conf_low is not None else [])
        names.extend([_WEIGHTED] if found.decomposition.weighting is not None else [])
    if found.hierarchy is not None:
        names.append(found.hierarchy.method)
    return [name for name in names if name]


def _question(found: LabLiveGap) -> list[str]:
    n = plural(found.n_models, "model")
    scale = (
        "Both sides measure one thing in one unit, so live less lab means something by itself"
        if found.same_scale
        else "The two sides are on different scales, so a plain difference of scores means nothing"
    )
    return [
        (
            f"{n[:1].upper()}{n[1:]} were measured twice: in the lab ({_side(found.lab)}) and with live users "
            f"({_side(found.live)}). Does the lab score of a model tell how it does with users, and for which models does it not?"
        ),
        f"{scale}. What is estimated: {found.estimand.rstrip('.')}.",
    ]


def _side(side: SideAccount) -> str:
    return f"{side.metric} from {_WHAT[side.kind]} of {side.name}"


def _method(found: LabLiveGap) -> list[str]:
    told = [f"Agreement. {how_of(described(_AGREEMENT))}"]
    if found.line is not None:
        told.append(f"The line, because {found.method_reason.rstrip('.')}. {how_of(described(found.method))}")
        told.append(f"Many models at once. {how_of(described(_FCR))}")
    elif found.method != "none":
        told.append(f"No line was drawn: {found.method_reason.rstrip('.')}. {how_of(described(found.method))}")
    else:
        told.append(f"No gap was estimated: {found.method_reason.rstrip('.')}.")
    if found.level is not None:
        told.append(f"The overall level. {how_of(described(found.level.method))}")
    if found.decomposition is not None:
        if found.decomposition.method in _methods(found):
            told.append(f"Mix and behaviour. {how_of(described(found.decomposition.method))}")
        if found.decomposition.weighting is not None:
            told.append(f"The lab for the live mix. {how_of(described(_WEIGHTED))}")
    if found.hierarchy is not None:
        told.append(f"Forecasts. {how_of(described(found.hierarchy.method))}")
    return told


# --- what is taken for granted ---


def _assumptions(found: LabLiveGap) -> list[str]:
    texts = [text for name in _methods(found) for text in described(name)]
    takes = list(dict.fromkeys(text.takes for text in texts if text.takes))
    return [*takes, *_errors(found), *_few(found), *_threats(found)]


def _errors(found: LabLiveGap) -> list[str]:
    """Say which errors are not known, and what follows from that."""
    sides = (("lab", found.lab), ("live", found.live))
    none = [name for name, side in sides if side.errors == "none"]
    marginal = [name for name, side in sides if side.errors == "marginal"]
    said: list[str] = []
    if none:
        said.append(
            f"The {' and '.join(none)} scores come without standard errors, so nothing here knows how noisy they are"
        )
    if marginal:
        said.append(
            f"Of the {' and '.join(marginal)} scores the published standard errors alone are known. Models that met the same "
            "questions err together, and such errors cancel in comparisons; here they are counted in full, so noise is taken at "
            "its most"
        )
    return said


def _few(found: LabLiveGap) -> list[str]:
    n = plural(found.n_models, "model")
    if found.n_models >= 10:
        return []
    if found.line is None:
        return [f"{n} are few: agreement is told for these alone, and not for others like them"]
    told = "agreement is told for these alone, and a gap is called only where it lies beyond a declared margin"
    return [f"{n} are few: {told}"]


def _threats(found: LabLiveGap) -> list[str]:
    """Repeat the threats that the data show, and count the others."""
    seen = [f"{each.title}: {each.text}" for each in found.threats if each.status == "seen"]
    open_ = [each.title[:1].lower() + each.title[1:] for each in found.threats if each.status == "possible"]
    if not open_:
        return seen
    return [*seen, sentence(f"Nothing here rules out {some(open_, len(open_))}").rstrip(".")]
