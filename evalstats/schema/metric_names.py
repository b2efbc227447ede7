"""What the name of a metric says of it: which way is better, whether it is an amount without a top, or percentages.

A name declares nothing; it is a reason to ask. Only an arrow or the words "lower is better" in it do.
"""

import re
from itertools import pairwise

_ARROWS = {"↓": False, "⬇": False, "▼": False, "↑": True, "⬆": True, "▲": True}
_IN_WORDS = re.compile(r"(?:(lower|smaller|less)|higher|larger|greater|more)[\s_-]+(?:is[\s_-]+)?better", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[^a-z\d]+")

# Beginnings of words for what is bad: to have less of it is better.
_BAD = re.compile(
    r"jailbr|halluc|toxic|harm(?!less|on)|unsafe|unfaith|unground|unsupport|unfair|insecur|malici|offens|profan|hateful|slur|"
    r"stereotyp|bias|deceiv|decept|sycophan|misinfo|disinfo|fabricat|confabul|error|erron|incorrect|inaccura|wrong|mistake|fault|"
    r"fail|crash|bugg?s?$|defect|timeout|timedout|invalid|malform|violat|breach|leak|attack|exploit|vulnerab|inject|bypass|abus|scam|"
    r"fraud|refus|overrefus|complain|escalat|churn|perplex|surprisal|miscalib|diverg|regret|penalt|latenc|delay|runtim|"
    r"duration|elapsed|expens|overhead|risk|danger|repetit|redundan|contradict|omission|plagiar|memori[sz]|contaminat|"
    r"disagree|inconsist|unsolved|missed|untruth|nonsens|gibberish|poison|sabotag|cheat|misalign|undesir|loss(?:es)?$|carbon|emission"
)
# Whole words and abbreviations of errors, times and amounts.
_BAD_WORDS = frozenset(
    {
        "err", "errs", "wer", "cer", "ter", "mer", "der", "eer", "mae", "mse", "rmse", "msle", "rmsle", "mape", "smape",
        "brier", "ece", "mce", "crps", "fpr", "fnr", "fdr", "frr", "asr", "bpb", "bpc", "fid", "kid", "fad", "fvd", "lpips",
        "kl", "nll", "ppl", "xent", "hate", "lie", "lies", "lying", "losses", "cost", "costs", "price", "fee", "fees",
        "time", "times", "seconds", "secs", "sec", "ms", "milliseconds", "minutes", "ttft", "tpot", "usd", "dollars", "eur",
        "distance", "dist", "drift", "vram", "energy", "kwh", "joules", "flops", "dishonesty", "dishonest", "slow", "stuck",
        "logloss",
    }
)  # fmt: skip
_BAD_PAIRS = frozenset(
    {("false", "positive"), ("false", "positives"), ("false", "negative"), ("false", "negatives"), ("false", "alarm"),
     ("false", "alarms"), ("bits", "per"), ("cross", "entropy"), ("not", "safe"), ("neg", "log"), ("negative", "log")}
)  # fmt: skip
# Words that turn a bad one round: to detect, to avoid or to be free of it is good.
_TURNS = re.compile(
    r"no$|non$|not$|without$|free$|anti|avoid|resist|robust|defen[cds]|prevent|protect|detect|identif|recogni|recover|"
    r"correct|fix|repair|handl|reduc|mitigat|surviv|safety$|safe$|neg$|negative$|inverse$|inverted$|accura|acc$|f1$|auc|auroc|"
    r"auprc|precision|recall|corr$|correlation|saved$|saving|bounded$|withstand|reject"
)
# Times, amounts and counts: they have no top, and a system whose values all lie below 1 may be fast, not on a scale to 1.
_AMOUNT = re.compile(
    r"latenc|delay|runtim|duration|elapsed|cost|price|spend|perplex|surprisal|logprob|loglik|likelihood|reward|return|speed|throughput|"
    r"second|minute|hour|count|number|token|word|char|length|turn|step|call|retr(?:y|ies)|iteration|edits?$|rating|elo$|"
    r"distance|loss|errors$|mistakes$|bugs$|violations$|ratio|points?$|bits$"
)
_AMOUNT_WORDS = frozenset(
    {"n", "num", "nr", "time", "times", "ms", "sec", "secs", "usd", "eur", "dollars", "log", "tps", "rps", "fps", "ttft", "tpot",
     "ppl", "nll", "mse", "mae", "rmse", "mape", "kl", "fid", "kid", "bpb", "bpc", "kwh", "energy", "flops", "vram", "memory"}
)  # fmt: skip
_PERCENT = re.compile(r"%|(?<![a-z])(?:percent|percents|percentage|percentages|pct|perc)(?![a-z])", re.IGNORECASE)


def direction_in_name(name: str) -> bool | None:
    """Return whether more is better, where an arrow or "lower is better" in the name says so; else None.

    Examples
    --------
    >>> direction_in_name("WER ↓"), direction_in_name("score (higher is better)"), direction_in_name("WER")
    (False, True, None)
    """
    said = {up for arrow, up in _ARROWS.items() if arrow in name}
    said |= {found[1] is None for found in _IN_WORDS.finditer(name)}
    return next(iter(said)) if len(said) == 1 else None


def suggests_lower(name: str) -> bool:
    """Whether a metric's name suggests that lower is better: an error, a time, a cost, a harm.

    Examples
    --------
    >>> [suggests_lower(name) for name in ("jailbroken", "errorRate", "latency_s", "perplexity", "score", "accuracy")]
    [True, True, True, True, False, False]
    >>> [suggests_lower(name) for name in ("hallucination_detection_f1", "harmless", "error_free", "timeliness")]
    [False, False, False, False]
    """
    words = _words(name)
    pairs = set(pairwise(words))
    if not pairs.isdisjoint(_BAD_PAIRS):
        return True
    bad = any(word in _BAD_WORDS or _BAD.match(word) for word in words)
    return bad and not any(_TURNS.match(word) for word in words)


def is_amount(name: str) -> bool:
    """Whether a metric's name says that it is a time, an amount or a count, which has no highest value.

    Examples
    --------
    >>> [is_amount(name) for name in ("latency_s", "n_turns", "reward", "score", "accuracy")]
    [True, True, True, False, False]
    """
    return any(word in _AMOUNT_WORDS or _AMOUNT.match(word) for word in _words(name))


def says_percent(name: str) -> bool:
    """Whether a metric's name says that its numbers are percentages.

    Examples
    --------
    >>> [says_percent(name) for name in ("acc (%)", "pct_correct", "acc", "percentile")]
    [True, True, False, False]
    """
    return _PERCENT.search(name.replace("_", " ")) is not None


def _words(name: str) -> list[str]:
    return [word for word in _SPLIT.split(_CAMEL.sub(" ", name).lower()) if word]
