"""The methods of mixed models and of what is inferred from them, in words for somebody who is no statistician."""

from collections.abc import Mapping

from evalstats.analysis.explaining.method_text import MethodText

_BATES = "Bates, Mächler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01"
_BAAYEN = "Baayen, Davidson & Bates 2008, doi:10.1016/j.jml.2007.12.005"
_PATTERSON = "Patterson & Thompson 1971, doi:10.1093/biomet/58.3.545"
_PINHEIRO = "Pinheiro & Bates 1995, doi:10.1080/10618600.1995.10474663"
_KENWARD = "Kenward & Roger 1997, doi:10.2307/2533558"
_FAI = "Fai & Cornelius 1996, doi:10.1080/00949659608811740"
_HALEKOH = "Halekoh & Højsgaard 2014, doi:10.18637/jss.v059.i09"
_SELF = "Self & Liang 1987, doi:10.1080/01621459.1987.10478472"
_CRAINICEANU = "Crainiceanu & Ruppert 2004, doi:10.1111/j.1467-9868.2004.00438.x"
_PUSTEJOVSKY = "Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004"
_TIPTON = "Tipton & Pustejovsky 2015, doi:10.3102/1076998615606099"
_BRENNAN = "Brennan 2001, Generalizability Theory, doi:10.1007/978-1-4757-3456-0"
_GAIL = "Gail & Simon 1985, doi:10.2307/2530862"
_BERGER = "Berger 1982, doi:10.1080/00401706.1982.10487790"
_WALD = "Wald 1943, doi:10.1090/S0002-9947-1943-0012401-3"
_WILKS = "Wilks 1938, doi:10.1214/aoms/1177732360"
_NORMAL_EFFECTS = (
    "How hard items are should scatter as a normal curve does, and not depend on which models were asked them; a few "
    "monstrous items, or many that nobody solves, bend the estimates"
)

_BINOMIAL = MethodText(
    what="log-odds of success for models and scenarios, and random deviations for what was sampled",
    how=(
        "The log-odds of a success are a mean that belongs to the model and the scenario, plus what the item adds for "
        "everybody. Items are drawn from many that could have been asked, so what they add counts as one spread. What is "
        "shown is turned back into shares of success, averaged over easy and hard items alike, and not that of an item "
        "of middling difficulty, which would be another number."
    ),
    takes=_NORMAL_EFFECTS,
    sources=(_BATES, _BAAYEN),
)
_REML = MethodText(
    what="variances are judged by what is left after the means have been fitted",
    how=(
        "Fitting means uses up some of the scatter, so a variance judged from what remains would be too small. The "
        "restricted likelihood looks only at differences that the means cannot explain, which puts that right."
    ),
    sources=(_PATTERSON,),
)
_LAPLACE = MethodText(
    what="what items' difficulties could be is averaged out by a normal curve around the likeliest ones",
    how=(
        "How hard each item is, is not known, so the chance of the data is averaged over all that it could be. The average "
        "has no formula; the curve that is averaged is replaced by a normal one with the same peak and the same curvature."
    ),
    takes="With few right-or-wrong answers an item the normal curve is a rough stand-in, and variances come out too small",
    sources=(_PINHEIRO, _BATES),
)
_QUADRATURE = MethodText(
    what="the same average, taken at several points around the likeliest value",
    how=(
        "Instead of replacing the curve by a normal one, its height is taken at a handful of well-chosen points, and their "
        "weighted sum is the average. It is the more exact form, and works where a single thing varies at random."
    ),
    sources=(_PINHEIRO,),
)
_FAST = MethodText(
    what="a first look: the means are found together with the items' difficulties, not after these were averaged out",
    how=(
        "Means and difficulties are fitted at once, and only the variances are searched for. It is quick, and draws the "
        "means a little towards 0; it serves as the start of the full fit."
    ),
    takes="It is a first look and no final answer",
    sources=(_BATES,),
)
_KENWARD_ROGER = MethodText(
    what="standard errors and degrees of freedom that allow for the variances having been estimated",
    how=(
        "A standard error that takes the variances for known is too small where there are few groups. It is widened by what "
        "is not known of them, and the factor comes from a t or F table with degrees of freedom that fit."
    ),
    takes="The response should scatter about its mean as a normal curve does",
    sources=(_KENWARD, _HALEKOH),
)
_SATTERTHWAITE = MethodText(
    what="degrees of freedom by how surely the variance of this very estimate is known",
    how=(
        "How far the variance of the estimate could be off is worked out. The t or F table is then entered with the degrees "
        "of freedom that a plain mean with so uncertain a variance would have."
    ),
    takes="The response should scatter about its mean as a normal curve does; with few groups it is a little too sure",
    sources=("Satterthwaite 1946, doi:10.2307/3002019", _FAI),
)
_NORMAL = MethodText(
    what="the normal law, as if the standard error were known",
    how=(
        "The estimate is divided by its standard error, and the p comes from the normal curve. With many units the standard "
        "error is nearly known, and nothing is lost."
    ),
    takes="With few units it is too sure",
    sources=(_WALD,),
)

