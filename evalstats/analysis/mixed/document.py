"""A fitted mixed model in words and tables. Only what is in the result is said."""

import math

from evalstats.analysis.mixed.inference import TermTest
from evalstats.analysis.mixed.means import ContrastRow, MeanRow, Means
from evalstats.analysis.mixed.result import FixedEffect, MixedModel, VarianceComponent
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table, Tone
from evalstats.document.numbers import interval, number, p_value, plural

_METHODS = {
    "REML": "restricted maximum likelihood (REML)",
    "ML": "maximum likelihood (ML)",
    "Laplace": "maximum likelihood by Laplace's approximation",
    "AGHQ": "maximum likelihood by adaptive Gauss-Hermite quadrature",
    "OLS": "least squares",
    "GLM": "maximum likelihood",
    "nAGQ=0": "Laplace's approximation with the fixed effects found in the inner loop",
}
_DF = {
    "kenward-roger": "t and F with Kenward and Roger's standard errors and degrees of freedom",
    "satterthwaite": "t and F with Satterthwaite's degrees of freedom",
    "residual": "t and F with the residual degrees of freedom",
    "z": "Wald tests and intervals by the normal law",
}


def model_sentences(result: MixedModel) -> list[str]:
    """Say what was fitted to what, what stands out, and what to beware of."""
    said = [f"{_what(result)}.", f"{_headline(result)}."]
    said += [_test_sentence(test) for test in result.tests if test.p_value is not None]
    share = [row for row in result.variances if row.share is not None]
    if share:
        parts = ", ".join(f"{row.group} {100.0 * (row.share or 0.0):.0f}%" for row in share)
        of = "variance on the log-odds scale" if result.family == "binomial" else "variance"
        rest = ", the rest is chance of single trials" if result.family == "binomial" else ""
        said.append(f"Of the {of}, {parts}{rest}.")
    said += [f"Warning: {text}." for text in result.warnings]
    return said


