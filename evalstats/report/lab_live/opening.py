"""What a reader of the page of lab and live sees first: whether the lab predicts, for whom not, what not to conclude."""

from collections.abc import Sequence

from evalstats.analysis.gap.result import LabLiveGap, SideAccount
from evalstats.analysis.gaps.wording_answer import models_like_these, order_sentences, these_models
from evalstats.analysis.gaps.wording_headline import about, answer_tone, headline, level_number, level_told
from evalstats.analysis.gaps.words import (
    apart,
    capital,
    coefficient,
    flagged,
    found_size,
    level,
    part_interval,
    share,
    size_text,
    some,
    stopped,
)
from evalstats.document.blocks import Tone
from evalstats.document.numbers import interval, number, plural
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.callouts import departures_callout, simulated_callout, undeparted, warnings_callout
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import linked, metadata, prose, sentence

_SIGNS: dict[Tone, str] = {"good": "✓", "caution": "?", "bad": "×", "neutral": "?"}
_NAMED = 3


def title(page: LabLivePage) -> str:
    """Return the question as the document's title."""
    found = page.found
    return metadata(
        title=prose(f"Does {found.lab.name} predict {found.live.name}?"),
        subtitle=prose(
            f"{plural(found.n_models, 'model')}: {found.lab.metric} in the lab against {found.live.metric} live"
        ),
    )


def simulated(page: LabLivePage) -> str:
    """Return a callout where the data are simulated; nothing where they are not."""
    return simulated_callout(page.found.notes)


def departures(page: LabLivePage) -> str:
    """Return a callout where the result departs from the plan that was declared; nothing where it does not."""
    return departures_callout(page.found.plan)


def verdict(page: LabLivePage) -> str:
    """Return the banner: the answer in three sentences, and what not to conclude from it."""
    found = page.found
    amount, range_words = headline_number(found)
    # Agreement, shown large, is neither good nor bad news.
    tone = answer_tone(found) if about(found) != "nothing" or found.verdict == "aligned" else "neutral"
    return verdict_banner(
        label=capital(found.verdict),
        sign=_SIGNS.get(tone, "?"),
        tone=tone,
        answer=stopped(headline(found)),
        why=" ".join(text for text in (order_sentence(found), size_sentence(found)) if text),
        meaning=not_to_conclude(found),
        amount=amount,
        range_words=range_words,
    )


def headline_number(found: LabLiveGap) -> tuple[str, str]:
    """Return the number that the headline is about, shown large, and the words below it; without one Spearman's coefficient.

    Nothing where it cannot be told.
    """
    n, subject = found.n_models, about(found)
    if subject == "level":
        amount, ends = level_number(found)
        return amount, f"live less lab, {level(found)} {ends}"
    if subject == "models":
        k = len(flagged(found))
        return f"{k} of {n}", f"models {'has' if k == 1 else 'have'} a gap"
    if subject == "differences":
        k = len(apart(found))
        return f"{k} of {n}", f"models {'differs' if k == 1 else 'differ'} live from the lab"
    if found.verdict == "aligned":
        return f"{n} of {n}", "models are aligned"
    row = found.agreement.of("spearman")
    each = models_like_these(row) or these_models(row)
    if row.estimate is None or each is None:
        return "", ""
    return number(row.estimate), f"Spearman, {level(found)} {interval(each.conf_low, each.conf_high)}"


def order_sentence(found: LabLiveGap) -> str:
    """Say whether the lab's order of models says anything about the live one, and what noise would leave of it."""
    row = found.agreement.of("spearman")
    if row.estimate is None:
        return order_sentences(found)[0]
    each = models_like_these(row) or these_models(row)
    if each is None or each.conf_low is None or each.conf_high is None:
        return f"The order of models agrees by Spearman {number(row.estimate)}, without an interval."
    if each.conf_low > 0:
        said = "The lab's order of models says something about the live one"
    elif each.conf_high < 0:
        said = "The lab tends to order models the other way round than live users"
    else:
        said = "That the lab's order of models says anything about the live one is not shown"
    ceiling = (
        ""
        if row.ceiling is None
        else f"; were true scores to agree perfectly, noise would leave about {number(row.ceiling)}"
    )
    whom = "models like these" if models_like_these(row) else "these models alone"
    return f"{said}: Spearman {coefficient(row.estimate, each.conf_low, each.conf_high)} for {whom}{ceiling}."


