"""What every method does, takes for granted and comes from, in words for somebody who is no statistician, keyed by its name."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalstats.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodText:
    """A method in words.

    Attributes
    ----------
    what
        What it is, after its name: a clause without a full stop.
    how
        How it works, in about three sentences.
    takes
        What it takes for granted beyond what every method here does, and how that could fail; "" where nothing.
    sources
        Author, year, and where.
    """

    what: str
    how: str
    takes: str = ""
    sources: tuple[str, ...] = ()


_ZERMELO = "Zermelo 1929, doi:10.1007/BF01180541"
_BRADLEY = "Bradley & Terry 1952, doi:10.2307/2334029"
_FORD = "Ford 1957, doi:10.2307/2308513"
_DAVIDSON = "Davidson 1970, doi:10.1080/01621459.1970.10481082"
_RAO = "Rao & Kupper 1967, doi:10.1080/01621459.1967.10482901"
_HUBER = "Huber 1967, Proceedings of the Fifth Berkeley Symposium 1:221"
_CAMERON = "Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136"
_BELL = "Bell & McCaffrey 2002, Survey Methodology 28:169"
_ROMANO = "Romano & Wolf 2005, doi:10.1198/016214504000000539"
_MOGSTAD = "Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006"
_CANAY = "Canay, Romano & Shaikh 2017, doi:10.3982/ECTA13081"
_CRAINICEANU = "Crainiceanu & Ruppert 2004, doi:10.1111/j.1467-9868.2004.00438.x"
_CHIANG = "Chiang et al. 2024, arXiv:2403.04132"

_ONE_NUMBER = (
    "One number for each model should say how it fares against every other. Where a beats b, b beats c and c beats a, or where "
    "users of different kinds want different things, no such number exists, and the rating is only a mean of them"
)

ARENA_TEXTS: Mapping[str, MethodText] = {
    "Bradley-Terry, ties as half wins": MethodText(
        what="a strength for each model, by which the votes seen are the likeliest; a tie is half a win for either",
        how=(
            "Every model has a strength, and the odds that it wins a vote against another depend on the difference of their "
            "strengths alone. The strengths under which the votes seen are the likeliest are the answer. So a win over a strong "
            "model counts for more than one over a weak model, and models that never met are compared through those they both "
            "met. A tie goes to both sides as half a win."
        ),
        takes=_ONE_NUMBER,
        sources=(_ZERMELO, _BRADLEY, _FORD),
    ),
    "Bradley-Terry with Davidson ties": MethodText(
        what="a strength for each model, and one number for how often equals tie",
        how=(
            "Every model has a strength, and the odds of a win against a loss depend on the difference of two strengths alone. "
            "A tie is an outcome of its own, likeliest between equals, and one further number says how likely. The strengths and "
            "that number are those under which the votes seen are the likeliest."
        ),
        takes=f"{_ONE_NUMBER}. How often votes tie should depend on the two strengths alone, not on the voter or the prompt",
        sources=(_DAVIDSON, _BRADLEY),
    ),
    "Bradley-Terry with Rao-Kupper ties": MethodText(
        what="a strength for each model, and a threshold below which a voter sees no difference",
        how=(
            "Every model has a strength. A voter sees which of two answers is better only where the difference is above a "
            "threshold, and calls a tie otherwise. The strengths and the threshold are those under which the votes seen are the "
            "likeliest."
        ),
        takes=f"{_ONE_NUMBER}. The threshold should be the same for all voters and prompts",
        sources=(_RAO, _BRADLEY),
    ),
    "sandwich clustered by": MethodText(
        what="standard errors from how far whole clusters of votes pull the ratings",
        how=(
            "Votes of one person, or on one prompt, are alike, so a hundred of them tell less than a hundred of strangers. For "
            "each such group it is worked out how far it pulls the ratings, and the scatter of these pulls is the error. With "
            "several kinds of groups their errors are added, and what was counted twice is taken off."
        ),
        takes=(
            "Groups should be many and of about one size: with few, or one that holds a large share of the votes, the error is "
            "itself badly known, which the t law allows for only in part"
        ),
        sources=(_CAMERON, _BELL),
    ),
    "sandwich of single votes": MethodText(
        what="standard errors from how far single votes pull the ratings",
        how=(
            "For each vote it is worked out how far it pulls the ratings, and the scatter of these pulls is the error. It holds "
            "even where the odds are not quite as the strengths say. Every vote counts as a new and independent one."
        ),
        takes="No two votes may share a voter, a prompt or a conversation; where they do, the intervals are too short",
        sources=(_HUBER,),
    ),
    "arena upper bound": MethodText(
        what="the rank that live arenas print: one more than the models whose whole interval lies higher",
        how=(
            "Each model gets an interval, and its rank is 1 plus the number of models whose interval lies wholly above its own. "
            "Intervals may overlap though a pair is clearly apart, so the rank of a weak model looks better than it is. With "
            "many models some intervals miss by luck, and nothing is allowed for that."
        ),
        sources=(_CHIANG,),
    ),
    "online Elo": MethodText(
        what="ratings by one pass over the votes, as chess servers make them",
        how=(
            "All models start alike, and after each vote the winner takes some points from the loser, more where it was the "
            "underdog. Late votes count for more than early ones, so the same votes in another order give other ratings. It is "
            "shown for comparison only and decides nothing."
        ),
        sources=("Elo 1978, The Rating of Chessplayers, Past and Present",),
    ),
    "max-T step-down, multivariate t": MethodText(
        what="all pairs judged at once by the largest difference that chance would show",
        how=(
            "How far the ratings swing, and how they swing together, is known from the votes. From that it is worked out how "
            "large the largest of all differences becomes by chance alone, with some more room because the errors are themselves "
            "estimated from few groups of votes. A pair counts as separated if its difference is larger than that; the rest are "
            "then judged among themselves."
        ),
        takes="Each rating should rest on many groups of votes, so that it swings as a normal curve does",
        sources=(_ROMANO, _MOGSTAD),
    ),
    "max-T step-down, sign flips of clusters by": MethodText(
        what="all pairs judged at once, by turning whole groups of votes round at random",
        how=(
            "There are fewer groups of votes than models, too few to know how the ratings swing together. So the pull of each "
            "group on the ratings is turned round or left by the toss of a coin, many times, and each time the largest of all "
            "differences is noted. A pair counts as separated if its difference is larger than what that reaches by chance."
        ),
        takes="If two models were equally strong, a group of votes should be as likely to lean to one as to the other",
        sources=(_ROMANO, _MOGSTAD, _CANAY),
    ),
    "restricted likelihood ratio of standard deviation 0": MethodText(
        what="a test of whether models stand differently from one category to the next at all",
        how=(
            "Ratings within a category differ from the overall ones by chance even if nothing is behind it. The test asks how "
            "much likelier the votes are if true differences of one common size are allowed. How far that goes by chance alone "
            "is found by drawing votes without any such differences."
        ),
        sources=(_CRAINICEANU,),
    ),
    "its law by random signs of": MethodText(
        what="a test of whether ratings change over time, against what chance would show",
        how=(
            "If nothing changed, what a group of votes says beyond the overall ratings would lean to either side alike. So these "
            "leanings are turned round or left by the toss of a coin, many times, and the change that was seen is set against "
            "those that come about so."
        ),
        sources=(_CANAY,),
    ),
}


_YORK = "York, Evensen, Martinez & De Basabe Delgado 2004, doi:10.1119/1.1632486"
_FULLER = "Fuller 1987, Measurement Error Models"
_COOK = "Cook 1977, doi:10.2307/1268249"
_BENJAMINI = "Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907"
_KITAGAWA = "Kitagawa 1955, doi:10.1080/01621459.1955.10501299"
_DEMING = "Deming & Stephan 1940, doi:10.1214/aoms/1177731829"
_KISH = "Kish 1965, Survey Sampling"
_GELMAN = "Gelman & Hill 2007, Data Analysis Using Regression and Multilevel/Hierarchical Models"
_SPEARMAN = "Spearman 1904, doi:10.2307/1412159"
_PERLITZ = "Perlitz et al. 2024, arXiv:2407.13696"

GAP_TEXTS: Mapping[str, MethodText] = {
    "York's line": MethodText(
        what="a line from lab scores to live ones that knows that both are measured with error",
        how=(
            "It weighs every model by how far it may lie off through noise on either side, and lets models differ by more "
            "than noise. Ordinary regression takes lab scores as exact, so noise flattens its line and makes gaps of "
            "nothing: in simulations without a gap it called two models in five, this line one in twenty-five."
        ),
        takes=(
            "Lab scores lead to live ones along a straight line, and the stated errors are right: too small ones turn noise "
            "into gaps."
        ),
        sources=(_YORK, _FULLER),
    ),
    "each model against the line of the others": MethodText(
        what="the gap of a model is measured from a line that the model itself did not help to draw",
        how=(
            "Each model is left out in turn, and its live score is set against what the line through the others leads to "
            "expect. A model that lies far off would otherwise pull the line towards itself."
        ),
        takes=("The other models are of the kind from which one may learn what to expect of this one."),
        sources=(_COOK,),
    ),
    "false-coverage intervals": MethodText(
        what="wider intervals for the models that were picked for standing out",
        how=(
            "A gap is called where a model stands out among the gaps of the others (Benjamini-Hochberg). The intervals of "
            "those called are widened for being picked."
        ),
        sources=(_BENJAMINI,),
    ),
    "differences of scores": MethodText(
        what="live less lab for each model, without any line",
        how=(
            "Where both sides measure one thing in one unit, a plain difference means something even for a few models. What "
            "moves all models alike, such as harder questions, is in every one of them."
        ),
        takes=("A point more in the lab and a point more live mean the same."),
    ),
    "mean over models of live less lab": MethodText(
        what="how far live scores lie from lab scores over all these models together",
        how=(
            "Models answered the same items and met the same users, so their errors move together, and the interval counts "
            "that. It speaks of these models, and of other items and users."
        ),
    ),
    "Kitagawa": MethodText(
        what="the difference of two rates split into what is the mix and what is behaviour within the same scenarios",
        how=(
            "Live differs from the lab because other tasks come up, the mix, and because the same tasks come out otherwise, "
            "behaviour. Each is measured with the mean of both sides as the yardstick, so that they add up."
        ),
        takes=(
            "Within one level, lab items and live tasks are alike: where live ones are harder, that counts as behaviour."
        ),
        sources=(_KITAGAWA,),
    ),
    "lab items weighted to the live mix": MethodText(
        what="what the lab would have said, had its items come up as often as they do live",
        how=(
            "Items of scenarios that are frequent live and rare in the lab get large weights. Unequal weights make fewer "
            "items of many, and the effective number says how few."
        ),
        takes=("The lab has items of everything that is frequent live: no weight stands for what it lacks."),
        sources=(_DEMING, _KISH),
    ),
    "One model of both sides": MethodText(
        what="one model for true lab scores, the line to live ones, and the true gaps about it",
        how=(
            "True lab scores, a line to live ones and a gap of each model about it are weighed by how well they explain all "
            "scores together. A model with a lab score alone is forecast with the spread of true gaps, since it too will "
            "have one."
        ),
        takes=("Models to be forecast are like those that have both scores, and true gaps are bell-shaped."),
        sources=(_GELMAN,),
    ),
    "rank and product-moment correlation": MethodText(
        what="how far the order and the scores of both sides go together, from -1 to 1",
        how=(
            "Spearman's and Kendall's coefficients ask about the order, Pearson's about scores on a straight line. Other "
            "items, votes or models would each have given another value, hence an interval for each. The ceiling is what to "
            "expect if true scores agreed perfectly."
        ),
        takes=("A correlation grows with the range of the models, so look at the best models by themselves."),
        sources=(_SPEARMAN, _PERLITZ),
    ),
}


_BATES = "Bates, Mächler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01"
_BAAYEN = "Baayen, Davidson & Bates 2008, doi:10.1016/j.jml.2007.12.005"
_PATTERSON = "Patterson & Thompson 1971, doi:10.1093/biomet/58.3.545"
_PINHEIRO = "Pinheiro & Bates 1995, doi:10.1080/10618600.1995.10474663"
_KENWARD = "Kenward & Roger 1997, doi:10.2307/2533558"
_FAI = "Fai & Cornelius 1996, doi:10.1080/00949659608811740"
_HALEKOH = "Halekoh & Højsgaard 2014, doi:10.18637/jss.v059.i09"
_SELF = "Self & Liang 1987, doi:10.1080/01621459.1987.10478472"
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


__all__ = ["MethodText", "add_method", "known_methods", "texts_for"]


_WILSON = "Wilson 1927, JASA 22:209"
_BROWN = "Brown, Cai & DasGupta 2001, doi:10.1214/ss/1009213286"
_BONETT = "Bonett & Price 2012, Journal of Educational and Behavioral Statistics 37:479"
_FISHER = "Fisher 1935, The Design of Experiments, section 21"
_EFRON = "Efron & Tibshirani 1993, An Introduction to the Bootstrap"
_STUDENT = "Student 1908, Biometrika 6:1"
_SATTERTHWAITE_1946 = "Satterthwaite 1946, doi:10.2307/3002019"

_TEXTS: dict[str, MethodText] = {
    # --- two systems, right or wrong ---
    "Tango score": MethodText(
        what="the interval of all differences that the score test does not reject",
        how=(
            "Only the items on which the two disagree say which is better; the others say how rare disagreement "
            "is. For every possible true difference the method asks whether the disagreements seen would be "
            "surprising, and the interval collects all differences for which they would not. Its p is that of "
            "the same test at a difference of zero, so p and interval never contradict each other."
        ),
        sources=("Tango 1998, Statistics in Medicine 17:891",),
    ),
    "McNemar mid-p": MethodText(
        what="a coin-tossing count on the items that tell the two apart, with half weight on the outcome seen",
        how=(
            "If the two were equally good, each item that tells them apart would fall to either side like a fair "
            "coin. The p is how often so lopsided a split would come up, the split that was seen counting half. "
            "That half makes up for the coarseness of counts, without which the test would be too careful."
        ),
        sources=("Fagerland, Lydersen & Laake 2013, doi:10.1186/1471-2288-13-91",),
    ),
    "McNemar exact": MethodText(
        what="the coin-tossing count in full; it never claims too much, and often too little",
        how=(
            "If the two were equally good, each item that tells them apart would fall to either side like a fair "
            "coin. The p is how often a split at least so lopsided would come up, counted exactly. False claims "
            "are no more frequent than the level allows, at the price of missing some true differences."
        ),
        sources=("McNemar 1947, Psychometrika 12:153",),
    ),
    "Newcombe square-and-add": MethodText(
        what="built from the two systems' own intervals",
        how=(
            "Each system's own interval says how far its score could be off, up and down. The distances are "
            "combined as the sides of a triangle are, with a correction for the two having answered the same "
            "items. It comes out a little wider than Tango's and can be checked with a pocket calculator."
        ),
        sources=("Newcombe 1998, Statistics in Medicine 17:2635",),
    ),
    "Bonett-Price": MethodText(
        what="the textbook interval after adding one imaginary item to either side",
        how=(
            "One imaginary item that only the candidate gets right, and one that only the baseline does, join "
            "the data. After that the ordinary formula is used. The two imaginary items keep the interval honest "
            "where hardly any item tells the two apart."
        ),
        sources=(_BONETT,),
    ),
    "Dirichlet posterior": MethodText(
        what="what to believe of the difference, having started from a weak belief that leans to neither side",
        how=(
            "Every item ends in one of four boxes: both right, one right, the other right, neither. Before the "
            "data the boxes are given a small equal weight; the counts are added; what follows is a full "
            "distribution of the difference. From it come statements of another kind: the probability that the "
            "candidate is better, given the data and the start."
        ),
        takes="The probabilities hold for the starting weight named; with few items another start gives others",
        sources=(
            "Agresti & Min 2005, doi:10.1111/j.1541-0420.2005.031228.x",
            "Bowyer, Aitchison & Ivanova 2025, arXiv:2503.01747",
        ),
    ),
    "conditional odds ratio": MethodText(
        what="how many items go to the candidate alone for each that goes to the baseline alone",
        how=(
            "Only the items that tell the two apart are used: those that the candidate alone got right, divided "
            "by those that the baseline alone did. The interval counts coin tosses exactly. It says how lopsided "
            "the disagreement is, and nothing of how rare it is."
        ),
        sources=("Agresti 2013, Categorical Data Analysis, section 11.1",),
    ),
    "mean difference over sd of differences": MethodText(
        what="the mean difference, counted in standard deviations of the items' differences",
        how=(
            "The mean difference is divided by how much the items' differences scatter. So it has no unit and "
            "says how easily the difference is seen among the items, not how much it matters. It can be compared "
            "between metrics."
        ),
        sources=("Cohen 1988, Statistical Power Analysis, section 2.3",),
    ),
    "probability of superiority": MethodText(
        what="how often the candidate does better on an item, ties counting half",
        how=(
            "On every item it is noted whether the candidate did better, worse or the same, and a tie counts "
            "half. The share is the chance that it does better on an item drawn at random. How much better does "
            "not matter to it."
        ),
        sources=("Vargha & Delaney 2000, doi:10.3102/10769986025002101",),
    ),
    "unseen-failure limit": MethodText(
        what="how often the side ahead would have to fail outright, unseen so far, for its lead to be gone",
        how=(
            "An interval of graded scores knows only the differences that were seen. A system that gains a little on "
            "most items and falls to the worst score on one in fifty looks better in every sample that holds no such "
            "fall. So the share of falls that would use up the lead is set beside the share that these items cannot "
            "exclude: some 3 in n where none was seen. Where either side fails outright on some item, and failures that "
            "cannot be excluded would undo the result, the verdict is inconclusive; elsewhere it is one line of caution."
        ),
        sources=(
            "Clopper & Pearson 1934, Biometrika 26:404",
            "Hanley & Lippman-Hand 1983, JAMA 249:1743",
        ),
    ),
    # --- means of items ---
    "augmented t": MethodText(
        what="the t interval of the item differences, with one imaginary item added on either side",
        how=(
            "The trials of an item are averaged first, so each item gives one difference. Two imaginary items "
            "join them, one up and one down, and then the ordinary t interval is taken. Where nearly all items "
            "agree, the ordinary interval is too short, since rare changes have not shown up yet; the imaginary "
            "items stand in for them."
        ),
        takes=(
            "The average of the item differences should swing as a normal curve does, which it nearly does from "
            "some twenty items"
        ),
        sources=(_BONETT,),
    ),
    "augmented t on cluster means": MethodText(
        what="the average over clusters, each counting once, with one imaginary cluster at either extreme",
        how=(
            "The items of a cluster are averaged to one difference, and the clusters' differences are treated as "
            "so many items. Two imaginary clusters join them, one at either extreme, before the t interval is "
            "taken. Every cluster counts the same, large or small, and the interval never has width zero."
        ),
        takes="Large and small clusters count alike, which is the average over clusters and not over items",
        sources=(_BONETT,),
    ),
    "paired t": MethodText(
        what="the ordinary t interval of the item differences",
        how=(
            "Each item gives one difference, candidate minus baseline. The interval is their mean, give or take "
            "their standard error times a factor that allows for the spread having been estimated. Comparing "
            "item by item takes out how hard the items are, which is most of the noise."
        ),
        takes=(
            "The mean of the differences should swing as a normal curve does: a few huge differences, or scores "
            "crowded at the end of their range, make the interval too short"
        ),
        sources=(_STUDENT, "Miller 2024, arXiv:2411.00640"),
    ),
    "sign-flip": MethodText(
        what="how often random signs would give so large a mean difference",
        how=(
            "If neither were better, each item's difference could as well have had the other sign. The signs are "
            "turned in every possible way, or in thousands of random ones, and the p is the share that gives a "
            "mean at least as far from zero. It needs no normal curve."
        ),
        takes="Under no difference, an item's difference must be as likely to point either way",
        sources=(_FISHER,),
    ),
    "percentile bootstrap": MethodText(
        what="how the mean would scatter if these very items were drawn again and again",
        how=(
            "The items are imagined drawn again, as many as there are, with repeats, and the middle of all the "
            "means that come out is the interval. Here its law is computed outright instead of drawn, so there "
            "is no seed and no luck. It knows only values that were seen, so near a perfect score it is too "
            "short."
        ),
        takes=(
            "What was not seen cannot happen in it: with fewer than 300 items near 0 or 1 it promises more than "
            "it keeps"
        ),
        sources=(_EFRON,),
    ),
    "augmented percentile bootstrap": MethodText(
        what="the bootstrap over items, with one imaginary item at either extreme",
        how=(
            "Two imaginary items, one at either extreme, join the data before the items are imagined drawn "
            "again. That lets the bootstrap know of changes that have not shown up yet. The law is computed "
            "outright, without a seed."
        ),
        sources=(_EFRON, _BONETT),
    ),
    "studentised bootstrap": MethodText(
        what="the t interval with a factor learnt from the data's own shape instead of from a table",
        how=(
            "The items are drawn again at random some thousand times, and each time the mean is divided by its "
            "own standard error. How these ratios scatter replaces the factor of the t table, so lopsided data "
            "get a lopsided interval. Its ends carry a little luck of the draw, which the note states."
        ),
        takes="It goes wrong where most items show no difference at all, and is refused there",
        sources=("Efron 1982, doi:10.1137/1.9781611970319", "Hall 1988, doi:10.1214/aos/1176350933"),
    ),
    "studentised cluster bootstrap": MethodText(
        what="the t interval of clusters, with a factor learnt from the data's own shape",
        how=(
            "Whole clusters are drawn again at random, and each time the mean is divided by its cluster-robust "
            "standard error. How these ratios scatter replaces the factor of the t table. Its ends carry a "
            "little luck of the draw."
        ),
        sources=("Hall 1988, doi:10.1214/aos/1176350933", "Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414"),
    ),
    "BCa bootstrap": MethodText(
        what="the percentile bootstrap, shifted for bias and lopsidedness",
        how=(
            "The law of the redrawn mean is taken as for the percentile bootstrap. Which of its points become "
            "the ends is then shifted, by how far the law is off centre and how lopsided the data are. Near a "
            "perfect score it shares the percentile bootstrap's fault: it knows only what was seen."
        ),
        sources=("Efron 1987, doi:10.1080/01621459.1987.10478410",),
    ),
    "Wilcoxon signed rank": MethodText(
        what="a test on the ranks of the differences; it asks for the middle, not for the mean",
        how=(
            "The differences are put in order of size, whatever their sign, and the ranks of the positive and of "
            "the negative ones are added up. If neither were better, the two sums would be alike. Huge "
            "differences count no more than their rank, and so it answers for the typical item, not for the mean."
        ),
        takes="The differences must be symmetric about their middle; many exact zeros weaken it",
        sources=("Wilcoxon 1945, Biometrics Bulletin 1:80", "Pratt 1959, JASA 54:655"),
    ),
    "Hodges-Lehmann": MethodText(
        what="the median of all pairwise averages of the differences: the typical item, not the mean",
        how=(
            "Every two differences are averaged, each with itself as well, and the median of these averages is "
            "the estimate. It is the shift that the signed-rank test finds least surprising. A few wild items "
            "hardly move it."
        ),
        sources=("Hodges & Lehmann 1963, doi:10.1214/aoms/1177704172",),
    ),
    # --- clusters ---
    "CR2": MethodText(
        what="a t interval in which clusters, not items, are the pieces of evidence",
        how=(
            "Items of one cluster tend to go the same way, so their deviations are added up within each cluster "
            "before they are squared: what moves together counts together. A correction makes up for every "
            "cluster having pulled the mean towards itself. The factor comes from a t table with degrees of "
            "freedom worked out from how uneven the clusters are (Satterthwaite's), which may be far fewer than "
            "the clusters."
        ),
        sources=(_BELL, _PUSTEJOVSKY),
    ),
    "CR2 on": MethodText(
        what="a t interval for items that are grouped in several ways at once",
        how=(
            "The variance is worked out for each way of grouping, and added; what two groupings have in common "
            "is taken off, since it was counted twice. The factor is that of the grouping with the least "
            "information. So two items may share a passage, or a user, or both, and each counts as it should."
        ),
        sources=("Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136", _PUSTEJOVSKY),
    ),
    "cluster sign-flip": MethodText(
        what="how often random signs for whole clusters would give so large a difference",
        how=(
            "If neither were better, the differences of a whole cluster could as well have had the other sign. "
            "The clusters' signs are turned in every possible way, or in thousands of random ones, and the p is "
            "the share that gives so large a mean. With few clusters there are few ways to turn them, so its p "
            "cannot be small: that is the truth about few clusters."
        ),
        takes="Under no difference, a cluster's sum must be as likely to point either way",
        sources=(_FISHER, "Canay, Romano & Shaikh 2017, doi:10.3982/ECTA13081"),
    ),
    "wild cluster bootstrap": MethodText(
        what="the cluster test with random weights of six sizes instead of signs alone",
        how=(
            "The differences are first imagined to be zero on average; then each cluster's deviations are "
            "multiplied by a random weight, of six possible ones, some thousand times over. The p is how often "
            "the test statistic comes out as large as it did. With few clusters the six weights give many more "
            "patterns than signs alone."
        ),
        sources=("Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414", "Webb 2023, doi:10.1111/caje.12661"),
    ),
    "cluster-weighted mean": MethodText(
        what="the average over clusters, each counting once whatever its size",
        how=(
            "The items of each cluster are averaged, and these averages are averaged with equal weight. The "
            "interval is the ordinary t interval of the clusters' averages. It answers for the typical cluster, "
            "where the headline answers for the typical item; they part where large clusters differ from small "
            "ones."
        ),
        sources=(_STUDENT,),
    ),
    "cluster percentile bootstrap": MethodText(
        what="how the mean would scatter if these very clusters were drawn again and again",
        how=(
            "Whole clusters are imagined drawn again, as many as there are, with repeats, and the middle of all "
            "the means that come out is the interval. Its law is computed outright, without a seed. With fewer "
            "than some twenty clusters it is too short."
        ),
        takes="What no cluster showed cannot happen in it, so with few clusters it promises more than it keeps",
        sources=(_EFRON, "Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414"),
    ),
    "stratified mean": MethodText(
        what="the mean over fixed groups, each with its own spread",
        how=(
            "The groups are the ones of interest, not a sample of more, so only the spread within each counts as "
            "noise. The standard errors of the groups are combined by their weights. Nothing is said of groups "
            "that are not in the data."
        ),
        sources=("Cochran 1977, Sampling Techniques, section 5.4", _SATTERTHWAITE_1946),
    ),
    "runs counted": MethodText(
        what="the same with the variation from run to run added",
        how=(
            "A seed, a server, a judge or a prompt build moves all items of a run alike, which no number of items averages "
            "out. What the means of full runs (or of the k-th trials of all items) differ by beyond the noise of single "
            "trials is added to the spread. Trials that both sides share are compared trial by trial, so that what they "
            "add to both cancels. Degrees of freedom are worked out from how well each part is known (Satterthwaite's)."
        ),
        takes="The runs must be a fair sample of runs to come; three or four tell little about their spread",
        sources=(_SATTERTHWAITE_1946,),
    ),
    "difference on these items, new trials": MethodText(
        what="where the difference would land if these very items were run again",
        how=(
            "The items are held fixed and only the trials of each count as noise. So the interval says where the "
            "difference would land if the same items were run again. It is much shorter than one for new items, "
            "and says nothing of them."
        ),
        takes="It needs two trials or more of each item, independent of each other",
        sources=("Miller 2024, arXiv:2411.00640",),
    ),
    "tests at the margin": MethodText(
        what="two one-sided tests: that the loss is not as large as the margin, and that the gain is not",
        how=(
            "One test asks whether a loss as large as the margin can be excluded; that is non-inferiority. A "
            "second asks the same of a gain. If both are excluded, the two are equivalent by the margin declared."
        ),
        sources=("Schuirmann 1987, doi:10.1007/BF01068419",),
    ),
    # --- cost, time and tokens ---
    "ratio of means, Fieller": MethodText(
        what="one total as a multiple of the other",
        how=(
            "The two means are divided, and the interval collects all multiples for which the candidate's costs "
            "less so many times the baseline's would not be surprising. Costs of the same item are paired. It is "
            "open on one side where the baseline's mean is hardly above zero."
        ),
        sources=("Fieller 1954, JRSS-B 16:175", "Franz 2007, arXiv:0710.2024"),
    ),
    "ratio of means, t on the log": MethodText(
        what="one total as a multiple of the other, judged on the logarithmic scale",
        how=(
            "The two means are divided and the logarithm taken, on which twice as much and half as much are "
            "equally far from equal. A t interval there is turned back into multiples. Costs of the same item "
            "are paired."
        ),
        sources=("Franz 2007, arXiv:0710.2024",),
    ),
    "geometric mean of the items' ratios": MethodText(
        what="the typical item's multiple, each item counting the same however dear it is",
        how=(
            "Every item gives one multiple, candidate over baseline, and their logarithms are averaged. So a "
            "dear item counts no more than a cheap one. The total may go up while the typical item gets cheaper, "
            "where a few items carry the total."
        ),
    ),
    "median of the items' ratios": MethodText(
        what="the multiple that half of the items stay below",
        how=(
            "The items' multiples are put in order, and the middle one is taken. The interval's ends are two "
            "items from the ordered list, counted so that the true middle lies between them with the level "
            "named. No item, however dear, can move it far."
        ),
    ),
    "ratio of (cost / successes)": MethodText(
        what="what a success costs, as a multiple",
        how=(
            "Each side's total cost is divided by its number of successes, and the two are divided. How cost and "
            "success hang together item by item is taken into the t interval on the logarithmic scale. It needs "
            "at least ten successes on each side."
        ),
    ),
    "mean, t on the log": MethodText(
        what="the mean, judged on the logarithmic scale",
        how=(
            "The mean is taken as it is, and its interval on the logarithmic scale, where a cost cannot fall "
            "below zero. A t factor allows for the spread having been estimated. A few very dear items make it "
            "rough."
        ),
    ),
    # --- one score ---
    "Wilson": MethodText(
        what="the interval of all true rates for which the count seen is not surprising",
        how=(
            "For every possible true rate the method asks whether the number of right answers would be "
            "surprising, and the interval collects those for which it would not. It never leaves 0 to 100% and "
            "never has width zero, not even at a perfect score. The usual plus-or-minus formula does both."
        ),
        sources=(_WILSON, _BROWN),
    ),
    "variance-matched Wilson": MethodText(
        what="Wilson's interval for as many right-or-wrong items as the data are worth",
        how=(
            "The spread of the item means tells how many plain right-or-wrong items would be as informative. "
            "Wilson's interval is then taken for that number. So trials and partial credit count for what they "
            "are worth, and the interval still never leaves the range of the score."
        ),
        sources=(_WILSON, _BROWN),
    ),
    "variance-matched Wilson (CR2": MethodText(
        what="Wilson's interval for as many independent items as the clusters are worth",
        how=(
            "Items of one cluster repeat each other, so the cluster-robust variance tells how many independent "
            "right-or-wrong items they are worth. Wilson's interval is taken for that number, with a factor that "
            "allows for few or uneven clusters. It never leaves the range of the score."
        ),
        sources=(_WILSON, _PUSTEJOVSKY),
    ),
    "widest of variance-matched Wilson": MethodText(
        what="the most cautious of the intervals for each way the items are grouped",
        how=(
            "The items are grouped in several ways at once. An interval is made for each way alone and for all "
            "together, and the one reported reaches from the lowest to the highest of their ends. So whichever "
            "grouping matters most is allowed for."
        ),
        sources=(_WILSON, "Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136"),
    ),
    "Jeffreys": MethodText(
        what="what to believe of the rate, having started from a weak belief",
        how=(
            "Half a right and half a wrong answer are added to the counts, as a starting belief that says next "
            "to nothing. The interval holds the middle of what is then to be believed. It is usually close to "
            "Wilson's."
        ),
        sources=(_BROWN,),
    ),
    "Beta(": MethodText(
        what="what to believe of the rate, having started from a flat belief",
        how=(
            "One right and one wrong answer are added to the counts, as a starting belief in which every rate "
            "from 0 to 100% is as likely as any other. The interval holds the middle of what is then to be "
            "believed. Where it and the one from a weaker belief (Jeffreys) differ, the items are too few to "
            "overrule the starting belief."
        ),
        sources=("Bowyer, Aitchison & Ivanova 2025, arXiv:2503.01747",),
    ),
    "Clopper-Pearson": MethodText(
        what="the interval that never covers less often than it says",
        how=(
            "The lower end is the rate at which so many right answers would be just barely likely, and the upper "
            "end likewise. The chances are counted exactly. That makes it wider than Wilson's, and the one to "
            "quote where a guarantee is asked for."
        ),
        sources=("Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404",),
    ),
    "mean pass^": MethodText(
        what="the chance that all of k trials of an item succeed, averaged over items",
        how=(
            "From the trials of each item, the share of all ways to pick k of them in which every one succeeds. "
            "That is unbiased, where the success rate to the k-th power is too high. The items' values are "
            "averaged, and their spread gives the interval."
        ),
        takes="The trials of an item must be independent of each other",
        sources=("Yao et al. 2024, arXiv:2406.12045",),
    ),
    "mean pass@": MethodText(
        what="the chance that any of k trials of an item succeeds, averaged over items",
        how=(
            "From the trials of each item, the share of all ways to pick k of them in which at least one "
            "succeeds. That is unbiased, where the usual shortcut is too low. The items' values are averaged, "
            "and their spread gives the interval."
        ),
        takes="The trials of an item must be independent of each other",
        sources=("Chen et al. 2021, arXiv:2107.03374",),
    ),
    # --- many comparisons ---
    "max-T": MethodText(
        what="adjusted for the whole family by how large the largest of all differences gets by chance",
        how=(
            "All comparisons are redone under random signs, the same signs for all, and each time the largest "
            "test statistic of the family is noted. A difference counts if it is larger than what the largest "
            "reaches by chance, and the rest are then judged among themselves. Since comparisons that share "
            "items move together, this asks less than adding up error rates does."
        ),
        takes="Under no difference, an item's (or cluster's) differences must be as likely to point either way",
        sources=("Westfall & Young 1993, Resampling-Based Multiple Testing", _ROMANO),
    ),
    "Holm": MethodText(
        what="adjusted so that any false claim in the family is rare",
        how=(
            "The smallest p is multiplied by the number of comparisons, the next by one fewer, and so on; none "
            "may fall below the one before. The chance of even one false claim in the family then stays below "
            "the level. It holds however the comparisons hang together."
        ),
        sources=("Holm 1979, Scandinavian Journal of Statistics 6:65",),
    ),
    "Bonferroni": MethodText(
        what="each at a level so strict that all hold together",
        how=(
            "The error allowed is split evenly over the comparisons of the family. All its intervals then hold "
            "together with the level named. It is the bluntest adjustment, and the one for which interval and p "
            "always agree."
        ),
        sources=("Dunn 1961, JASA 56:52",),
    ),
    "Benjamini-Hochberg": MethodText(
        what="adjusted so that few of the claims made are false",
        how=(
            "The p-values are put in order, and each is compared with its share of the list. Of the differences "
            "that are then claimed, about the share allowed are expected to be false. It promises less than "
            "Holm's method and finds more; it is for screening."
        ),
        takes="The comparisons must be independent, or hang together positively",
        sources=("Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x",),
    ),
    "Benjamini-Yekutieli": MethodText(
        what="adjusted so that few of the claims made are false, however the comparisons hang together",
        how=(
            "As Benjamini and Hochberg's method, with a further factor that grows slowly with the number of "
            "comparisons. Of the differences claimed, about the share allowed are expected to be false, whatever "
            "the dependence. The price is that it finds fewer."
        ),
        sources=("Benjamini & Yekutieli 2001, doi:10.1214/aos/1013699998",),
    ),
    "rank sets": MethodText(
        what="ranks as sets: how many models are surely better, and how many surely worse",
        how=(
            "Every two models are compared, all together at one level. A model's best possible rank is one more "
            "than the number surely better than it; its worst leaves room for those surely worse. So the sets "
            "hold all true ranks at once, with the level named, and wide sets are what the data can say."
        ),
        sources=(_MOGSTAD, _ROMANO),
    ),
    "normal law": MethodText(
        what="chance is told by a normal law with the covariance of the scores",
        how=(
            "How far scores swing together is estimated from the items, or taken from published standard errors. "
            "What the largest difference reaches by chance is then read off a normal law with that covariance. "
            "It is for many independent items."
        ),
        takes="The scores must be means of many independent items, for the normal law to hold",
        sources=(_MOGSTAD,),
    ),
    "counted from the separated pairs": MethodText(
        what="ranks as sets, counted from the pairs that can be told apart",
        how=(
            "A model's best possible rank is one more than the number of models surely better than it; its worst "
            "leaves room for those surely worse. What is sure comes from the adjusted comparisons of all pairs. "
            "So the sets hold all true ranks at once, with the level named."
        ),
        sources=(_MOGSTAD,),
    ),
    "hybrid of conditional and simultaneous": MethodText(
        what="the top model's score, corrected for having been picked because it was on top",
        how=(
            "Whoever is on top is there by merit and by luck, so the top score is too high on average. The "
            "correction asks which true scores would make this model the winner with such a score. The interval "
            "is kept from growing without end by one that holds for all models at once."
        ),
        takes="The scores must be means of many items, so that they swing as a normal curve does",
        sources=("Andrews, Kitagawa & McCloskey 2024, doi:10.1093/qje/qjad043",),
    ),
    "Cochran's Q": MethodText(
        what="one test of whether any model differs from the others, on right-or-wrong scores",
        how=(
            "For each item it counts how many models got it right, and asks whether the right answers are spread "
            "over the models more unevenly than chance would have it. It says that some difference exists, and "
            "not where. It decides nothing here."
        ),
        sources=("Cochran 1950, doi:10.1093/biomet/37.3-4.256",),
    ),
    "Friedman": MethodText(
        what="one test of whether any model differs from the others, on ranks within items",
        how=(
            "The models are ranked on every item, and the sums of their ranks are compared with what chance "
            "would give. It says that some difference exists, and not where. It decides nothing here."
        ),
        sources=("Friedman 1937, JASA 32:675",),
    ),
    "normal, from the published standard error": MethodText(
        what="the published number, give or take its published standard error",
        how=(
            "There are no items to work on, only a published number and its standard error. The interval is the "
            "number give or take so many standard errors, by the normal curve. What the publisher left out, "
            "clusters for one, is left out here too."
        ),
        takes="The published standard error must be right, and rest on many items",
    ),
    "comparisons with the best": MethodText(
        what="each model against the best of the others",
        how=(
            "For each model the difference to the best of the others is bounded, all bounds holding together. A "
            "model whose upper bound is zero is not the best; all others may be. The list of those that may be "
            "is usually shorter than one would read off overlapping intervals."
        ),
        sources=("Hsu 1996, Multiple Comparisons: Theory and Methods",),
    ),
    # --- looking while the run goes on ---
    "betting confidence sequence": MethodText(
        what="an interval that may be looked at after every item",
        how=(
            "For every possible true mean, imagine a gambler who bets against it, item by item, at fair odds. If "
            "the mean were true, he could hardly get rich; the means against which he did are struck out. "
            "Because that holds at every moment, one may look at any time and stop when satisfied."
        ),
        takes="The items must come in random order, and the scores must have known bounds",
        sources=("Waudby-Smith & Ramdas 2024, doi:10.1093/jrsssb/qkad009",),
    ),
    "normal-mixture confidence sequence": MethodText(
        what="an interval in closed form that may be looked at after every item",
        how=(
            "It is wide enough to hold the truth at all times at once, not only at one. It goes by the range of "
            "the scores alone, not by their spread, and is therefore wider than the betting one. One may look at "
            "any time and stop when satisfied."
        ),
        takes="The items must come in random order, and the scores must have known bounds",
        sources=("Robbins 1970, doi:10.1214/aoms/1177696786", "Howard et al. 2021, doi:10.1214/20-AOS1991"),
    ),
    "asymptotic confidence sequence": MethodText(
        what="an interval for many items that may be looked at after every item",
        how=(
            "It is the normal interval, made wide enough to hold at all times at once. It uses the spread that "
            "is seen, so the scores need no bounds. It is right for many items, not for the first few dozen."
        ),
        takes="The items must come in random order, and looking should begin after a hundred or so",
        sources=("Waudby-Smith et al. 2024, doi:10.1214/24-AOS2408",),
    ),
    "sequential McNemar": MethodText(
        what="evidence on the items that tell the two apart, which may be looked at after every item",
        how=(
            "A gambler bets on which side each item that tells the two apart will fall, at the odds of a fair "
            "coin. If neither were better, he could hardly get rich. His wealth is the evidence, and may be "
            "looked at at any time."
        ),
        takes="The items must come in random order",
        sources=(
            "Robbins 1970, doi:10.1214/aoms/1177696786",
            "Grünwald, de Heide & Koolen 2024, doi:10.1093/jrsssb/qkae011",
        ),
    ),
    # --- mixed models ---
    **MIXED_TEXTS,
    # --- votes ---
    **ARENA_TEXTS,
    # --- lab against live ---
    **GAP_TEXTS,
}
# Names that are parts of others' names: they are not looked for inside any.
_WHOLE: dict[str, MethodText] = {
    "t": MethodText(
        what="the ordinary t interval of the item scores",
        how=(
            "The mean of the item scores, give or take their standard error times a factor that allows for the "
            "spread having been estimated. Trials are averaged within items first. The score has no bounds that "
            "the interval would have to respect."
        ),
        takes="The mean should swing as a normal curve does: a few huge scores make the interval too short",
        sources=(_STUDENT,),
    ),
    **MIXED_WHOLE,
}


def texts_for(method: str) -> tuple[MethodText, ...]:
    """Return what is known of a method, by its name in a result; several texts where the name has several parts.

    Examples
    --------
    >>> texts_for("CR2 on 2 cluster columns, Satterthwaite df")[0].what
    'a t interval for items that are grouped in several ways at once'
    >>> len(texts_for("paired t, max-T step-down over sign flips of items")), texts_for("astrology")
    (2, ())
    """
    if method in _WHOLE:
        return (_WHOLE[method],)
    found: list[tuple[int, MethodText]] = []
    rest = method
    for key in sorted(_TEXTS, key=len, reverse=True):
        place = rest.find(key)
        if place >= 0:
            found.append((place, _TEXTS[key]))
            rest = rest.replace(key, "\x00" * len(key))
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


def add_method(key: str, text: MethodText, *, whole: bool = False) -> None:
    """Add a method's text under a part of its name; `whole` for a name that is not to be looked for inside others.

    Raises
    ------
    InputError
        If the key is taken.
    """
    where = _WHOLE if whole else _TEXTS
    if key in where:
        message = f"there is a text for the method {key!r} already"
        raise InputError(message)
    where[key] = text


def known_methods() -> Mapping[str, MethodText]:
    """Return all texts by their keys."""
    return {**_TEXTS, **_WHOLE}
