"""What a reader of the page of scenarios sees first: the question, where models break, what it rests on, what to beware of."""

from evalstats.analysis.scenarios.figures import base_name
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.wording_answer import answer_label, answer_tone, answers, headline
from evalstats.analysis.scenarios.wording_spread import interaction_sentence
from evalstats.analysis.scenarios.wording_tables import weights_words
from evalstats.analysis.scenarios.words import capital, change_text, ends_text, judged, stopped
from evalstats.document.blocks import Tone
from evalstats.document.numbers import plural
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.callouts import departures_callout, simulated_callout, undeparted, warnings_callout
from evalstats.report.markup import linked, metadata, prose, sentence
from evalstats.report.scenario.page import ScenarioPage
from evalstats.report.scenario.tables import worst_drop

_SIGNS: dict[Tone, str] = {"good": "✓", "caution": "?", "bad": "×", "neutral": "?"}


def title(page: ScenarioPage) -> str:
    """Return the question as the document's title."""
    found = page.model
    subtitle = (
        f"{plural(found.n_models, found.contrast)} in {plural(found.n_scenarios, 'scenario')} ({found.scenario}), "
        f"{found.metric}"
    )
    return metadata(title=prose(f"Where do {found.contrast}s break on {found.benchmark}?"), subtitle=prose(subtitle))


def simulated(page: ScenarioPage) -> str:
    """Return a callout where the data are simulated; nothing where they are not."""
    return simulated_callout(page.model.notes)


def departures(page: ScenarioPage) -> str:
    """Return a callout where the result departs from the plan that was declared; nothing where it does not."""
    return departures_callout(page.model.plan)


def verdict(page: ScenarioPage) -> str:
    """Return the banner: where models break, whether they differ in it, and how many drops are shown in large type."""
    found = page.model
    tone = answer_tone(found)
    sign = _SIGNS.get(tone, "?")
    amount, range_words = headline_number(found)
    return verdict_banner(
        label=capital(answer_label(found)),
        sign=sign,
        tone=tone,
        answer=stopped(headline(found)),
        why=why_words(found),
        meaning=_meaning(found),
        amount=amount,
        range_words=range_words,
    )


def headline_number(found: ScenarioModel) -> tuple[str, str]:
    """Return how many drops are shown, as it is shown large, and its words; nothing where no drop can be judged."""
    n = len(judged(found))
    if not n or not answers(found):
        return "", ""
    shown = sum(row.verdict == "drop" for row in found.drops)
    return f"{shown} of {n}", f"changes from {base_name(found)} shown to be worse"


def why_words(found: ScenarioModel) -> str:
    """Name the largest drop that is shown, with its interval, and say whether the models differ in where they break."""
    if not answers(found):
        return ""
    said: list[str] = []
    worst = worst_drop(found.drops)
    if worst is not None and len(found.drops) > 1:
        ends = ends_text(worst.conf_low, worst.conf_high, found, sign=True)
        said.append(
            f"The largest change is that of {worst.model} in {worst.scenario}: {change_text(worst.estimate, found)} {ends}."
        )
    said.append(interaction_sentence(found) or "")
    return " ".join(text for text in said if text)


def _meaning(found: ScenarioModel) -> str:
    """Say what a drop is, what its interval promises, and for what."""
    level = f"{100 * found.conf_level:g}%"
    return (
        f"A change is the score in a scenario minus that in {base_name(found)}; it is shown where its {level} interval, which "
        f"is adjusted for all changes of the table, leaves out 0. Not shown is not the same as none. "
        f"What is estimated: {found.estimand}."
    )


def facts(page: ScenarioPage) -> str:
    """Return the strip of key facts: what the answer rests on."""
    return fact_strip(key_facts(page.model))


def key_facts(found: ScenarioModel) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    direction = "higher is better" if found.higher_is_better else "lower is better"
    cells = len(found.cells)
    empty = sum(row.estimate is None for row in found.cells)
    facts: list[tuple[str, str, str]] = [
        (f"{capital(found.contrast)}s", f"{found.n_models:,}", weights_words(found)),
        ("Scenarios", f"{found.n_scenarios:,}", f"taken as {found.scenario_as}"),
        ("Items", f"{found.n_items:,}", f"{found.n_trials:,} scored rows"),
        ("Cells", f"{cells - empty:,}", f"of {cells:,} with an estimate" if empty else "all with an estimate"),
    ]
    if found.clusters:
        facts.append(("Clusters", f"{found.n_clusters or 0:,}", " and ".join(found.clusters)))
    else:
        facts.append(("Clusters", "none", "items taken as independent"))
    facts.append(("Metric", found.metric, f"{found.metric_kind}, {direction}"))
    lost = found.n_error + found.n_unscored
    if lost:
        facts.append(("Missing", f"{lost:,}", f"{found.n_error:,} failed, {found.n_unscored:,} without a score"))
    return facts


def warnings(page: ScenarioPage) -> str:
    """Return what must be known before a number is used; nothing where there is nothing."""
    found = page.model
    return warnings_callout([linked(sentence(text)) for text in undeparted(found.warnings, found.plan)])
