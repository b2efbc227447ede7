"""Tenacious-Bench as a worked audit: one published headline, taken apart with the functions that every user has.

Nothing here is typed in: every number comes from `compare`, `score` and `power` on the published pairs, or is a count of what
the published files hold.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.power.power import power
from evalstats.analysis.power.result import PowerPlan
from evalstats.analysis.result import MethodRow, as_columns
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score
from evalstats.datasets.tenacious import (
    SOURCE,
    ScoredPair,
    TenaciousFiles,
    TenaciousRun,
    TenaciousStudy,
    as_data,
    load_tenacious,
)
from evalstats.document.model import Code, Column, Document, Figure, Items, Section, Table, Text
from evalstats.document.numbers import interval_words, number, p_words, plural
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData

SEED: Final = 42
OTHER_SEEDS: Final = tuple(range(6))
_DRAWS = 1000
_FEWEST = 5  # clusters for an interval
_MCNEMAR, _SIGN_FLIP = "McNemar exact", "cluster sign-flip"
_CLUSTER_BOOTSTRAP = "cluster percentile bootstrap, exact law"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def published_interval(run: TenaciousRun, seed: int) -> tuple[float, float]:
    """Return the published kind of interval in percentage points: 1,000 resamples of pairs, the 26th and the 976th of them.

    >>> published_interval(load_tenacious().last, 42)
    (34.88, 62.79)
    """
    gains = [(pair.trained == "right") - (pair.baseline == "right") for pair in run.pairs]
    draws = random.Random(seed)  # noqa: S311 - the generator of the published script: its interval is to be found again
    n = len(gains)
    means = sorted(sum(gains[draws.randrange(n)] for _ in gains) / n for _ in range(_DRAWS))
    low, high = means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS)]
    return round(100 * low, 2), round(100 * high, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The headline under every reading.

    `pairs` takes the pairs as independent, `half_credit` counts ties as half right, `distinct` takes each distinct row once;
    `dimensions` and `half_credit_dimensions` take the dimensions for the units. `earlier` are the other runs, by dimension (None
    where that cannot be). `plan` is what half the gain would have needed, `trained` the score of the trained critic alone.
    """

    study: TenaciousStudy
    pairs: Comparison
    half_credit: Comparison
    distinct: Comparison
    dimensions: Comparison
    half_credit_dimensions: Comparison
    earlier: tuple[Comparison | None, ...]
    plan: PowerPlan
    trained: Score
    seeds: tuple[int, ...]

    @property
    def gain(self) -> float:
        """The published difference in percentage points."""
        return 100 * (self.pairs.estimate or 0.0)

    @property
    def design_effect(self) -> float:
        """By how much the variance grows where dimensions are a sample."""
        return next(each.design_effect for each in self.pairs.dependence if each.factor in ("dimension", "scenario"))


def audit(study: TenaciousStudy) -> Audit:
    """Return the headline of a study under every reading.

    CannotAnswerError where its last run has too few dimensions, or no gain that differs from pair to pair.
    """
    last = study.last
    _check(last)
    data = as_data(last)
    dimensions = _compared(last, cluster="dimension")
    return Audit(
        study=study,
        pairs=_compared(last, cluster="none"),
        half_credit=_compared(last, metric="half_credit", cluster="none"),
        distinct=_compared(last, last.distinct(), cluster="none"),
        dimensions=dimensions,
        half_credit_dimensions=_compared(last, metric="half_credit", cluster="dimension"),
        earlier=tuple(_by_dimension(run) for run in study.runs[:-1]),
        plan=_half(data, (dimensions.estimate or 0.0) / 2),
        trained=_one(score(data, "trained", metric="correct")),
        seeds=tuple(seed for seed in OTHER_SEEDS if published_interval(last, seed) == published_interval(last, SEED)),
    )


def _check(run: TenaciousRun) -> None:
    if len(run.dimensions) < _FEWEST:
        raise CannotAnswerError(
            f"the run has {plural(len(run.dimensions), 'dimension')}; at least {_FEWEST} are needed to take them for a sample"
        )
    gains = [(pair.trained == "right") - (pair.baseline == "right") for pair in run.pairs]
    if sum(gains) == 0 or len(set(gains)) == 1:
        raise CannotAnswerError(
            "the two critics are right equally often, or differ alike on every pair, so there is no gain to take apart; ask "
            "`evalstats compare` about these pairs"
        )