def size_sentence(found: LabLiveGap) -> str:
    """Say how far live scores lie from the lab's on average; where that has no meaning, how large a gap would be seen."""
    told = level_told(found)
    if told and about(found) != "level":
        return stopped(capital(told))
    if found.line is not None and found.line.detectable is not None:
        return capital(stopped(found_size(found.line.detectable, found)))
    return ""


def not_to_conclude(found: LabLiveGap) -> str:
    """Say what the answer must not be taken for."""
    said: list[str] = []
    open_ = sum(row.verdict == "inconclusive" for row in found.rows)
    if found.line is not None and open_:
        who = "model that is" if open_ == 1 else "models that are"
        said.append(f"that the {open_} {who} inconclusive against the line {'has' if open_ == 1 else 'have'} no gap")
    weak = _weak_top(found)
    if weak:
        said.append(f"that the order holds among the best (within the {weak} it is not shown)")
    if found.verdict == "invalid":
        said.append("that there is no gap")
    said.append("that the lab is what is wrong: users, dates and prompts differ too")
    said.append("that other users would say the same")
    last = said.pop()
    return f"Not to conclude: {', '.join(said)}, or {last}. What is estimated: {_estimated(found)}."


def _estimated(found: LabLiveGap) -> str:
    """Say what the number of the headline is of; where that is the level, what the gap of one model is as well."""
    by_model = found.estimand.rstrip(".")
    if about(found) != "level":
        return by_model
    mean = f"the mean of live less lab {found.live.metric} over these {plural(found.n_models, 'model')}"
    return mean if found.line is None else f"{mean}; of one model, {by_model}"


def _weak_top(found: LabLiveGap) -> str:
    known = "none" not in (found.lab.errors, found.live.errors)
    rows = [row for row in found.agreement.parts if known and row.kind == "top" and part_interval(row)[0] is not None]
    weak = [row.label for row in rows if row.conf_low is not None and row.conf_low <= 0]
    return some(weak, _NAMED) if weak else ""


# --- key facts ---


def facts(page: LabLivePage) -> str:
    """Return the strip of key facts: what the answer rests on."""
    return fact_strip(key_facts(page.found))


def key_facts(found: LabLiveGap) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    lab, live = found.lab, found.live
    told = [
        (
            "Models in both",
            f"{found.n_models:,}",
            f"{len(lab.only_here):,} only in the lab, {len(live.only_here):,} only live",
        ),
        _side("Lab", lab, [row.lab_n for row in found.rows]),
        _side("Live", live, [row.live_n for row in found.rows]),
    ]
    if lab.reliability is not None or live.reliability is not None:
        told.append(
            (
                "Reliability",
                f"{_percent(lab)} / {_percent(live)}",
                "of the variance between models is not noise, lab / live",
            )
        )
    ceiling = found.agreement.of("spearman").ceiling
    if ceiling is not None:
        told.append(("Ceiling", number(ceiling), "Spearman, were true scores to agree perfectly"))
    if found.line is not None and found.line.detectable is not None:
        told.append(
            ("Detectable", size_text(found.line.detectable, found), "gap of a usual model, found with 80% probability")
        )
    return told


def _side(label: str, side: SideAccount, behind: Sequence[int | None]) -> tuple[str, str, str]:
    """Return what one side rests on: its units, and the clusters of its errors, else how many are behind a model."""
    if side.kind == "aggregates" or side.n_units is None:
        errors = {"none": "no standard errors", "marginal": "with standard errors"}.get(side.errors, "")
        return label, plural(side.n_models, "model"), f"published numbers, {errors}".rstrip(", ")
    word = side.unit_word or "units"
    if side.n_clusters and side.clusters and side.n_clusters != side.n_units:
        return label, f"{side.n_units:,} {word}", f"{side.n_clusters:,} {_many(side.clusters[0])}"
    known = [n for n in behind if n]
    if not known:
        return label, f"{side.n_units:,} {word}", f"by {side.metric}"
    each = f"{min(known):,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"
    return label, f"{side.n_units:,} {word}", f"{each} for each model"


def _many(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"


def _percent(side: SideAccount) -> str:
    return "unknown" if side.reliability is None else share(side.reliability)


def warnings(page: LabLivePage) -> str:
    """Return what must be known before a number is used; nothing where there is nothing."""
    found = page.found
    said = dict.fromkeys(sentence(text) for text in undeparted(found.warnings, found.plan))
    return warnings_callout([linked(text) for text in said])
