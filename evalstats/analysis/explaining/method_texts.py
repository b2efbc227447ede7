"""What every method does, in words for somebody who is no statistician: keyed by the names that results carry.

A method's name in a result may be longer than its key ("CR2 on 2 cluster columns, Satterthwaite df"): the longest key in it
counts, then the longest in what is left. Other modules add their own methods with `add_method`.
"""

from collections.abc import Mapping

from evalstats.analysis.explaining.arena_texts import ARENA_TEXTS
from evalstats.analysis.explaining.gap_texts import GAP_TEXTS
from evalstats.analysis.explaining.method_text import MethodText
from evalstats.analysis.explaining.mixed_texts import MIXED_TEXTS, MIXED_WHOLE
from evalstats.errors import InputError

__all__ = ["MethodText", "add_method", "known_methods", "texts_for"]


_BELL = "Bell & McCaffrey 2002, Survey Methodology 28:169"
_PUSTEJOVSKY = "Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004"
_WILSON = "Wilson 1927, JASA 22:209"
_BROWN = "Brown, Cai & DasGupta 2001, doi:10.1214/ss/1009213286"
_BONETT = "Bonett & Price 2012, Journal of Educational and Behavioral Statistics 37:479"
_FISHER = "Fisher 1935, The Design of Experiments, section 21"
_EFRON = "Efron & Tibshirani 1993, An Introduction to the Bootstrap"
_MOGSTAD = "Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006"
_ROMANO = "Romano & Wolf 2005, doi:10.1198/016214504000000539"
_STUDENT = "Student 1908, Biometrika 6:1"
_SATTERTHWAITE = "Satterthwaite 1946, doi:10.2307/3002019"

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
        sources=("Cochran 1977, Sampling Techniques, section 5.4", _SATTERTHWAITE),
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
        sources=(_SATTERTHWAITE,),
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