def _compared(
    run: TenaciousRun,
    pairs: Sequence[ScoredPair] | None = None,
    *,
    metric: str = "correct",
    cluster: str | None = None,
) -> Comparison:
    return compare(as_data(run, pairs), "baseline", "trained", metric=metric, cluster=cluster)


def _by_dimension(run: TenaciousRun) -> Comparison | None:
    try:
        return _compared(run, cluster="dimension")
    except CannotAnswerError:
        return None


def _half(data: EvalData, gain: float) -> PowerPlan:
    return power(
        delta=gain, pilot=data, baseline="baseline", candidate="trained", metric="correct", cluster="dimension"
    )


def _one(found: Score | tuple[Score, ...]) -> Score:
    return found[0] if isinstance(found, tuple) else found


def method_row(comparison: Comparison, method: str) -> MethodRow:
    """Return the row of a comparison by its method."""
    return next(row for row in comparison.rows if row.method == method)


def document(study: TenaciousStudy | None = None) -> Document:
    """Return the audit of a study, by itself of the shipped figures."""
    found = audit(study or load_tenacious())
    last = found.study.last
    return Document(
        kind="tenacious",
        title=f"Did training a critic gain {found.gain:.0f} points?",
        label="overstated",
        tone="caution",
        headline=_headline(found),
        number=_points(found.gain),
        number_words=f"as published, 95% CI {interval_words(last.conf_low, last.conf_high)}",
        scope=(
            f"{plural(len(last.pairs), 'pair')} of drafts in {plural(len(last.dimensions), 'dimension')}, the held-out split of "
            f"Tenacious-Bench. Computed from {found.study.origin}"
        ),
        answer=(Text(text=_task(last)), readings(found)),
        evidence=(
            _reproduced(found),
            _ties(found),
            _clusters(found),
            _runs(found),
            _files(found),
            _needed(found),
            Section(id="may-say", heading="What the headline may say", blocks=(Text(text=may_say(found.study)),)),
        ),
        method=(_methods(found), _not_shown(found.study.files), _again()),
    )


def _task(run: TenaciousRun) -> str:
    return (
        "A critic sees two drafts and is right when it scores the better one higher. The pairs come from "
        f"{plural(len(run.dimensions), 'dimension')}, kinds of situation such as {run.dimensions[0]}."
    )


def _headline(found: Audit) -> str:
    """Say what of the gain is due to ties, and how far the rest reaches."""
    share = 1 - 100 * (found.half_credit.estimate or 0.0) / found.gain if found.gain else 0.0
    ties = "Half" if abs(share - 0.5) < 0.005 else f"{100 * share:.0f}%"
    reach = f"beyond {plural(len(found.study.last.dimensions), 'dimension')}"
    stands = "is established" if found.dimensions.verdict in ("better", "worse") else "is open"
    return f"{ties} of that is how ties are counted; {reach} it {stands}"


def _points(value: float) -> str:
    return f"{number(value, 1, sign=True)} pp"


def readings(found: Audit) -> Figure:
    """Return the gain under each reading as intervals in one forest."""
    last = found.study.last
    low, high = published_interval(last, SEED)
    published: dict[str, Any] = {"estimate": found.gain, "conf_low": low, "conf_high": high}
    otherwise, distinct = "These pairs, read otherwise", f"The {len(last.distinct())} distinct rows, each once"
    as_they_are, sampled = "These pairs, a tie is an error", f"The {len(last.dimensions)} dimensions are a sample"
    bootstrap = method_row(found.dimensions, _CLUSTER_BOOTSTRAP)
    rows: list[dict[str, Any]] = [
        {"group": as_they_are, "label": "As published: bootstrap of pairs", **published},
        {"group": as_they_are, "label": "Tango's score interval", **_interval(found.pairs)},
        {"group": otherwise, "label": "A tie is half right", **_interval(found.half_credit)},
        {"group": otherwise, "label": distinct, **_interval(found.distinct)},
        {"group": sampled, "label": "Cluster-robust (CR2)", **_interval(found.dimensions)},
        {"group": sampled, "label": "Exact bootstrap of dimensions", **_interval(bootstrap)},
        {"group": sampled, "label": "CR2, a tie is half right", **_interval(found.half_credit_dimensions)},
    ]
    for row in rows:
        ends = interval_words(row["conf_low"], row["conf_high"])
        row["words"] = f"{number(row['estimate'], 1, sign=True)} ({ends})"
    return Figure(
        id="readings",
        plot="forest",
        rows=as_columns(rows),
        options={"title": "Gain of the trained critic, percentage points"},
        alt=f"The gain with its 95% interval under {len(rows)} readings of the same pairs.",
        caption="One gain, read in several ways, with 95% intervals. A hollow point: the interval includes 0",
    )