MIXED_TEXTS: Mapping[str, MethodText] = {
    # --- fitting ---
    "linear mixed model": MethodText(
        what="means for models and scenarios, and random deviations for what was sampled",
        how=(
            "Every score is taken as a mean that belongs to its model and scenario, plus what its item adds for everybody, "
            "plus chance. Items are drawn from many that could have been asked, so what they add counts as one spread and not "
            "as so many numbers; answers to the same item then count as alike as they are."
        ),
        takes=_NORMAL_EFFECTS,
        sources=(_BATES, _BAAYEN),
    ),
    "binomial mixed model": _BINOMIAL,
    "binomial (logit) mixed model": _BINOMIAL,
    "OLS": MethodText(
        what="means for levels, by the smallest sum of squared misses",
        how=(
            "Every response is a sum of effects that belong to named levels or slopes, plus chance. The effects are those that "
            "miss the responses by the smallest sum of squares."
        ),
        takes="Chance should be of one size everywhere, and not run in groups of rows",
        sources=("Gauss 1823, Theoria combinationis observationum",),
    ),
    "GLM": MethodText(
        what="log-odds of success for levels, by the likeliest values",
        how=(
            "The log-odds of a success are a sum of effects that belong to named levels or slopes. The effects are those under "
            "which what was seen is likeliest."
        ),
        takes="Trials should be independent of each other",
        sources=("McCullagh & Nelder 1989, Generalized Linear Models",),
    ),
    "residual": MethodText(
        what="degrees of freedom: rows less effects",
        how=(
            "The noise is judged from what the effects leave over, of which there are as many free numbers as rows less "
            "effects. The t and F tables are entered with that."
        ),
        takes="The response should scatter about its mean as a normal curve does, or rows be many",
        sources=("Student 1908, Biometrika 6:1",),
    ),
    "REML": _REML,
    "Laplace": _LAPLACE,
    "AGHQ": _QUADRATURE,
    "Gauss-Hermite": _QUADRATURE,
    "nAGQ=0": _FAST,
    "averaged over the random effects": MethodText(
        what="the share of success among all items of the kind, not that of a middling item",
        how=(
            "For every difficulty that an item could have, the share of success is worked out, and these are averaged as "
            "often as each difficulty occurs. A curve from log-odds to shares is bent, so the share at average difficulty "
            "would lie farther from one half."
        ),
        sources=("Zeger, Liang & Albert 1988, doi:10.2307/2531734",),
    ),
    "random effects at 0": MethodText(
        what="the share of success for an item of middling difficulty; no average over items",
        how="The log-odds of an item whose difficulty is just the average one are turned into a share. It is another quantity "
        "than the share of success among all items, and lies farther from one half.",
        sources=("Zeger, Liang & Albert 1988, doi:10.2307/2531734",),
    ),
    "log-F prior": MethodText(
        what="half a success and half a failure added where a model only ever succeeds, or only ever fails",
        how=(
            "A model that never fails in a scenario has no finite log-odds: the more extreme, the better the fit. Half a success "
            "and half a failure are added to each such cell, which keeps its estimate finite; cells with both outcomes keep the "
            "estimates they have."
        ),
        takes="Where it was needed, the size of the effect on the log-odds scale owes something to what was added",
        sources=(
            "Greenland & Mansournia 2015, doi:10.1002/sim.6537",
            "Firth 1993, doi:10.1093/biomet/80.1.27",
        ),
    ),
    # --- covariance ---
    "CR2 covariance": MethodText(
        what="standard errors from what the items actually did, not from what the model says of them",
        how=(
            "The model takes all models for equally alike on an item, which near-copies of one another are not. So the "
            "standard errors do not trust it: for each item (or each group of items) it is added up how far its answers pull "
            "the estimate, and the squares of these pulls are the variance, with a correction for each group having pulled "
            "the fit towards itself."
        ),
        sources=("Bell & McCaffrey 2002, Survey Methodology 28:169", _PUSTEJOVSKY),
    ),
    "CR2, clustered": MethodText(
        what="standard errors from what the items actually did, not from what the model says of them",
        how=(
            "For each group of items it is added up how far its answers pull the estimate, and the squares of these pulls are "
            "the variance, with a correction for each group having pulled the fit towards itself. So models that are more "
            "alike than the model of the data allows do no harm."
        ),
        sources=("Bell & McCaffrey 2002, Survey Methodology 28:169", _PUSTEJOVSKY),
    ),
    "sandwich covariance": MethodText(
        what="standard errors from what the items actually did, where the model of the data may be wrong",
        how=(
            "For each item (or each group of items) it is added up how far its answers pull the estimate, and the squares of "
            "these pulls are the variance. A group pulls the fit towards itself and so looks tamer than it is; the leverage "
            "correction makes up for that."
        ),
        sources=(
            "Liang & Zeger 1986, doi:10.1093/biomet/73.1.13",
            "Kauermann & Carroll 2001, doi:10.1198/016214501753382309",
        ),
    ),
    "the model's own covariance": MethodText(
        what="standard errors that hold if the model's own account of the scatter is right",
        how=(
            "The model says how scores of one item, and of one scenario, hang together. Standard errors follow from that and "
            "from how much of each there is."
        ),
        takes="All pairs of models are taken as equally alike on an item; near-copies of one another are not",
        sources=(_BATES,),
    ),
    "CR1": MethodText(
        what="standard errors from what the items actually did, with the simple correction for the number of groups",
        how=(
            "For each group of items it is added up how far its answers pull the estimate. The squares of these pulls are the "
            "variance, times G/(G-1) for G groups."
        ),
        takes="With few groups it is a little too sure",
        sources=("Liang & Zeger 1986, doi:10.1093/biomet/73.1.13",),
    ),
    # --- tests of terms ---
    "approximate Hotelling": MethodText(
        what="one test of several differences together, with clusters as the pieces of evidence",
        how=(
            "All differences are squared and added up, each in units of what the clusters say of its scatter. The factor "
            "comes from an F table with degrees of freedom by how surely that scatter is known."
        ),
        sources=(_TIPTON,),
    ),
    "Wald chi-squared": MethodText(
        what="one test of several differences together, by the normal law",
        how=(
            "All differences are squared and added up in units of their standard errors, with regard to how they hang "
            "together. If none were there, the sum would follow a chi-squared law."
        ),
        takes="With few units, or many differences at once, it finds too much",
        sources=(_WALD,),
    ),
    "Wald F": MethodText(
        what="one test of several differences together, with degrees of freedom for what is not known of their scatter",
        how=(
            "All differences are squared and added up in units of their standard errors. The law is F, which allows for the "
            "scatter having been estimated."
        ),
        sources=(_WALD,),
    ),
    "Wald": MethodText(
        what="one test of several differences together, in units of their standard errors",
        how=(
            "All differences are squared and added up in units of their standard errors, with regard to how they hang "
            "together. A sum far beyond what chance gives speaks against their all being 0."
        ),
        sources=(_WALD,),
    ),
    "Kenward and Roger": _KENWARD_ROGER,
    "Kenward-Roger": _KENWARD_ROGER,
    "kenward-roger": _KENWARD_ROGER,
    "with Satterthwaite's degrees of freedom": _SATTERTHWAITE,
    "t (Satterthwaite)": _SATTERTHWAITE,
    "likelihood ratio": MethodText(
        what="how much better the data are explained with the term than without it",
        how=(
            "The model is fitted twice, with the term and without. Twice the gain in log-likelihood is the statistic; if the "
            "term were nothing, it would follow a chi-squared law."
        ),
        takes="The chi-squared law holds for many units; with few it finds too much",
        sources=(_WILKS,),
    ),
    "likelihood ratio, parametric bootstrap": MethodText(
        what="how much better the data are explained with the term, judged by data made without it",
        how=(
            "The model is fitted with the term and without, and the gain in likelihood is the statistic. New data are drawn from "
            "the model without the term, again and again, and both are fitted to them; the p is the share of draws with as "
            "large a gain. It needs no law for many units."
        ),
        takes="The data are drawn from the fitted model, so it inherits what that takes for granted",
        sources=(_HALEKOH,),
    ),
    "likelihood ratio of a variance": MethodText(
        what="how much better the data are explained with the variance than without, by the law for a variance",
        how=(
            "The model is fitted twice, with the variance and without. A variance cannot be below 0: if it is truly 0, half of "
            "all data give a gain of exactly 0, and the other half follow a chi-squared law."
        ),
        takes="With few levels it is cautious",
        sources=(_SELF, "Stram & Lee 1994, doi:10.2307/2533455"),
    ),
    "half chi-squared": MethodText(
        what="the law for a variance, which cannot be below 0",
        how=(
            "If a variance is truly 0, half of all data sets give an estimate of exactly 0, and the gain in likelihood is "
            "nothing; the other half follows a chi-squared law. Mixing the two halves gives a p about half as large as the "
            "plain test's, which would be too careful."
        ),
        sources=(_SELF, "Stram & Lee 1994, doi:10.2307/2533455"),
    ),
    "restricted likelihood ratio, exact law": MethodText(
        what="the law of the gain in likelihood of one variance, worked out for this very design",
        how=(
            "What the gain would be if the variance were 0 can be simulated quickly and exactly, without fitting anything "
            "again. The p is the share of draws with a gain as large."
        ),
        sources=(_CRAINICEANU,),
    ),
    "parametric bootstrap": MethodText(
        what="how often data made without the effect would show so much of it",
        how=(
            "The model without the effect is fitted, and new data are drawn from it, as many as there are, again and again. "
            "Both models are fitted to each, and the p is the share of draws that show as large an effect as the data. It "
            "needs no law for many units."
        ),
        takes="The data are drawn from the fitted model, so it inherits what that takes for granted",
        sources=(_HALEKOH,),
    ),
    "parametric bootstrap, percentile interval": MethodText(
        what="how the estimate would scatter in data drawn from the fitted model",
        how=(
            "New data are drawn from the fitted model, as many as there are, again and again, and the model is fitted to each. "
            "The interval holds the middle of the estimates that come out."
        ),
        takes="The data are drawn from the fitted model, so it inherits what that takes for granted",
        sources=("Davison & Hinkley 1997, doi:10.1017/CBO9780511802843",),
    ),
    "profile": MethodText(
        what="all values that the likelihood does not rule out",
        how=(
            "For every value that the quantity could have, all else is fitted again; the interval holds those at which the "
            "fit is not much worse. It may be lopsided, and reach down to 0."
        ),
        sources=(_BATES,),
    ),
    "plain means of cells": MethodText(
        what="the plain mean of every model in every scenario",
        how=(
            "Each model answered every question of each scenario. The plain mean of its answers is then the estimate; a model "
            "of the data would return the same number."
        ),
        sources=("Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031",),
    ),
    "permutation of scenarios within strata of equal success": MethodText(
        what="which models succeed on equally hard questions, compared between scenarios by shuffling",
        how=(
            "Questions that equally many models got right belong together. If a scenario did the same to every model, then which "
            "models these are would not depend on the scenario. So the scenarios of such questions are shuffled, many times; the "
            "p is the share of shuffles in which models and scenarios fit together as closely as in the data. It holds near 0% "
            "and 100% as well, and takes nothing for granted of how hard questions are."
        ),
        takes="Models should rank questions by difficulty in the same way, up to luck, within a scenario",
        sources=(
            "Holland & Thayer 1988, in Wainer & Braun (eds), Test Validity",
            "Rasch 1960, Probabilistic Models for Some Intelligence and Attainment Tests",
        ),
    ),
    "permutation of scenarios, largest studentised difference": MethodText(
        what="the largest of all differences between scenarios, judged by shuffling the scenarios",
        how=(
            "What a question does to all models alike is taken out. The scenarios are then shuffled, whole items at a time, and "
            "the largest difference is noted in units of its standard error; the p is the share of shuffles with one as large as "
            "in the data. Standard errors are those of each shuffle, so scenarios may scatter unlike."
        ),
        takes="Under no difference, scores of different scenarios should have nearly the same shape",
        sources=("Chung & Romano 2013, doi:10.1214/13-AOS1090",),
    ),
    "random signs": MethodText(
        what="how often random signs on the clusters' contributions give as large a largest effect",
        how=(
            "Each cluster's pull on the differences is kept, and its sign is turned at random, many times. If no difference "
            "were there, signs would be as likely one way as the other, so the p is the share of turns that give a largest "
            "difference as large as the data's."
        ),
        takes="Under no difference, a cluster's pull must be as likely to point either way",
        sources=("Kline & Santos 2012, doi:10.1515/2156-6674.1006",),
    ),
    # --- families and rankings ---
    "Tukey": MethodText(
        what="all pairs of means at once, by the law of the largest difference among them",
        how=(
            "If all means were the same, the largest difference among them would still be something. Every pair is measured "
            "by the law of that largest one, so all intervals hold together."
        ),
        sources=("Kramer 1956, doi:10.2307/3001469",),
    ),
    "largest |t|": MethodText(
        what="all rows at once, by the law of the largest of them",
        how=(
            "If nothing were there, the largest of all rows would still be something, the less so the more the rows hang "
            "together. Each row is measured by the law of that largest one, so all intervals hold together."
        ),
        sources=("Hothorn, Bretz & Westfall 2008, doi:10.1002/bimj.200810425",),
    ),
    "intersection-union": MethodText(
        what="two leads in opposite directions, each of which must be shown",
        how=(
            "Two models change places if the first is ahead in one scenario and the second in another. Both leads must be "
            "shown, so the weaker one decides; that a difference is smaller somewhere is not enough."
        ),
        sources=(_BERGER,),
    ),
    "Gail-Simon": MethodText(
        what="whether leads point in both directions by more than chance",
        how=(
            "The leads of one model over another in all scenarios are split by direction, and the smaller of the two sums of "
            "squares is the statistic. It is large only where there is real evidence on both sides."
        ),
        sources=(_GAIL,),
    ),
    # --- pooling and reliability ---
    "partial pooling": MethodText(
        what="each number drawn towards what its model and its scenario do elsewhere, by as much as noise makes likely",
        how=(
            "How much models differ in what a scenario does to them is estimated beyond noise. Where that is little, a number "
            "that stands out is mostly luck and is drawn in; where it is much, numbers stay as they are."
        ),
        takes="What is peculiar to a model in a scenario should scatter as a normal curve does",
        sources=("Morris 1983, doi:10.2307/2287098",),
    ),
    "generalizability": MethodText(
        what="which share of the differences between measured scores is due to the models",
        how=(
            "The scatter of scores is taken apart into what belongs to the models, to the items, to items for one model alone, "
            "and to chance. The share of the models, with as many items as there are, is the reliability; with other numbers "
            "of items it can be worked out what it would be."
        ),
        takes="It belongs to the models that were measured: among models more alike it is lower",
        sources=(_BRENNAN,),
    ),
}
# Names that would be found inside others.
MIXED_WHOLE: Mapping[str, MethodText] = {
    "ML": MethodText(
        what="the means and variances under which the data are likeliest",
        how=(
            "Means and variances are searched for at which these data would have been the least surprising. Variances come "
            "out a little too small, which matters where there are few groups; models with different means can be compared by it."
        ),
        sources=(_BATES,),
    ),
    "z": _NORMAL,
    "satterthwaite": _SATTERTHWAITE,
}
