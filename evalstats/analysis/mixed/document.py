"""What is said of a fitted mixed model, and of its marginal means: which terms matter, by how much, and what varies."""

import math
from collections.abc import Mapping

from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.analysis.mixed.inference import FixedTermTest
from evalstats.analysis.mixed.means import Means
from evalstats.analysis.mixed.result import MixedModel
from evalstats.analysis.result import Estimate, columns
from evalstats.document.model import (
    Column,
    Document,
    Figure,
    Interval,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    listed,
    sentence,
)
from evalstats.document.numbers import interval_words, number, p_words
from evalstats.grammar import and_list, conjugate, is_are, plural

_METHODS = {
    "REML": "Restricted maximum likelihood (REML)",
    "ML": "Maximum likelihood (ML)",
    "Laplace": "Maximum likelihood by Laplace's approximation",
    "AGHQ": "Maximum likelihood by adaptive Gauss-Hermite quadrature",
    "OLS": "Least squares",
    "GLM": "Maximum likelihood",
    "nAGQ=0": "Laplace's approximation with the fixed effects found in the inner loop",
}
_DF = {
    "kenward-roger": "t and F with Kenward and Roger's standard errors and degrees of freedom",
    "satterthwaite": "t and F with Satterthwaite's degrees of freedom",
    "residual": "t and F with the residual degrees of freedom",
    "between-within": "t and F with the degrees of freedom between groups for what differs between them (between-within)",
    "z": "Wald tests and intervals by the normal law",
}
_ADJUST = {
    "holm": "Holm within each family; intervals are Bonferroni's, which hold together",
    "tukey": "Tukey-Kramer within each family; intervals hold together",
    "max-t": "the largest |t| within each family; intervals hold together",
    "none": "none: each holds on its own",
}
_TONES: Mapping[str, Tone] = {"not converged": "bad", "singular": "caution", "penalised": "caution"}
_INTERCEPT = "(Intercept)"
_SHOWN = 20
_FEW_LEVELS = 10


def document(result: MixedModel | Means) -> Document:
    """Return what is said of a model, or of its means."""
    return _of_means(result) if isinstance(result, Means) else _of_model(result)


# --- a model ---


def _of_model(result: MixedModel) -> Document:
    fitted = "singular" if result.singular else "penalised" if result.penalty else "fitted"
    label = fitted if result.converged else "not converged"
    effects = [row for row in result.fixed if row.term != _INTERCEPT]
    only = effects[0] if len(effects) == 1 and result.converged else None
    said = [] if only is None else [only.contrast, _ci(only), p_words(only.p_value)]
    return Document(
        kind="mixed",
        title=f"What does {result.response} depend on?",
        label=label,
        tone=_TONES.get(label, "neutral"),
        headline=_headline(result),
        number="" if only is None else f"{_amount(only)} {_unit(result)}".strip(),
        number_words=", ".join(filter(None, said)) if said else _test_words(result),
        interval=None if only is None else _drawn(only, only.p_value, _unit(result)),
        scope=_scope(result),
        answer=(_fixed_figure(result),),
        notes=result.notes,
        evidence=(*_tests(result), *_variation(result)),
        method=_method(result),
    )


def _headline(result: MixedModel) -> str:
    if not result.converged:
        return f"The fit did not converge ({result.convergence.message}), so its numbers answer nothing"
    tested = [test for test in result.tests if test.p_value is not None]
    shown = [test.term for test in tested if (test.p_value or 0.0) <= 1.0 - result.conf_level]
    if shown:
        return f"{result.response} depends on {and_list(shown)}"
    if tested:
        return f"{result.response} is not shown to depend on {and_list([test.term for test in tested]).replace(' and ', ' or ')}"
    mean = result.fixed[0]
    return f"{result.response} is {_amount(mean, sign=False)} {_unit(result)} on average".replace("  ", " ")


def _test_words(result: MixedModel) -> str:
    """Return the one test there is, in words."""
    if len(result.tests) != 1 or not result.converged or result.tests[0].p_value is None:
        return ""
    test = result.tests[0]
    law, df = _law(test)
    return f"{law}({df}) = {number(test.statistic)}, {p_words(test.p_value)}"


def _unit(result: MixedModel) -> str:
    return "log-odds" if result.family == "binomial" else ""