def _interval(estimate: Comparison | MethodRow) -> dict[str, Any]:
    ends = {name: getattr(estimate, name) for name in ("estimate", "conf_low", "conf_high")}
    return {name: None if value is None else 100 * value for name, value in ends.items()}


def _reproduced(found: Audit) -> Section:
    last = found.study.last
    right = [sum(getattr(pair, critic) == "right" for pair in last.pairs) for critic in ("baseline", "trained")]
    n = len(last.pairs)
    low, high = published_interval(last, SEED)
    told = (
        f"The baseline is right on {right[0]} of {n} pairs, the trained critic on {right[1]}. Resampling pairs {_DRAWS:,} times "
        f"with the published seed, {SEED}, gives {low:.2f} to {high:.2f}. So do {len(found.seeds)} of {len(OTHER_SEEDS)} other "
        f"seeds, for gains move in steps of one pair ({100 / n:.2f} pp)."
    )
    exact = method_row(found.pairs, _MCNEMAR).p_value or 0.0
    p = (
        f"The published p of {last.p_value:.1f} cannot be: McNemar's exact p is {_small(exact)}. {right[1]} of {n} right is "
        f"compatible with an accuracy of {_percent(found.trained.conf_low)} (95% CI, Wilson)."
    )
    same = (low, high) == (last.conf_low, last.conf_high)
    return Section(
        id="reproduced",
        heading="The headline is reproduced to its last digit" if same else "The headline is not reproduced",
        blocks=(Text(text=told), Text(text=p)),
    )


