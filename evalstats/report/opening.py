"""What a decision maker reads first: the question, the verdict, the number, what it rests on, what to beware of."""

from evalstats.analysis.compare.figures import digits_of
from evalstats.analysis.compare.result import Comparison, Verdict, qualified
from evalstats.analysis.notes import VERDICT_TONE
from evalstats.document.escape import for_html
from evalstats.document.numbers import number, plural, scaled
from evalstats.report.alike import refusal_sentence
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.callouts import departures_callout, simulated_callout, undeparted, warnings_callout
from evalstats.report.comparison import ComparisonPage
from evalstats.report.markup import both, linked, metadata, prose, sentence, typst_string
from evalstats.report.verdicts import SIGNS, glossary, word

_OTHER_MARGIN = "departs from the plan: margin"


def title(page: ComparisonPage) -> str:
    """Return the question as the document's title."""
    result = page.comparison
    question = f"Is {result.candidate.name} better than {result.baseline.name} on {result.benchmark}?"
    return metadata(title=prose(question), subtitle="Comparison of two systems on the same items")


def simulated(page: ComparisonPage) -> str:
    """Return a callout where the data are simulated; nothing where they are not."""
    return simulated_callout(page.comparison.notes)


def verdict(page: ComparisonPage) -> str:
    """Return the banner: the verdict's word, what it means here and in general, the difference and its interval."""
    result = page.comparison
    label, sign, tone = word(result.verdict), SIGNS[result.verdict], VERDICT_TONE[result.verdict]
    answer, why, meaning = answer_line(result), _reason(page), glossary([result.verdict])
    # A number in large type is a claim; where the runs cannot be compared there is none.
    amount, range_words = ("", "") if page.refused else headline_number(result)
    return verdict_banner(
        label=label,
        sign=sign,
        tone=tone,
        answer=answer,
        why=why,
        meaning=meaning,
        amount=amount,
        range_words=range_words,
    )


def _reason(page: ComparisonPage) -> str:
    return refusal_sentence(page.comparison) if page.refused else sentence(page.comparison.verdict_reason)


def departures(page: ComparisonPage) -> str:
    """Return a callout where the result departs from the plan that was declared; nothing where it does not."""
    return departures_callout(page.comparison.plan)


def standing(page: ComparisonPage) -> str:
    """Return how the candidate stands at the declared margin, in one line; nothing where none was declared."""
    account = page.comparison.at_margin
    if account is None or account.limit is None:
        return ""
    label = (
        "Not inferior, by the declared margin."
        if account.noninferior
        else "Not shown to be within the declared margin."
    )
    tone = "good" if account.noninferior else "caution"
    why = sentence(account.reason)
    html = f'<p class="es-standing es-{tone}"><strong>{for_html(label)}</strong> {for_html(why)}</p>'
    return both(html, f"#es-standing({typst_string(label)}, {typst_string(why)}, tone: {typst_string(tone)})")


def answer_line(result: Comparison) -> str:
    """Answer the question in one sentence, with what limits the answer."""
    first, second, place = result.candidate.name, result.baseline.name, result.benchmark
    lines: dict[Verdict, str] = {
        "better": f"{first} is better than {second} on {place}",
        "worse": f"{first} is worse than {second} on {place}",
        "equivalent": f"{first} and {second} differ by less than the declared margin on {place}",
        "inconclusive": result.only_higher() or f"These data do not tell {first} and {second} apart on {place}",
        "powerless": f"This design could not have told {first} and {second} apart on {place}",
        "invalid": f"{first} and {second} cannot be compared on these data",
    }
    return f"{qualified(lines[result.verdict], result.qualifiers)}."


def headline_number(result: Comparison) -> tuple[str, str]:
    """Return the difference as it is shown large, and its interval in words below it."""
    unit = f" {result.unit}" if result.unit else ""
    digits = digits_of(result)
    amount = f"{scaled(result.estimate, result.scale, digits, sign=True)}{unit}"
    if result.conf_low is None or result.conf_high is None:
        return amount, "no interval can be given"
    low, high = (scaled(end, result.scale, digits, sign=True) for end in (result.conf_low, result.conf_high))
    level = f"{100 * result.conf_level:g}%"
    which = f"{level} interval" if result.sequential is None else f"{level} at every look"
    return amount, f"{which}: {low} to {high}{unit}"


def facts(page: ComparisonPage) -> str:
    """Return the strip of key facts: what the number rests on."""
    return fact_strip(key_facts(page.comparison))


def key_facts(result: Comparison) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    unit = f" {result.unit}" if result.unit else ""
    direction = "higher is better" if result.higher_is_better else "lower is better"
    clusters = ("Clusters", "none", "items taken as independent")
    if result.n_clusters is not None:
        clusters = ("Clusters", f"{result.n_clusters:,}", " and ".join(result.clusters))
    found = [
        ("Items", f"{result.n_items:,}", _items_of(result)),
        ("Trials", f"{result.n_trials:,}", _trials_each(result)),
        clusters,
        ("Metric", result.metric, f"{result.metric_kind}, {direction}"),
    ]
    if result.margin is not None:
        planned = result.plan is None or not any(text.startswith(_OTHER_MARGIN) for text in result.plan.departures)
        told = "declared before looking" if planned else "given now, not as planned"
        found.append(("Margin", f"±{number(result.margin * result.scale)}{unit}", told))
    if result.mde is not None:
        shown = scaled(result.mde, result.scale, digits_of(result))
        found.append(("Detectable", f"{shown}{unit}", "true difference, with 80% power"))
    return found


def _items_of(result: Comparison) -> str:
    account = result.sequential
    if account is not None:
        planned = f", of {plural(account.planned_n, account.unit)} planned" if account.planned_n is not None else ""
        return f"finished on both sides so far{planned}"
    missing = result.missing
    total = missing.n_both + missing.n_only_baseline + missing.n_only_candidate + missing.n_neither
    return f"of {total:,} scored on both sides"


def _trials_each(result: Comparison) -> str:
    each = result.n_trials / (2 * result.n_items) if result.n_items else 0
    return f"{each:g} per item and side" if each == int(each) else f"{each:.1f} per item and side on average"


def warnings(page: ComparisonPage) -> str:
    """Return what must be known before the number is used; nothing where there is nothing."""
    result = page.comparison
    elsewhere = {each.explanation for each in result.run_differences} if page.refused else set[str]()
    said = [text for text in undeparted(result.warnings, result.plan) if text not in elsewhere]
    texts = [linked(sentence(text)) for text in said]
    texts += [prose(_otherwise(name, other)) for name, other in page.alternatives if other.conf_low is not None]
    return warnings_callout(texts)


def _otherwise(name: str, other: Comparison) -> str:
    """Say what the answer is when the levels of a factor are taken for clusters."""
    unit = f" {other.unit}" if other.unit else ""
    digits = digits_of(other)
    low, high = (scaled(end, other.scale, digits, sign=True) for end in (other.conf_low, other.conf_high))
    return (
        f"For new levels of {name}, rather than new items of these, the verdict is {other.verdict}: "
        f"{100 * other.conf_level:g}% interval {low} to {high}{unit}."
    )
