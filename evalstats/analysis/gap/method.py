"""How lab and live were set against each other, and what that assumes."""

from collections.abc import Sequence

from evalstats.analysis.gap.result import CalibrationLine, LabLiveGap, SideAccount
from evalstats.analysis.gap.shown import ShownSide, share
from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.result import level
from evalstats.document.model import Column, Items, Section, Table, listed
from evalstats.document.numbers import interval_words, number, p_words
from evalstats.grammar import and_list, plural

_NAMED = 4
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
