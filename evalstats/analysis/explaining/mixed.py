"""A fitted mixed model explained to somebody who is no statistician, with its own effects and variances."""

from evalstats.analysis.explaining.words import described, frequency, percent, section, sources_of
from evalstats.analysis.method_texts import MethodText
from evalstats.analysis.mixed.result import FixedEffect, MixedModel
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import interval, number, plural

_FEW_LEVELS = 10


def explain_mixed(result: MixedModel) -> list[Block]:
    """Return the explanation of a mixed model: question, method, assumptions, effects, variances."""
    blocks: list[Block] = [
        Heading(text=f"{'Mixed model' if result.groups else 'Model'} of {result.response}: what this says", level=1),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(result)),
        *section("What this takes for granted, and how it could fail here", _assumptions(result)),
        *section("What the effects mean", _effects(result)),
        *section("Where the variation comes from", _variation(result)),
    ]
    tests = [test.method for test in result.tests if test.method]
    return [*blocks, *sources_of([_kind(result), result.method, result.df_method, *tests])]


def _kind(result: MixedModel) -> str:
    if not result.groups:
        return result.method
    return "linear mixed model" if result.family == "gaussian" else "binomial mixed model"


def _question(result: MixedModel) -> list[str]:
    groups = ", ".join(f"{n:,} of {name}" for name, n in result.groups)
    if not groups:
        asked = f"What does {result.response} depend on, by the formula {result.formula}?"
        return [asked, f"What is estimated is {result.estimand.rstrip('.')}."]
    return [
        (
            f"What does {result.response} depend on, by the formula {result.formula}? What stands behind a bar is random: its "
            f"levels ({groups}) are taken as a sample of more."
        ),
        f"What is estimated is {result.estimand.rstrip('.')}.",
    ]


def _texts(result: MixedModel) -> list[MethodText]:
    names = [result.method, result.df_method, *(["log-F prior"] if result.penalty else [])]
    return [text for name in names for text in described(name)]


def _method(result: MixedModel) -> list[str]:
    if not result.groups:
        return [" ".join(text.how for text in described(name)) for name in (result.method, result.df_method)]
    what = "Every response is" if result.family == "gaussian" else "The log-odds of a success are"
    model = (
        f"{what} taken as fixed effects, which belong to named levels or slopes, plus what the levels of each grouping add. "
        "These levels were drawn from many, so what they add counts as one spread and not as so many numbers, and responses of "
        "the same level count as alike as they are."
    )
    return [model, *(" ".join(text.how for text in described(name)) for name in (result.method, result.df_method))]


def _assumptions(result: MixedModel) -> list[str]:
    found = (
        ["What levels add should scatter as a normal curve does, and not depend on the fixed effects"]
        if result.groups
        else ["Every row should be independent of the others; rows that share an item or a user are not"]
    )
    found += {text.takes: None for text in _texts(result) if text.takes}
    found += [
        f"{name} has {n} levels, and the spread of so few is known only roughly"
        for name, n in result.groups
        if n < _FEW_LEVELS
    ]
    lost = result.n_given - result.n_rows
    if lost:
        found.append(
            f"{plural(lost, 'row')} without all values {'is' if lost == 1 else 'are'} left out, as if like the rest"
        )
    if result.singular:
        found.append(
            f"The fit is on the edge of what is possible ({'; '.join(result.singular)}): it goes on as if that were nothing, "
            "which is not shown"
        )
    if result.penalty:
        found.append(f"The data are separated, and this was added: {result.penalty}")
    if not result.converged:
        found.append(f"The fit should have ended at an optimum and did not ({result.convergence.message})")
    return found


def _effects(result: MixedModel) -> list[str]:
    tested = [row for row in result.fixed if row.term != "(Intercept)" and row.p_value is not None]
    if not tested:
        return []
    clearest = min(tested, key=lambda row: row.p_value or 1.0)
    least = max(tested, key=lambda row: row.p_value or 0.0)
    found = [_effect(clearest, result)]
    if least is not clearest and (least.p_value or 0.0) > 1 - result.conf_level:
        found.append(
            f"{_named(least)} is left open: zero lies in its interval, {interval(least.conf_low, least.conf_high)}. That is not "
            "the finding that it is zero"
        )
    if len(tested) > 1:
        found.append(
            f"Each interval holds on its own: an effect of zero is found with a chance of {percent(1 - result.conf_level)}, and "
            f"there are {len(tested)} to find. The test of a term as a whole comes first"
        )
    if result.family == "binomial":
        found.append(
            "Effects are on the log-odds scale and for one and the same unit; in percentage points they depend on where one "
            "starts, and averaged over units they are smaller"
        )
    return found


def _effect(row: FixedEffect, result: MixedModel) -> str:
    unit = "log-odds" if result.family == "binomial" else f"units of {result.response}"
    ends = interval(row.conf_low, row.conf_high)
    return (
        f"{_named(row)} is {number(row.estimate, sign=True)} {unit}, interval {ends}: the values that these data do not "
        f"contradict. An effect so far from zero would turn up {frequency(row.p_value or 0.0)} if there were none"
    )


def _named(row: FixedEffect) -> str:
    return f"The effect {row.term}"


def _variation(result: MixedModel) -> list[str]:
    found: list[str] = []
    for row in result.variances:
        if row.share is None or row.other is not None:
            continue
        name = "what is left" if row.group == "Residual" else row.group
        found.append(
            f"{number(100 * row.share, 0)}% of the variance: {name} (standard deviation {number(row.std_dev)})"
        )
    return found
