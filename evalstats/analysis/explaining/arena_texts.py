"""The methods that rank models by votes, in words for somebody who is no statistician."""

from collections.abc import Mapping

from evalstats.analysis.explaining.method_text import MethodText

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
