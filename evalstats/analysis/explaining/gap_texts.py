"""The methods that set lab scores against live ones, in words for somebody who is no statistician."""

from collections.abc import Mapping

from evalstats.analysis.explaining.method_text import MethodText

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
            "Each model is a point: its lab score to the right, its live score upward. Both are uncertain, and models differ by "
            "more than that, so the line weighs every point by how far it could lie off for either reason. Ordinary regression "
            "takes lab scores as exact: noise in them flattens its line, and models at both ends then seem to have gaps that are "
            "none. In simulations without a single gap it called two models in five significant where this line called one in "
            "twenty-five."
        ),
        takes=(
            "What lab scores lead to expect should follow a straight line over the range of these models, and the stated errors "
            "should be right: too small ones turn noise into gaps"
        ),
        sources=(_YORK, _FULLER),
    ),
    "each model against the line of the others": MethodText(
        what="the gap of a model is measured from a line that the model itself did not help to draw",
        how=(
            "A model that lies far off pulls a line towards itself and so hides a part of its own gap. Each model is therefore "
            "left out in turn, the line is drawn through the others, and its live score is set against what that line leads to "
            "expect. The interval holds the noise of both of its scores and that of the line."
        ),
        takes="The other models should be of the kind from which one may learn what to expect of this one",
        sources=(_COOK,),
    ),
    "false-coverage intervals": MethodText(
        what="wider intervals for the models that were picked for standing out",
        how=(
            "Whoever looks at many models and reports those that stand out has picked large deviations, some of them by luck. "
            "The intervals of the picked ones are widened, the more so the fewer were picked. Then on average no more than the "
            "allowed share of the reported intervals misses the truth."
        ),
        sources=(_BENJAMINI,),
    ),
    "differences of scores": MethodText(
        what="live less lab for each model, without any line",
        how=(
            "Where both sides measure one thing in one unit, a plain difference means something even for a few models. Its error "
            "is that of both scores. What moves all models alike, such as harder questions from live users, is in every one of "
            "these differences."
        ),
        takes="A point more in the lab and a point more live should mean the same",
    ),
    "mean over models of live less lab": MethodText(
        what="how far live scores lie from lab scores over all these models together",
        how=(
            "The differences of all models are averaged. Models answered the same items and met the same users, so their errors "
            "move together, and the interval counts that. It speaks of these models, and of other items and users."
        ),
    ),
    "Kitagawa": MethodText(
        what="the difference of two rates split into what is the mix and what is behaviour within the same scenarios",
        how=(
            "A score over all scenarios is the score in each of them, weighted by how often it comes up. Live differs from the "
            "lab because other scenarios come up, which is the mix, and because the same scenarios come out otherwise, which is "
            "behaviour. Each is measured with the mean of both sides as the yardstick, so that the two add up with nothing left "
            "over and neither side goes first."
        ),
        takes=(
            "Inside one scenario live users and lab items should be alike: where live questions are harder within a scenario, "
            "that counts as behaviour of the model. What the lab never covers is told apart and explained by nothing"
        ),
        sources=(_KITAGAWA,),
    ),
    "lab items weighted to the live mix": MethodText(
        what="what the lab would have said, had its items come up as often as they do live",
        how=(
            "Items of scenarios that are frequent live and rare in the lab get a large weight, others a small one. The weighted "
            "score stands for the live mix. Unequal weights make fewer items of many, and the effective number says how few."
        ),
        takes="The lab must have items of everything that is frequent live: no weight can stand for what it lacks",
        sources=(_DEMING, _KISH),
    ),
    "One model of both sides": MethodText(
        what="one model for true lab scores, the line to live ones, and the true gaps about it",
        how=(
            "Every model has a true lab score, a true live score on a line in it, and a gap of its own about that line; both "
            "measured scores are noisy. What is not known is weighed by how well it explains all scores together. A model with a "
            "lab score alone is then forecast with the spread of true gaps in its interval, since it too will have a gap."
        ),
        takes="The models to be forecast should be like those that have both scores, and true gaps should be bell-shaped",
        sources=(_GELMAN,),
    ),
    "rank and product-moment correlation": MethodText(
        what="how far the order and the scores of both sides go together, from -1 to 1",
        how=(
            "Spearman's and Kendall's coefficients ask about the order alone, Pearson's about the scores on a straight line. "
            "Other items, other votes and other models would each have given another value, so there is an interval for each "
            "of the three. Noise alone keeps any coefficient below 1: the ceiling is what would be expected if true scores "
            "agreed perfectly, and the correlation of true scores divides the noise out."
        ),
        takes=(
            "A correlation grows with the range of the models: over weak and strong ones almost any benchmark agrees, so look at "
            "the best models by themselves"
        ),
        sources=(_SPEARMAN, _PERLITZ),
    ),
}