def model_blocks(result: MixedModel) -> list[Block]:
    """Return the whole result: what was fitted, fixed effects, tests, variances, and how it was reached."""
    blocks: list[Block] = [
        Heading(text=f"{'Mixed model' if result.groups else 'Model'} of {result.response}", level=1),
        Banner(label=_label(result), text=f"{_headline(result)}.", tone=_tone(result)),
        Paragraph(text=f"{_what(result)}."),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(_fixed_table(result))
    if result.tests:
        blocks.append(_tests_table(result))
    if result.groups:
        blocks.append(_variance_table(result))
    blocks.append(Bullets(title="Method", items=tuple(_method(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=result.notes))
    return blocks


def _label(result: MixedModel) -> str:
    if not result.converged:
        return "not converged"
    return "singular" if result.singular else "penalised" if result.penalty else "fitted"


def _tone(result: MixedModel) -> Tone:
    return "bad" if not result.converged else "caution" if result.singular or result.penalty else "plain"


def _headline(result: MixedModel) -> str:
    if not result.converged:
        return f"The fit did not converge ({result.convergence.message}), so its numbers are not an answer"
    said = [f"The fit is singular: {'; '.join(result.singular)}"] if result.singular else []
    if result.penalty:
        said.append(f"The data are separated, and a weakly informative prior was needed: {result.penalty}")
    return ". ".join(said) or f"The fit converged{', with every variance above 0' if result.groups else ''}"


def _what(result: MixedModel) -> str:
    kind = "Linear" if result.family == "gaussian" else "Binomial (logit)"
    groups = ", ".join(f"{n:,} {name}" for name, n in result.groups)
    trials = f" ({result.n_trials:,} trials)" if result.n_trials != result.n_rows else ""
    rows = f"{plural(result.n_rows, 'row')}{trials}"
    if not groups:
        return f"{kind} model {result.formula}, fitted to {rows}"
    return f"{kind} mixed model {result.formula}, fitted to {rows} with levels {groups}"


def _test_sentence(test: TermTest) -> str:
    free = f"F({test.df}, {number(test.df_denominator, 1)})" if test.df_denominator else f"chi-squared({test.df})"
    return f"{test.term}: {free} = {number(test.statistic)}, p {_p(test.p_value)}."


def _p(p: float | None) -> str:
    text = p_value(p)
    return text if text.startswith(("<", ">")) else f"= {text}"


def _fixed_table(result: MixedModel) -> Table:
    unit = "log-odds" if result.family == "binomial" else f"units of {result.response}"
    level = f"{100.0 * result.conf_level:g}%"
    return Table(
        columns=("Effect", "Estimate", f"{level} interval", "SE", "df", _statistic(result), "p"),
        rows=tuple(_fixed_row(row) for row in result.fixed),
        align="lrrrrrr",
        caption=f"Fixed effects, in {unit}; each interval and test on its own",
        wide=("df", _statistic(result), "SE"),
    )


def _statistic(result: MixedModel) -> str:
    return "z" if result.df_method == "z" else "t"


def _fixed_row(row: FixedEffect) -> tuple[str, ...]:
    digits = digits_for(row.std_error)
    return (
        row.term,
        number(row.estimate, digits),
        interval(row.conf_low, row.conf_high, digits=digits),
        number(row.std_error, digits),
        "∞" if row.df is None else number(row.df, 1),
        number(row.statistic),
        p_value(row.p_value),
    )


def digits_for(size: float | None) -> int:
    """Digits after the point that show two significant ones of a standard error."""
    if size is None or not size > 0.0:
        return 3
    return max(0, min(8, 1 - math.floor(math.log10(size))))


def _tests_table(result: MixedModel) -> Table:
    return Table(
        columns=("Term", "Test", "df", "Statistic", "p", "Note"),
        rows=tuple(_test_row(test) for test in result.tests),
        align="llrrrl",
        caption="Terms as a whole: means with equal weights over the other factors are equal, interactions are 0",
        wide=("Note",),
    )


def _test_row(test: TermTest) -> tuple[str, ...]:
    if test.p_value is None:
        return test.term, "none", "–", "–", "–", test.reason or ""
    df = str(test.df) if test.df_denominator is None else f"{test.df}, {number(test.df_denominator, 1)}"
    lost = f"{plural(test.n_lost, 'comparison')} lost to empty cells" if test.n_lost else ""
    law = "chi-squared" if test.df_denominator is None else "F"
    return test.term, law, df, number(test.statistic), p_value(test.p_value), lost


def _variance_table(result: MixedModel) -> Table:
    unit = "log-odds" if result.family == "binomial" else f"units of {result.response}"
    return Table(
        columns=("Grouping", "Effect", "Variance", "SD", "Correlation", "Share"),
        rows=tuple(_variance_row(row) for row in result.variances),
        align="llrrrr",
        caption=f"Random effects; SD in {unit}",
    )


def _variance_row(row: VarianceComponent) -> tuple[str, ...]:
    effect = row.term if row.other is None else f"{row.term} with {row.other}"
    return (
        row.group,
        effect,
        _four(row.variance),
        "–" if row.std_dev is None else _four(row.std_dev),
        number(row.correlation),
        "–" if row.share is None else f"{100.0 * row.share:.1f}%",
    )


def _four(value: float) -> str:
    """Four significant digits."""
    if value == 0.0:
        return "0"
    return number(value, max(0, min(8, 3 - math.floor(math.log10(abs(value))))))


def _method(result: MixedModel) -> list[str]:
    engine = "" if result.backend == "evalstats" else f", by {result.backend}"
    said = [f"{_METHODS[result.method]}{engine}; {result.convergence.message}"]
    if result.penalty:
        said.append(f"weakly informative prior: {result.penalty}")
    said.append(f"{_DF[result.df_method]}: {result.df_reason}")
    said.append(f"estimand: {result.estimand}")
    merged = f"{plural(result.n_rows, 'row')} merged to {plural(result.n_cells, 'cell')} of equal columns, which loses nothing"
    said.append(merged)
    criterion = "restricted log-likelihood" if result.method == "REML" else "log-likelihood"
    said.append(
        f"{criterion} {number(result.log_likelihood)}, {plural(result.n_parameters, 'parameter')}, AIC {number(result.aic)}, "
        f"BIC {number(result.bic)}"
    )
    if result.method == "REML":
        said.append("REML's likelihood and AIC compare only models with the same fixed effects")
    return said


_ADJUST = {
    "holm": "Holm within each family; intervals are Bonferroni's, which hold together",
    "tukey": "Tukey-Kramer within each family; intervals hold together",
    "max-t": "the largest |t| within each family; intervals hold together",
    "none": "not adjusted: each holds on its own",
}


def means_sentences(result: Means) -> list[str]:
    """Say what was averaged, how many contrasts are shown, and what to beware of."""
    said = [
        f"Means of {result.response} by {', '.join([*result.by, *result.specs])} ({result.scale}), {result.averaging}."
    ]
    tested = [row for row in result.contrasts if row.p_adjusted is not None]
    shown = [row for row in tested if (row.p_adjusted or 0.0) <= 1.0 - result.conf_level]
    if tested:
        said.append(f"{len(shown)} of {plural(len(tested), 'contrast')} differ from 0 (p adjusted by {result.adjust}).")
    lost = sum(row.reason is not None for row in result.rows)
    if lost:
        said.append(f"{plural(lost, 'mean')} cannot be given.")
    return said + [f"Warning: {text}." for text in result.warnings]


def means_blocks(result: Means) -> list[Block]:
    """Return the means, the contrasts, and how they were made."""
    names = [*result.by, *result.specs]
    blocks: list[Block] = [
        Heading(text=f"Marginal means by {', '.join(names)}", level=1),
        Paragraph(text=f"{result.scale}; {result.averaging}."),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(_means_table(result, names))
    if result.contrasts:
        blocks.append(_contrasts_table(result))
        blocks.append(Bullets(title="Method", items=(f"contrasts: {_ADJUST[result.adjust]}",)))
    return blocks


def _means_table(result: Means, names: list[str]) -> Table:
    level = f"{100.0 * result.conf_level:g}%"
    return Table(
        columns=(*names, "Mean", f"{level} interval", "SE", "df", "Note"),
        rows=tuple(_mean_cells(row) for row in result.rows),
        align="l" * len(names) + "rrrrl",
        caption="Each interval on its own",
        wide=("Note", "df"),
    )


def _mean_cells(row: MeanRow) -> tuple[str, ...]:
    digits = digits_for(row.std_error)
    free = "–" if row.estimate is None else "∞" if row.df is None else number(row.df, 1)
    return (
        *(level for _, level in row.levels),
        number(row.estimate, digits),
        interval(row.conf_low, row.conf_high, digits=digits),
        number(row.std_error, digits),
        free,
        row.reason or "",
    )


def _contrasts_table(result: Means) -> Table:
    level = f"{100.0 * result.conf_level:g}%"
    adjusted = "p" if result.adjust == "none" else f"p ({result.adjust})"
    return Table(
        columns=("Contrast", "Difference", f"{level} interval", "SE", "df", adjusted, "p alone", "Note"),
        rows=tuple(_contrast_cells(row) for row in result.contrasts),
        align="lrrrrrrl",
        caption="Contrasts; interval and adjusted p for each family together",
        wide=("Note", "df", "SE"),
    )


def _contrast_cells(row: ContrastRow) -> tuple[str, ...]:
    digits = digits_for(row.std_error)
    free = "–" if row.estimate is None else "∞" if row.df is None else number(row.df, 1)
    return (
        row.name,
        number(row.estimate, digits, sign=True),
        interval(row.conf_low, row.conf_high, digits=digits, sign=True),
        number(row.std_error, digits),
        free,
        p_value(row.p_adjusted),
        p_value(row.p_value),
        row.reason or "",
    )