def _amount(row: Estimate, *, sign: bool = True) -> str:
    return number(row.estimate, digits_for(row.std_error), sign=sign)


def _drawn(row: Estimate, p_value: float | None, unit: str = "") -> Interval | None:
    digits = digits_for(row.std_error)
    return drawn_interval(
        row.estimate, row.ends, digits=digits, unit=unit, origin=0.0, conf_level=row.conf_level, p_value=p_value
    )


def _ci(row: Estimate) -> str:
    return f"{100 * row.conf_level:g}% CI {_ends(row)}"


def _ends(row: Estimate) -> str:
    return interval_words(row.conf_low, row.conf_high, digits=digits_for(row.std_error))


def _estimate_columns(title: str, conf_level: float) -> tuple[Column, ...]:
    return (
        Column(title=title, kind="amount"),
        Column(title=f"{100 * conf_level:g}% CI", kind="amount"),
        Column(title="SE", kind="amount", spare=True),
        Column(title="df", kind="amount", spare=True),
    )


def _estimate_cells(row: Estimate, *, sign: bool = False) -> tuple[str, ...]:
    df = "–" if row.estimate is None else "∞" if row.df is None else number(row.df, 1)
    return _amount(row, sign=sign), _ends(row), number(row.std_error, digits_for(row.std_error)), df


def _scope(result: MixedModel) -> str:
    kind = "Linear" if result.family == "gaussian" else "Binomial (logit)"
    groups = ", ".join(f"{n:,} levels of {name}" for name, n in result.groups)
    trials = f" ({result.n_trials:,} trials)" if result.n_trials != result.n_rows else ""
    mixed = "mixed model" if groups else "model"
    return f"{kind} {mixed} {result.formula} on {plural(result.n_rows, 'row')}{trials}{f', {groups}' if groups else ''}"


def digits_for(size: float | None) -> int:
    """Return the digits after the point that show two significant ones of a standard error."""
    if size is None or not size > 0.0:
        return 3
    return max(0, min(8, 1 - math.floor(math.log10(size))))


