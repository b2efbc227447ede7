"""How a look while the run goes on enters a comparison: as its headline, its rows and its test at the margin."""

from dataclasses import replace

from evalstats.analysis.difference import Difference
from evalstats.analysis.looks.results import SequentialAccount
from evalstats.analysis.results import AtMargin, MethodRow
from evalstats.analysis.rows import method_row
from evalstats.document.numbers import plural, scaled
from evalstats.stats.estimate import Estimate


def as_estimate(account: SequentialAccount) -> Estimate:
    """Return the account as the headline estimate of a comparison: the interval of all looks and the anytime p."""
    return Estimate(
        estimate=account.estimate,
        method=account.method,
        conf_level=account.conf_level,
        n=account.n_items,
        conf_low=account.conf_low,
        conf_high=account.conf_high,
        p_value=account.p_anytime,
        n_clusters=account.n_units if account.unit == "cluster" else None,
        reason=account.reason,
        warnings=account.warnings,
    )


def sequential_rows(account: SequentialAccount) -> tuple[MethodRow, ...]:
    """Return the rows of the comparison: the headline, the sequential McNemar test, the simple sequence."""
    holds = f"holds at every look, over {plural(account.n_units, account.unit)} by {account.order}"
    headline = method_row(as_estimate(account), term="difference", role="headline", note=holds)
    bare = replace(
        headline, role="check", estimate=None, conf_low=None, conf_high=None, p_value=None, note="", n_clusters=None
    )
    rows = [headline]
    if account.mcnemar_p is not None:
        note = f"anytime p on the discordant items; e-value {e_value_words(account.mcnemar_e)} now"
        rows.append(replace(bare, method="sequential McNemar", p_value=account.mcnemar_p, note=note))
    if account.wide_low is not None:
        rows.append(
            replace(
                bare,
                method="normal-mixture confidence sequence",
                role="second interval",
                estimate=account.estimate,
                conf_low=account.wide_low,
                conf_high=account.wide_high,
                note="knows nothing of the variance, so it is wider",
            )
        )
    return tuple(rows)


def as_difference(account: SequentialAccount, fixed: Difference) -> Difference:
    """Return what a comparison is made from, with the account in place of the fixed-n headline.

    The fixed-n rows stay below it; the first of them says what they are: right for one look at an n chosen beforehand.
    Their doubts (few discordant items) are of their own method and go; what the items are made of stays.
    """
    once = "this row and those below are for a single look at an n chosen beforehand; they do not hold for looks on the way"
    below = tuple(
        replace(row, role="sensitivity", note=f"{once}; {row.note}".rstrip("; ")) if row.role == "headline" else row
        for row in fixed.rows
    )
    return replace(
        fixed,
        headline=as_estimate(account),
        method_reason="the run is watched while it goes on, so the interval must hold at every look",
        rows=(*sequential_rows(account), *below),
        mde=account.mde,
        smallest_p=None,
        doubts=(),
        no_equivalence=(),
        # The interval of the account holds for any bounded score, falls that were not seen among them.
        if_claimed=(),
        if_equivalent=(),
        failures=None,
        warnings=account.warnings,
    )


def sequential_at_margin(account: SequentialAccount) -> AtMargin | None:
    """Return how the candidate stands at the declared margin, at every look; None where none was declared."""
    if account.margin is None:
        return None
    good = account.higher_is_better
    limit = account.equivalence_low if good else account.equivalence_high
    unit = f" {account.unit_shown}" if account.unit_shown else ""
    if limit is None:
        inside, reason = False, f"no test at the margin: {account.reason or 'there is no interval'}"
    else:
        inside = limit > -account.margin if good else limit < account.margin
        bound = scaled(-account.margin if good else account.margin, account.scale, sign=True)
        reason = (
            f"the one-sided {100 * account.conf_level:g}% {'lower' if good else 'upper'} limit that holds at every look is "
            f"{scaled(limit, account.scale, sign=True)}{unit}, which "
            f"{'excludes a loss of' if inside else 'leaves a loss beyond'} {bound}{unit}{'' if inside else ' possible'}"
        )
    return AtMargin(
        margin=account.margin,
        noninferior=inside,
        reason=reason,
        method=account.method,
        conf_level=account.conf_level,
        limit=limit,
        noninferior_p=account.noninferior_p,
        equivalence_p=account.equivalence_p,
    )


def e_value_words(value: float | None) -> str:
    """Write an e-value with three digits; None is one too large to hold.

    Examples
    --------
    >>> e_value_words(0.0123), e_value_words(34.567), e_value_words(2365666.8), e_value_words(None)
    ('0.0123', '34.6', '2.4e+06', 'over 1e300')
    """
    if value is None:
        return "over 1e300"
    return f"{value:.3g}" if value < 10_000 else f"{value:.1e}"
