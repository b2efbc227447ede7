"""Where models break, in words: what is shown, what is left open, and what to beware of. Only what is in the result is said."""

from evalstats.analysis.notes import plan_items
from evalstats.analysis.scenarios.result import DropRow, ScenarioModel
from evalstats.analysis.scenarios.wording_answer import (
    answer_label,
    answer_tone,
    headline,
    ranking_sentence,
    standing_sentences,
)
from evalstats.analysis.scenarios.wording_spread import (
    reliability_blocks,
    tests_blocks,
    variance_blocks,
)
from evalstats.analysis.scenarios.wording_tables import (
    crossings_table,
    drops_table,
    matrix,
    models_table,
    pairs_table,
    scenarios_table,
    weights_words,
)
from evalstats.analysis.scenarios.words import (
    AVERAGE,
    capital,
    judged,
    some,
    stopped,
)
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number, plural


def scenario_sentences(result: ScenarioModel) -> list[str]:
    """Where models break, what is left open, whether they break in different places; then the warnings."""
    return [
        stopped(headline(result)),
        *standing_sentences(result),
        *[stopped(f"Warning: {text}") for text in result.warnings],
    ]


def scenario_blocks(result: ScenarioModel) -> list[Block]:
    """Return the whole answer: the finding, the tables, sources of variation, reliability, what is missing, the method."""
    models = plural(result.n_models, "model")
    blocks: list[Block] = [
        Heading(text=f"Where {models} on {result.benchmark} break{'s' if result.n_models == 1 else ''}", level=1),
        Banner(label=answer_label(result), text=stopped(headline(result)), tone=answer_tone(result)),
    ]
    if result.converged:
        blocks.append(Paragraph(text=" ".join(standing_sentences(result))))
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    if result.converged:
        # From a fit that did not converge nothing follows, so nothing of it is shown.
        blocks.extend(_tables(result))
        blocks.extend(_ranking_blocks(result))
        blocks.extend(tests_blocks(result))
        blocks.extend(variance_blocks(result))
        blocks.extend(reliability_blocks(result))
    blocks.extend(missing_blocks(result))
    blocks.append(Bullets(title="Method", items=tuple(method_items(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=result.notes))
    return blocks


# --- tables ---


def _tables(result: ScenarioModel) -> list[Block]:
    found: list[Table | None] = [scenarios_table(result), matrix(result)]
    if result.n_models > 1:
        found.append(models_table(result))
    if lists_drops(result):
        found.append(drops_table(result))
    found.append(pairs_table(result))
    blocks: list[Block] = [table for table in found if table is not None]
    beside = tuple(_beside(result))
    return [*blocks, *([Bullets(items=beside)] if beside else [])]


def _excludes_0(row: DropRow) -> bool:
    return row.conf_low is not None and row.conf_high is not None and (row.conf_low > 0 or row.conf_high < 0)


def lists_drops(result: ScenarioModel) -> bool:
    """Whether changes are listed one by one: not where scenarios are many and sampled, and none of them is shown."""
    return bool(result.drops) and (
        result.scenario_as == "fixed" or any(row.verdict in ("drop", "gain") for row in result.drops)
    )


def _beside(result: ScenarioModel) -> list[str]:
    """Say what the lines alone would suggest wrongly, and where the rest is."""
    said: list[str] = []
    if len(result.drops) > 1 and not lists_drops(result):
        said.append(f"The {len(result.drops):,} changes are in the JSON and in drops_frame(); none is shown.")
    if lists_drops(result) and len(result.drops) > 1:
        said.append(
            "That one change is shown and another is not does not make the two different; the interaction is what asks that."
            if result.n_models > 1
            else "That one change is shown and another is not does not make the two different."
        )
    if result.reference != AVERAGE and judged(result) and all(row.paired is None for row in result.drops):
        said.append(
            "No item was scored in two scenarios: a change may be that of the items, harder or easier in one than in the other."
        )
    if any(row.paired is not None for row in result.drops):
        said.append("Paired: the plain mean of the differences within items scored in both, without any model.")
    if any(row.pooled is not None for row in result.drops):
        said.append(
            "Pooled: drawn towards what the scenario does to the other models, by as much as the noise makes likely."
        )
    pairs = [pair for pair in result.pairs if not pair.scenario]
    if pairs and pairs_table(result) is None:
        apart = sum(pair.separated for pair in pairs)
        said.append(
            f"Over all scenarios {apart} of {plural(len(pairs), 'pair')} of models are separated; they are in the JSON and in "
            "pairs_frame()."
        )
    if matrix(result) is None:
        said.append(
            f"The {plural(len(result.cells), 'cell')} of models and scenarios are in the JSON and in to_frame()."
        )
    reasons = [
        (row.verdict_reason, f"{row.model} in {row.scenario}") for row in result.drops if row.verdict == "invalid"
    ]
    reasons += [(str(row.reason), row.name) for row in (*result.models, *result.scenarios) if row.reason]
    reasons += [
        (f"not shown, although the interval excludes 0: {row.verdict_reason}", f"{row.model} in {row.scenario}")
        for row in result.drops
        if row.verdict == "not shown" and _excludes_0(row)
    ]
    for reason in dict.fromkeys(reason for reason, _ in reasons):
        names = [name for other, name in reasons if other == reason]
        said.append(stopped(f"{some(names)}: {reason or 'cannot be judged'}"))
    return said


def _ranking_blocks(result: ScenarioModel) -> list[Block]:
    table = crossings_table(result)
    if result.ranking is None or table is None:
        return []
    return [
        Heading(text="Does the ranking change?", level=2),
        Paragraph(text=ranking_sentence(result)),
        table,
    ]


def missing_blocks(result: ScenarioModel) -> list[Block]:
    """Say which cells lack items, and what was left out."""
    lost = result.n_error + result.n_unscored
    lacking = [row for row in result.cells if row.n_missing]
    if not lost and not lacking:
        return []
    said: list[str] = []
    if lost:
        said.append(
            f"{plural(result.n_error, 'harness error')} and {plural(result.n_unscored, 'unscored row')} are left out: missing is "
            "not wrong, and not 0."
        )
    if lacking:
        worst = sorted(lacking, key=lambda row: -row.n_missing)
        names = some(
            [f"{row.model} in {row.scenario} ({row.n_missing:,} of {row.n_items + row.n_missing:,})" for row in worst]
        )
        said.append(
            f"{plural(len(lacking), 'cell')} of {len(result.cells)} {'lacks' if len(lacking) == 1 else 'lack'} items that others "
            f"have: {names}. The model takes them as missing for reasons that have nothing to do with their score."
        )
    return [Heading(text="Missing data", level=2), Paragraph(text=" ".join(said))]


# --- method ---


def method_items(result: ScenarioModel) -> list[str]:
    """Return short statements on how the answer was reached."""
    kind = result.metric_kind + ("" if result.higher_is_better else ", lower is better")
    base = "each model's mean over its other scenarios" if result.reference == AVERAGE else result.reference
    items = [
        f"{capital(result.method)}, because {result.method_reason}: {result.formula}",
        f"Scenarios are {result.scenario_as}: {result.scenario_reason}",
        f"Estimand: {result.estimand}",
        f"Metric: {result.metric} ({kind}) on {result.benchmark}",
        *([f"Changes are counted from {base}"] if result.drops else []),
        f"Weights of scenarios in the means of models: {weights_words(result)}",
        *([f"Standard errors: {result.covariance_method}"] if result.covariance_method else []),
        *([f"Ranking: {result.ranking.method}"] if result.ranking is not None and result.ranking.method else []),
        *([f"Penalty: {result.penalty}"] if result.penalty else []),
        *([f"The fit: {result.convergence}{_criteria(result)}"] if result.convergence else []),
        *([f"Singular: {'; '.join(result.singular)}"] if result.singular else []),
        *plan_items(result.plan),
        _sources(result),
    ]
    return [stopped(item) for item in items]


def _criteria(result: ScenarioModel) -> str:
    named = (("log-likelihood", result.log_likelihood), ("AIC", result.aic), ("BIC", result.bic))
    return "".join(f", {name} {number(value, 1)}" for name, value in named if value is not None)


def _sources(result: ScenarioModel) -> str:
    digests = [f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources]
    runs = f"Runs: {some(digests)}. " if digests else ""
    drawn = "no random draws" if not result.n_resamples else f"{result.n_resamples:,} draws"
    return f"{runs}evalstats {result.version}, {drawn}, seed {result.seed}"