def _fixed_figure(result: MixedModel) -> Figure:
    unit = "log-odds" if result.family == "binomial" else f"units of {result.response}"
    table = Table(
        id="fixed",
        columns=(
            Column(title="Effect", kind="name"),
            *_estimate_columns("Estimate", result.conf_level),
            Column(title="z" if result.df_method == "z" else "t", kind="number", digits=2, spare=True),
            Column(title="p", kind="p"),
        ),
        rows=tuple((row.term, *_estimate_cells(row), row.statistic, row.p_value) for row in result.fixed),
        caption=f"Fixed effects, in {unit}; each interval and test on its own",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    rows = [row for row in result.fixed if row.term != _INTERCEPT] or list(result.fixed)
    return Figure(
        id="fixed",
        plot="forest",
        rows={
            "label": [row.term for row in rows],
            **columns(rows, "estimate", "conf_low", "conf_high"),
            "settled": [row.conf_low is not None and not row.conf_low <= 0 <= (row.conf_high or 0.0) for row in rows],
        },
        options={"title": f"Fixed effect ({unit})"},
        alt=f"{plural(len(rows), 'fixed effect')} on {result.response} with their intervals.",
        caption=f"Fixed effects, in {unit}; filled points have an interval that excludes 0",
        table=table,
    )


def _tests(result: MixedModel) -> list[Section]:
    if len(result.tests) < 2 and not any(test.reason or test.n_lost for test in result.tests):
        return []
    lost = {n: f"{plural(n, 'comparison')} lost to empty cells" if n else "" for n in {t.n_lost for t in result.tests}}
    table = Table(
        id="tests",
        columns=(
            Column(title="Term", kind="name"),
            Column(title="Test"),
            Column(title="df", kind="amount"),
            Column(title="Statistic", kind="number", digits=2),
            Column(title="p", kind="p"),
            Column(title="Note"),
        ),
        rows=tuple(
            (test.term, *_law(test), test.statistic, test.p_value, test.reason or lost[test.n_lost])
            for test in result.tests
        ),
        caption="Equally weighted means are equal over the other factors; interactions are 0",
        frame=result.tests_frame().to_dict(as_series=False),
    )
    known = [test for test in result.tests if test.p_value is not None]
    first = min(known, key=lambda test: test.p_value or 0.0, default=None)
    heading = (
        "No term can be tested" if first is None else f"{first.term} is the clearest term ({p_words(first.p_value)})"
    )
    return [Section(id="tests", heading=heading, blocks=(table,))]


def _law(test: FixedTermTest) -> tuple[str, str | None]:
    if test.p_value is None:
        return "none", None
    if test.df_denominator is None:
        return "chi-squared", str(test.df)
    return "F", f"{test.df}, {number(test.df_denominator, 1)}"


def _variation(result: MixedModel) -> list[Section]:
    if not result.groups:
        return []
    unit = "log-odds" if result.family == "binomial" else f"units of {result.response}"
    table = Table(
        id="variances",
        columns=(
            Column(title="Grouping", kind="name"),
            Column(title="Effect"),
            Column(title="Variance", kind="amount", spare=True),
            Column(title="SD", kind="amount"),
            Column(title="Correlation", kind="number", digits=2),
            Column(title="Share (%)", kind="number", scale=100.0),
        ),
        rows=tuple(
            (
                row.group,
                row.term if row.other is None else f"{row.term} with {row.other}",
                _four(row.variance),
                None if row.std_dev is None else _four(row.std_dev),
                row.correlation,
                row.share,
            )
            for row in result.variances
        ),
        caption=f"Random effects; SD in {unit}",
        frame=result.variances_frame().to_dict(as_series=False),
    )
    shares = sorted((row for row in result.variances if row.share is not None), key=lambda row: -(row.share or 0.0))
    spread = max((row for row in result.variances if row.std_dev is not None), key=lambda row: row.std_dev or 0.0)
    heading = f"{_source(spread.group)} has the largest spread (SD {_four(spread.std_dev or 0.0)})"
    if shares:
        heading = f"{_source(shares[0].group)} accounts for {100 * (shares[0].share or 0.0):.0f}% of the variance"
    return [Section(id="variances", heading=heading, blocks=(table,))]


def _source(group: str) -> str:
    return "What is left" if group == "Residual" else group


def _four(value: float) -> str:
    """Write four significant digits."""
    return "0" if value == 0.0 else number(value, max(0, min(8, 3 - math.floor(math.log10(abs(value))))))


# --- its method ---


def _method(result: MixedModel) -> tuple[Section, ...]:
    names = [result.method, result.df_method, *(["log-F prior"] if result.penalty else [])]
    texts = [text for name in names for text in texts_for(name)]
    tests = [text for test in result.tests if test.method for text in texts_for(test.method)]
    sources = tuple(sorted({source for text in (*texts, *tests) for source in text.sources}))
    what = "Every response is" if result.family == "gaussian" else "The log-odds of a success are"
    kind = (
        f"{what} fixed effects, which belong to named levels or slopes, plus what the levels of each grouping add. These levels "
        "were drawn from many, so what they add counts as one spread and not as so many numbers."
    )
    how = [*([kind] if result.groups else []), *(text.how for text in texts)]
    return (
        Section(
            id="method",
            heading="How the model is fitted",
            blocks=(Text(text=" ".join(how)), Items(items=_facts(result))),
        ),
        listed("assumptions", "What this assumes", _assumptions(result, texts)),
        *((Section(id="references", heading="References", blocks=(Items(items=sources),)),) * bool(sources)),
    )


def _facts(result: MixedModel) -> tuple[str, ...]:
    criterion = "Restricted log-likelihood" if result.method == "REML" else "Log-likelihood"
    said = [
        f"{_METHODS[result.method]}; {result.convergence.message}",
        f"Weakly informative prior: {result.penalty}" if result.penalty else "",
        f"{_DF[result.df_method]}: {result.df_reason}",
        f"What is estimated: {result.estimand}",
        f"{criterion} {number(result.log_likelihood)}, {plural(result.n_parameters, 'parameter')}",
        f"AIC {number(result.aic)}, BIC {number(result.bic)}",
        "REML's likelihood and AIC compare only models with the same fixed effects" if result.method == "REML" else "",
    ]
    return tuple(sentence(text) for text in said if text)


def _assumptions(result: MixedModel, texts: list[MethodText]) -> tuple[str, ...]:
    found = ["Every row is independent of the others; rows that share an item or a user are not"]
    if result.groups:
        found = ["Random effects are normally distributed and independent of the fixed effects"]
    found += {text.takes: None for text in texts if text.takes}
    found += [
        f"{name} has {n} levels, and the spread of so few is known only roughly"
        for name, n in result.groups
        if n < _FEW_LEVELS
    ]
    lost = result.n_given - result.n_rows
    if lost:
        found.append(f"{plural(lost, 'row')} without all values {is_are(lost)} like the rest")
    if sum(row.term != _INTERCEPT for row in result.fixed) > 1:
        found.append(
            f"Each interval holds on its own, at {100 * result.conf_level:g}%; the test of a term as a whole comes first"
        )
    if result.family == "binomial":
        found.append(
            "Effects are log-odds for one unit; in percentage points they depend on the starting point, and "
            "averaged over units they are smaller"
        )
    return tuple(sentence(text) for text in found)


# --- its means ---


def _of_means(result: Means) -> Document:
    tested = [row for row in result.contrasts if row.p_adjusted is not None]
    shown = [row for row in tested if (row.p_adjusted or 0.0) <= 1.0 - result.conf_level]
    names = [*result.by, *result.specs]
    clearest = min(shown, key=lambda row: row.p_adjusted or 0.0, default=None)
    headline = f"{plural(len(result.rows), 'mean')} of {result.response}"
    if tested:
        differ = f"{len(shown)} of {plural(len(tested), 'contrast')} {conjugate(len(shown), 'differ')} from 0"
        headline = differ if shown else "No contrast is shown to differ from 0"
    how = [sentence(f"{result.scale}, {result.averaging}")]
    if result.contrasts:
        how.append(sentence(f"Contrasts are adjusted by {_ADJUST[result.adjust]}"))
    lost = sum(row.reason is not None for row in result.rows)
    missing = f"; {plural(lost, 'mean')} cannot be given" if lost else ""
    return Document(
        kind="means",
        title=f"How does {result.response} differ by {and_list(names)}?",
        label="differences" if shown else "means",
        tone="neutral",
        headline=headline,
        number="" if clearest is None else _amount(clearest),
        number_words="" if clearest is None else f"{clearest.name}, {_ci(clearest)}, {p_words(clearest.p_adjusted)}",
        interval=None if clearest is None else _drawn(clearest, clearest.p_adjusted),
        scope=f"{result.scale}; {result.averaging}{missing}",
        answer=(_means_figure(result, names),),
        notes=result.notes,
        evidence=_contrasts(result),
        method=(listed("method", "How the means are made", how),),
    )


def _means_figure(result: Means, names: list[str]) -> Figure:
    table = Table(
        id="means",
        columns=(
            *(Column(title=name, kind="name") for name in names),
            *_estimate_columns("Mean", result.conf_level),
            Column(title="Note"),
        ),
        rows=tuple(
            (*(level for _, level in row.levels), *_estimate_cells(row), row.reason or "") for row in result.rows
        ),
        caption="Marginal means; each interval on its own",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Figure(
        id="means",
        plot="forest",
        rows={
            "label": [row.name for row in result.rows],
            **columns(result.rows, "estimate", "conf_low", "conf_high"),
            "settled": [row.conf_low is not None for row in result.rows],
        },
        options={"title": f"Mean of {result.response} ({result.scale})", "reference": None},
        alt=f"{plural(len(result.rows), 'marginal mean')} of {result.response} by {and_list(names)} with their intervals.",
        caption=f"Marginal means of {result.response}, each with its own interval",
        table=table,
    )


def _contrasts(result: Means) -> tuple[Section, ...]:
    if not result.contrasts:
        return ()
    adjusted = result.adjust != "none"
    table = Table(
        id="contrasts",
        columns=(
            Column(title="Contrast", kind="name"),
            *_estimate_columns("Difference", result.conf_level),
            Column(title="p adjusted" if adjusted else "p", kind="p"),
            Column(title="Note"),
        ),
        rows=tuple(
            (row.name, *_estimate_cells(row, sign=True), row.p_adjusted, row.reason or "") for row in result.contrasts
        ),
        caption=f"Contrasts; adjusted by {_ADJUST[result.adjust]}",
        frame=result.contrasts_frame().to_dict(as_series=False),
    )
    return (Section(id="contrasts", heading="Contrasts of the means", blocks=(table,)),)