def _small(p: float) -> str:
    mantissa, _, exponent = f"{p:.1e}".partition("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}" if p < 0.001 else f"{p:.3f}"


def _percent(share: float | None) -> str:
    return f"{number(None if share is None else 100 * share, 1)}%"


def _ties(found: Audit) -> Section:
    pairs = found.study.last.pairs
    errors = [pair for pair in pairs if pair.baseline != "right"]
    ties = sum(pair.baseline == "tie" for pair in errors)
    half = found.half_credit
    told = (
        f"On {ties} of its {len(errors)} errors the baseline scores both drafts alike. With half credit it is right on "
        f"{_percent(half.baseline.estimate)}, not {_percent(found.pairs.baseline.estimate)}, and the gain is "
        f"{_points(100 * (half.estimate or 0.0))} (95% CI {interval_words(half.conf_low, half.conf_high, 100)})."
    )
    every = "All" if ties == len(errors) else f"{ties} of"
    return Section(
        id="ties", heading=f"{every} {len(errors)} errors of the baseline are ties", blocks=(Text(text=told),)
    )


def _clusters(found: Audit) -> Section:
    last, sampled = found.study.last, found.dimensions
    differ = _gained(last)
    told = (
        f"Within a dimension all pairs end alike. To speak of other dimensions, the {len(last.pairs)} pairs count like "
        f"{len(last.pairs) / found.design_effect:.0f} independent ones (design effect {found.design_effect:.1f}): 95% CI "
        f"{interval_words(sampled.conf_low, sampled.conf_high, 100)}, {p_words(sampled.p_value)}. The exact sign-flip test gives "
        f"{p_words(method_row(sampled, _SIGN_FLIP).p_value)}, the least that {differ} differing dimensions can."
    )
    fixed = (
        f"For these {len(last.dimensions)} alone no interval is needed: the baseline ties throughout {differ}, the trained "
        f"critic is right in all. Only {len(last.distinct())} of {len(last.pairs)} rows are distinct; each once, the "
        f"gain is {_points(100 * (found.distinct.estimate or 0.0))}."
    )
    return Section(
        id="dimensions",
        heading=f"{len(last.dimensions)} dimensions decide, not {len(last.pairs)} pairs",
        blocks=(Text(text=told), _dimensions(last), Text(text=fixed)),
    )


def _gained(run: TenaciousRun) -> int:
    """Count dimensions in which the two critics do not end alike."""
    return sum(
        sum((pair.trained == "right") - (pair.baseline == "right") for pair in run.pairs if pair.dimension == name) != 0
        for name in run.dimensions
    )


def _dimensions(run: TenaciousRun) -> Table:
    rows: list[tuple[str, int, int, int, int, int]] = []
    for name in run.dimensions:
        own = [pair for pair in run.pairs if pair.dimension == name]
        counts = [sum(pair.baseline == word for pair in own) for word in ("right", "tie")]
        right = sum(pair.trained == "right" for pair in own)
        rows.append((name, len(own), len({pair.scores for pair in own}), counts[0], counts[1], right))
    # What the baseline fails stands first, the most pairs before the others.
    rows.sort(key=lambda row: (row[3], -row[1]))
    return Table(
        id="dimensions",
        columns=(
            Column(title="Dimension", kind="name"),
            Column(title="Pairs", kind="count"),
            Column(title="Distinct", kind="count", spare=True),
            Column(title="Baseline right", kind="count"),
            Column(title="Baseline ties", kind="count"),
            Column(title="Trained right", kind="count"),
        ),
        rows=tuple(rows),
        caption="The baseline gets all or nothing in every dimension",
    )


def _runs(found: Audit) -> Section:
    runs = found.study.runs
    rows = [
        (
            run.commit,
            len(run.pairs),
            len(run.dimensions),
            run.shared_ids,
            f"{run.baseline_accuracy:.4f} to {run.trained_accuracy:.4f}",
            f"{number(run.gain, 1, sign=True)} ({interval_words(run.conf_low, run.conf_high)})",
            None if own is None else (own.conf_low, own.conf_high),
        )
        for run, own in zip(runs, (*found.earlier, found.dimensions), strict=True)
    ]
    agree = sum(published_interval(run, SEED) == (run.conf_low, run.conf_high) for run in runs)
    table = Table(
        id="runs",
        columns=(
            Column(title="Commit", kind="name"),
            Column(title="Pairs", kind="count"),
            Column(title="Dimensions", kind="count", spare=True),
            Column(title="Also in the last", kind="count", spare=True),
            Column(title="Accuracy", kind="amount", spare=True),
            Column(title="Published gain, pp", kind="amount"),
            Column(title="CR2", kind="interval", scale=100),
        ),
        rows=tuple(rows),
        caption="Published runs, oldest first, with the interval if dimensions are a sample",
    )
    told = (
        f"The held-out set was rebuilt for every run. A set that changes between runs is no longer held out. All {agree} "
        "published intervals are found again."
        if agree == len(runs)
        else f"{agree} of {len(runs)} published intervals are found again."
    )
    return Section(
        id="runs", heading=f"{len(runs)} runs had {len(runs)} held-out sets", blocks=(Text(text=told), table)
    )


def _files(found: Audit) -> Section:
    files, n = found.study.files, len(found.study.last.pairs)
    tasks = files.tasks_train + files.tasks_dev + files.tasks_held_out
    rows = (
        ("Scored pairs in the shipped held-out split", f"{files.pairs_in_held_out} of {n}"),
        ("Scored pairs in the shipped dev split", f"{files.pairs_in_dev} of {n}"),
        ("Shipped held-out tasks that the run trained on", f"{files.held_out_trained_on} of {files.tasks_held_out}"),
        ("Tasks whose own field names another split", f"{files.other_split} of {tasks}"),
        (
            "Held-out tasks: README, shipped, run",
            f"{files.readme_held_out}, {files.tasks_held_out}, {files.run_held_out}",
        ),
    )
    counts = asdict(files)
    table = Table(
        id="files",
        columns=(Column(title="Counted"), Column(title="Found", kind="amount")),
        rows=rows,
        caption="What the published files hold",
        frame={"fact": list(counts), "value": list(counts.values())},
    )
    return Section(
        id="files",
        heading="The shipped files are not those of the run",
        blocks=(table, Text(text=_check_words(files, n)), Text(text=_rater_words(files))),
    )


def _check_words(files: TenaciousFiles, n: int) -> str:
    found = "none" if not files.check_violations else f"{files.check_violations}"
    agreed = "nor do we" if not files.check_violations + files.shared_ngrams else f"we find {files.shared_ngrams}"
    return (
        f"The contamination check found {found} of {files.checked} shipped held-out tasks to share 8 words with training; "
        f"{agreed}. But of the {n} scored pairs, {files.pairs_shared_ngrams} share 8 words with what the run trained on. We find "
        f"{files.cosines_again} of {files.cosines} word-count cosines again. The embedding cosines nobody can: Python salts its "
        "hash in every process."
    )


def _rater_words(files: TenaciousFiles) -> str:
    if not files.rated_alike == files.rated_as_evaluated == files.rated_scores:
        return f"The two rater passes agree in {files.rated_alike} of {files.rated_scores} scores."
    return f"The two passes of raters, said to agree fully on {files.rated_tasks} tasks, are the scoring program's own output."


def _needed(found: Audit) -> Section:
    plan, n = found.plan, len(found.study.last.dimensions)
    needed = plan.n_clusters
    if needed is None:
        return Section(id="needed", heading="No number of dimensions would do", blocks=(Text(text=plan.reason or ""),))
    spread = (
        f", {plan.answer_low:,.0f} to {plan.answer_high:,.0f} by what {n} can tell"
        if plan.answer_low is not None and plan.answer_high is not None
        else ""
    )
    told = (
        f"To find half this gain, {_points(100 * (plan.delta or 0.0))}, with 80% power takes about {needed} such "
        f"dimensions{spread}. More pairs in the same {n} repeat the answer."
    )
    return Section(id="needed", heading=f"About {needed} dimensions were needed", blocks=(Text(text=told),))


def may_say(study: TenaciousStudy) -> str:
    """Return the one sentence that the data bear."""
    last = study.last
    ties = sum(pair.baseline == "tie" and pair.trained == "right" for pair in last.pairs)
    lost = sum(pair.baseline == "right" and pair.trained != "right" for pair in last.pairs)
    losses = "lost no pair" if not lost else f"lost {plural(lost, 'pair')}"
    return (
        f"On {len(last.pairs)} pairs in {len(last.dimensions)} dimensions the trained critic resolved {ties} ties of the "
        f"baseline and {losses}; whether it gains in other dimensions is open."
    )


def _methods(found: Audit) -> Section:
    kinds = (("pairs", found.pairs), ("dimensions", found.dimensions), ("half credit", found.half_credit))
    rows = [
        (
            f"{row.method}, {kind}",
            None if row.estimate is None else 100 * row.estimate,
            None if row.conf_low is None else (row.conf_low, row.conf_high),
            row.p_value,
        )
        for kind, comparison in kinds
        for row in comparison.rows
    ]
    table = Table(
        id="methods",
        columns=(
            Column(title="Method and unit"),
            Column(title="Gain, pp", kind="number", sign=True),
            Column(title="95% CI", kind="interval", scale=100, digits=2),
            Column(title="p", kind="p"),
        ),
        rows=tuple(rows),
        caption="The gain by every method of the comparisons",
    )
    return Section(id="methods", heading="All methods", blocks=(table,))


def _not_shown(files: TenaciousFiles) -> Section:
    items = (
        f"The run trained on the {files.run_train} tasks of its evaluation of the training split. Tasks are matched by id.",
        "The trained critic is a linear model whose features use the task's ground truth; no language model was trained.",
        "The worse draft of a pair is a scripted degradation of the better one.",
        "The second published ablation repeats the baseline and the numbers of the first.",
        f"Read from {SOURCE}; no licence was found, so evalstats carries figures only.",
    )
    return Section(id="beside", heading="What else to know", blocks=(Items(items=items),))


def _again() -> Section:
    code = (
        "import evalstats as es\n\n"
        'data = es.read("ablations/held_out_traces.jsonl")\n'
        'es.compare(data, "baseline", "trained", metric="correct")  # clustered by dimension\n'
        'asked = {"baseline": "baseline", "candidate": "trained"}\n'
        'asked |= {"metric": "correct", "cluster": "dimension"}\n'
        "difference = es.compare(data, **asked).estimate\n"
        "es.power(delta=difference / 2, pilot=data, **asked)\n"
        'es.report("tenacious", "audit.html", data=".")  # in a copy of the repository'
    )
    return Section(id="again", heading="How to do it again", blocks=(Code(code=code),))


def opened(data: str) -> TenaciousStudy:
    """Return the study of the original files at a path; of the shipped figures where it is empty."""
    if not data:
        return load_tenacious()
    from evalstats.report.tenacious_files import read_tenacious

    return read_tenacious(Path(data))
