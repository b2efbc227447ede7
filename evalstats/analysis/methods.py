"""How a comparison was made, for the methods section of a report: running text and the references it needs."""

from collections.abc import Mapping

from evalstats.analysis.results import Comparison
from evalstats.display.numbers import scaled

# Keyed by what a method's name contains.
_SENTENCES: Mapping[str, str] = {
    "Tango": (
        "Scores are right or wrong with one trial an item, so the interval inverts the score test for paired proportions "
        "(Tango 1998); its p-value is that of the same test, so the two cannot contradict each other. McNemar's mid-p and "
        "exact p stand beside it (Fagerland, Lydersen and Laake 2014)."
    ),
    "augmented t": (
        "Trials are averaged within items, and the interval is a t interval on the item differences with one pseudo-item "
        "added at either bound, an extension of Bonett and Price (2012) that keeps its coverage where scores crowd at a bound; "
        "a sign-flip test stands beside it."
    ),
    "paired t": "The interval is a t interval on the item differences; a sign-flip test stands beside it.",
    "CR2": (
        "Items within a cluster are not independent, so the standard error is the bias-reduced cluster-robust one (CR2) with "
        "Satterthwaite degrees of freedom (Bell and McCaffrey 2002; Pustejovsky and Tipton 2018); a sign-flip test over "
        "clusters stands beside it, and no direction is claimed where the two disagree."
    ),
}
_BOOTSTRAP = (
    "Bootstrap intervals are computed from the exact law of the resampled mean, without resampling and without a seed."
)
_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "Tango": (
        (
            "Tango T (1998). Equivalence test and confidence interval for the difference in proportions for the paired-sample "
            "design. Statistics in Medicine 17:891-908."
        ),
        (
            "Fagerland MW, Lydersen S, Laake P (2014). Recommended tests and confidence intervals for paired binomial "
            "proportions. Statistics in Medicine 33:2850-2875."
        ),
    ),
    "augmented t": (
        (
            "Bonett DG, Price RM (2012). Adjusted Wald confidence interval for a difference of binomial proportions based on "
            "paired data. Journal of Educational and Behavioral Statistics 37:479-488."
        ),
    ),
    "CR2": (
        (
            "Bell RM, McCaffrey DF (2002). Bias reduction in standard errors for linear regression with multi-stage samples. "
            "Survey Methodology 28:169-181."
        ),
        (
            "Pustejovsky JE, Tipton E (2018). Small-sample methods for cluster-robust variance estimation and hypothesis "
            "testing in fixed effects models. Journal of Business & Economic Statistics 36:672-683."
        ),
    ),
    "Wilson": (
        (
            "Wilson EB (1927). Probable inference, the law of succession, and statistical inference. Journal of the American "
            "Statistical Association 22:209-212."
        ),
    ),
}
_ALWAYS = (
    "Miller E (2024). Adding error bars to evals: a statistical approach to language model evaluations. arXiv:2411.00640.",
)
_MULTIPLICITY = "Holm S (1979). A simple sequentially rejective multiple test procedure. Scand. J. Statistics 6:65-70."
_PERMUTATION = "Westfall PH, Young SS (1993). Resampling-Based Multiple Testing. Wiley."


def methods_paragraph(result: Comparison) -> str:
    """Describe how the answer was reached, in a paragraph that a paper could print."""
    level = f"{100 * result.conf_level:g}%"
    parts = [
        (
            f"{result.candidate.name} was compared with {result.baseline.name} on {result.metric} of {result.benchmark}, item by "
            f"item, on the {result.n_items:,} items that both answered. The estimand is the {result.estimand}."
        ),
        *[text for key, text in _SENTENCES.items() if key in result.method],
        _BOOTSTRAP,
        *_side_words(result),
        *_missing_words(result),
    ]
    if result.margin is not None:
        unit = f" {result.unit}" if result.unit else ""
        parts.append(
            f"A margin of {scaled(result.margin, result.scale)}{unit} was declared; the two count as equivalent if the "
            f"{100 * (2 * result.conf_level - 1):g}% interval lies within it."
        )
    if result.groups:
        parts.append(
            f"The {len(result.groups)} levels of {result.by} are one family: intervals and p-values are adjusted by "
            f"Bonferroni's method, for {level} over the family; Holm's p-values (1979) are in the data."
        )
    if result.dependence:
        parts.append(
            f"Factors that were not declared as clusters were tested for dependence by permutation (999 permutations, seed "
            f"{result.seed}), with the smallest p over factors as the statistic (Westfall and Young 1993)."
        )
    return " ".join(parts)


def _side_words(result: Comparison) -> list[str]:
    if "Wilson" not in result.baseline.method:
        return []
    words = "Each side's own score carries a Wilson interval, matched to the design where there are trials or clusters."
    return [words]


def _missing_words(result: Comparison) -> list[str]:
    if not result.missing.any:
        return []
    if not result.missing.rows:
        return ["Missing scores are left out; the metric has no bounds, so no worst case is given."]
    return ["Missing scores are left out; the analysis is repeated with all of them at either bound."]


def references(result: Comparison) -> list[str]:
    """List the works that the methods paragraph names, by author."""
    methods = (result.method, result.baseline.method, result.candidate.method)
    found = {work for key, works in _REFERENCES.items() if any(key in method for method in methods) for work in works}
    found.update(_ALWAYS)
    if result.groups:
        found.add(_MULTIPLICITY)
    if result.dependence:
        found.add(_PERMUTATION)
    return sorted(found)
