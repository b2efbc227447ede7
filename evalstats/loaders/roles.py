"""What people call the columns of a table: for each role its names, how sure each is, and the words that rule it out.

The binder (`binder.py`) weighs these names together with what the columns hold.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

# From here on a name is enough by itself.
SURE: Final = 0.9
# What a name counts for of which only the last words are those of a role (`target_model`).
ENDING: Final = 0.8


class Role(msgspec.Struct, frozen=True):
    """Names of a role, in plain words, with how sure each is.

    `never` are words that no column of the role has in its name, `unless_named` those that rule it out unless the name ends in
    one of the role, or begins with `score`: `answer_chars` is no score, `answer_relevance` is one.
    """

    names: Mapping[str, float]
    never: frozenset[str] = frozenset()
    unless_named: frozenset[str] = frozenset()

    def ending(self, name: str) -> str:
        """Return the longest ending of a name that is one of the role, as `rouge_l` of `answer_rouge_l`; "" if none is."""
        words = name.split("_")
        return next((end for k in range(len(words)) if (end := "_".join(words[k:])) in self.names), "")

    def bars(self, name: str) -> bool:
        """Whether a word of a name rules the role out; an ending that is one of the role does not."""
        end, words = self.ending(name), name.split("_")
        if words[0] == "score":
            return words[-1] in self.never
        about = self.never if end else self.never | self.unless_named
        return not about.isdisjoint(name.removesuffix(end).split("_"))

    def weight(self, name: str) -> float:
        """Return how surely a column of that name, in plain words, has the role.

        >>> (
        ...     ROLES["model"].weight("model"),
        ...     round(ROLES["model"].weight("target_model"), 2),
        ...     ROLES["model"].weight("judge_model"),
        ... )
        (1.0, 0.95, 0.0)
        """
        exact = self.names.get(name, 0.0)
        if exact or self.bars(name):
            return exact
        words = name.split("_")
        ends = ["_".join(words[k:]) for k in range(1, len(words))]
        # What is scored may stand behind the word, but not whose score or the how manieth it is: `score_logic`, `score_b`.
        if words[0] == "score" and len(words[-1]) > 1 and not (words[-1] in _WHOSE or names_a_model(words[-1])):
            ends.append("score")
        return ENDING * max((self.names.get(end, 0.0) for end in ends), default=0.0)


def _role(never: str = "", unless_named: str = "", **groups: str) -> Role:
    """Make a role of groups of names, each called by its weight in percent (`w95`)."""
    names = {name: int(group[1:]) / 100 for group, text in groups.items() for name in text.split()}
    return Role(names, frozenset(never.split()), frozenset(unless_named.split()))


def _also(text: str, endings: str) -> str:
    """Add to words what they are called with endings."""
    return " ".join(f"{word}{ending}" for word in text.split() for ending in ("", *endings.split()))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Who scores, rates or asks is not what is scored.
_JUDGES = "judge grader evaluator scorer critic reviewer referee annotator rater labeler labeller assessor worker voter"
_WHO = f"{_JUDGES} eval embedding reward tokenizer user"
# What names and numbers are called.
_NAMED = "_name _id _version"
_NUMBERED = "_idx _index _num _number _no"

ROLES: Final[Mapping[str, Role]] = {
    "item": _role(
        w100="item item_id id idx index uid uuid question_id sample_id example_id instance_id problem_id task_id doc_id case_id "
        "test_id prompt_id qid sample_idx seg_id segment_id scenario_id record_id trace_id dataset_item_id test_case_id "
        "test_case_name query_id sentence_id utt_id image_id video_id conversation_id dialog_id dialogue_id ticket_id hit_id "
        "puzzle_id row_id case_number question_number test_number question_no",
        w95="example instance sample key question_# test_name conversation dialogue dialog",
        w70="request_id task_name question query prompt problem input instruction test test_case case task episode no # nr "
        "number src source_text doc document essay article story ticket email puzzle theorem",
        w40="name title description user_input utterance sentence text goal behavior behaviour",
        never=f"{_WHO} session run model worker account experiment system batch trial time date ts timestamp at created updated",
    ),
    "score": _role(
        w100="score correct is_correct passed success resolved is_resolved pass solved accuracy acc exact_match em grade ok "
        "is_ok pass_fail is_right correctness",
        w95="hit right rating reward f1 final_score judgement_score return wer cer csat refused jailbroken is_jailbroken "
        "unsafe is_unsafe converted accepted achieved reached win won compiled hallucinated stars conversion clicked "
        "clicks purchased bought subscribed retained activated signed_up",
        w85="helpfulness harmlessness honesty toxicity relevance relevancy faithfulness coherence consistency fluency adequacy "
        "conciseness groundedness completeness safety quality precision recall bleu rouge bertscore similarity clarity "
        "hallucination comet chrf cider meteor iou ndcg mrr rr rate auc auroc map psnr ssim mae rmse mqm bias "
        "harmfulness usefulness politeness empathy creativity informativeness naturalness satisfaction rouge_l rouge1 rouge2 "
        "rougel rouge_1 rouge_2 rouge_lsum bleu_1 bleu_2 bleu_3 bleu_4 bert_score rating_score quality_score feedback "
        "thumb thumbs thumbs_up like liked upvote upvoted helpful "
        "true_positive_rate true_negative_rate reciprocal_rank f1_score overall total_score exact partial_credit partial_match",
        w80="top1 top3 top5 top10 top_1 top_3 top_5 top_10",
        w40="judgement judgment result outcome verdict value points",
        # Counts, sizes, places, times, what was expected or answered, and what is said of a score.
        never="id idx index tokens ntokens cost price usd eur dollars latency time times duration ms seconds secs sec len "
        "length count counts n num year age seq status seed trial epoch temp temperature penalty config configs setting "
        "settings parameters params weight probability prob logprob logprobs confidence entropy turns timestamp date rank "
        "size max min range total steps level line generations nones fails width height px bytes gb mb kb memory mem vram util "
        "chars words fps frames threshold cutoff tp fp tn fn loss perplexity version port std stderr sd se ci order "
        "position attempts retries calls errors attempt rep repeat replicate draw hour hours day month error exception "
        "timeout cached items samples responses decided ranked ungraded learning sampling frame bit complexity vote votes "
        "parse cache delta diff iteration flipped swapped warmup unscored expected gold target true",
        unless_named="token code turn step truth reference label labels prediction predictions predicted pred actual answer "
        "response output thinking difficulty low high lower upper top k start end reason explanation comment should must "
        "requires needs expects include includes logp logit logits mean median",
    ),
    "model": _role(
        w100="model models model_name modelname model_key model_id model_name_or_path llm llm_name llm_model engine deployment "
        "system model_version",
        w95=_also(
            "agent provider bot assistant submission experiment generator policy app checkpoint team player", _NAMED
        )
        + " run_name target_model system_id model_label ckpt",
        # Factors whose levels are compared where the model is one and the same.
        w55=_also(
            "prompt arm group condition treatment method approach config variant pipeline template strategy profile algorithm "
            "solver retriever ablation exp",
            _NAMED,
        )
        + " system_prompt version",
        never=f"{_WHO} date day week month quarter year operating",
    ),
    "metric": _role(
        w100="metric metric_name scorer scorer_name evaluator_name evaluator feedback_key criterion measure metric_type",
        w70="dimension aspect criteria",
        w40="name",
        never="id",
    ),
    "trial": _role(
        w100=_also(
            "trial epoch seed attempt repeat repetition replicate rep iteration try fold draw run sample", _NUMBERED
        )
        + " run_id completion_index generation k",
        w50="n",
        never="top",
    ),
    # Versions of an item, each asked of every system.
    "variant": _role(w100="turn variant language lang locale perturbation paraphrase"),
    # An id or a name of an eval is that of a run, and no judge's.
    "judge": _role(w100=f"{_also(_JUDGES, '_id _code _name _model')} eval eval_model eval_model_name"),
    # Persons, who vote, or who rate the same items each.
    "rater": _role(
        w100=_also(
            "rater user username annotator worker voter participant respondent physician clinician", "_id _code _name"
        )
    ),
    # Inside such a part of a benchmark items are counted anew.
    "task": _role(w100="task subtask dataset subset subject category domain benchmark split config language"),
    "winner": _role(
        w100="winner choice preferred preference vote chosen",
        w95="outcome result label verdict judgement judgment selection selected win decision answer",
    ),
}
USUAL_NAMES: Final = frozenset(name for role in ROLES.values() for name in role.names)
JUDGES: Final = _words(_JUDGES)
# Texts that were asked, which are items where no id is, and what is said to them, which is none.
ASKED: Final = _words("question query prompt problem input instruction user_input src source_text goal utterance")
ANSWERS: Final = _words(
    "response answer output completion generation prediction pred hyp hypothesis translation summary caption contexts "
    "context explanation reason comment comments notes feedback rationale reasoning transcript trajectory messages evidence "
    "justification critique"
)
# What says why something was judged so.
REASONS: Final = _words("explanation reason reasoning rationale justification critique")
# What was answered, and what is right; how many were right, and of how many.
PREDICTED: Final = _words("pred predict prediction predicted")
EXPECTED: Final = _words("gold golden label target expected reference truth correct")
RIGHTS: Final = _words(
    "correct passed passes conversions converted successes solved events signups thumbs likes upvotes clicks"
)
# When a run was made, where it is the same in all of its rows.
DAYS: Final = _words("date day datetime run_date eval_date")
# Shares of many items.
RATES: Final = _words("accuracy acc rate auc auroc")
# How probable something was held to be, and what came of it.
FORECASTS: Final = _words("forecast probability probabilities prob confidence prediction predicted pred")
OUTCOMES: Final = _words("outcome resolution resolved happened occurred actual truth label target event")
TOTALS: Final = _words(
    "total n users trials samples visitors attempts tests questions sessions conversations visits impressions"
)
# What stands in many rows of a system, beside items and persons.
OF_MANY_ROWS: Final = _words(
    "case trial epoch seed fold turn session session_id response answer output text model_a model_b winner"
)
# What each system wrote where columns are named by system.
ANSWERED: Final = _words("response answer ans output completion generation prediction pred translation summary report")
# What columns may be named by, and no system.
NO_SIDES: Final = _words("human llm train test val dev easy medium hard user system")
# Sides of a comparison, by which columns of scores are told from metrics.
SIDES: Final = _words(
    "old new before after baseline candidate control treatment base tuned finetuned original ours reference"
)
LANGUAGES: Final = _words(
    "ar bn cs da de el en es fi fr he hi hu id it ja ko nl no pl pt ro ru sv sw ta th tr uk ur vi zh arabic chinese dutch "
    "english french german hindi italian japanese korean polish portuguese russian spanish swahili turkish"
)
# What the names of two sides of a vote differ in, and nothing else.
_EITHER: Final = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("first", "second"))
# Who is said to have scored in the names of scores (`human_tone`).
SCORERS: Final = JUDGES | _words("human llm")
_WHOSE: Final = SIDES | SCORERS | _words("model system a b first second")
_REPETITION: Final = re.compile(r"(?i)([a-z]+)[-_ ]?(?:\d+|[a-z])?")
_FAMILIES: Final = re.compile(
    r"(?i)\b(?:gpt|chatgpt|claude|gemini|gemma|llama|mixtral|(?:mi|mini|code|dev|magi)stral|qwen|qwq|deepseek|grok|phi|command|"
    r"o[134](?:-mini|-pro|-preview)?|yi|glm|kimi|falcon|vicuna|nova|olmo|sonnet|opus|haiku|minimax|ernie|hunyuan|nemotron|"
    r"palm|bard|koala|alpaca|dbrx|jamba|solar|granite|smollm|pythia|internlm|starcoder|wizardlm|zephyr|tulu|doubao)"
    r"(?![a-z])|(?<![\d.])[\d.]+b(?:-|\b)|\bmodel[-_ ]?(?:\d+|[a-hxyz])(?![a-z])"
)

_COMMIT: Final = re.compile(r"(?!\d+b$)(?=.*[a-f])[\da-f]{4,40}")
_BENCHMARKS: Final = re.compile(
    r"(?i)(?<![a-z])(?:mmlu|gsm8?k|arc|hellaswag|winogrande|truthful_?qa|boolq|piqa|siqa|openbookqa|obqa|commonsense_?qa|csqa|"
    r"lambada|race|drop|squad|trivia_?qa|nq|natural_?questions|hotpot_?qa|math(?:qa|\d+)?|aime(?:\d+)?|gpqa|human_?eval|mbpp|"
    r"livecodebench|bigcodebench|swe_?bench|ifeval|bbh|bbq|agieval|c_?eval|cmmlu|mgsm|xnli|mnli|rte|cola|sst\d?|qnli|copa|wic|"
    r"wsc|crows_?pairs|toxigen|simpleqa|musr|pubmed_?qa|med_?qa|legal_?bench|mt_?bench|alpaca_?eval|summarization|"
    r"translation|ruler|longbench|needle|tau_?bench|webarena|gaia|toolbench|bfcl)(?![a-z])"
)


def are_sides(first: str, second: str) -> bool:
    """Whether two names, in plain words, are those of the sides of a vote.

    >>> are_sides("model_a", "model_b"), are_sides("left_bot", "right_bot"), are_sides("model1", "model2")
    (True, True, True)
    >>> are_sides("fighter_a_name", "fighter_b_name"), are_sides("model_a", "model_c"), are_sides("question", "answer")
    (True, False, False)
    """
    without = [
        [re.sub(rf"{side}$|(?<![^_]){side}(?=_)", "", name) for side, name in zip(sides, (first, second), strict=True)]
        for sides in _EITHER
    ]
    return any(one == two != first and two != second for one, two in without)


def names_a_model(text: str) -> bool:
    """Whether a text looks like the name of a language model.

    What has no other letters than a commit is one.

    >>> [names_a_model(name) for name in ("gpt-4o", "mpt7b", "405b", "test_login", "a71b", "9f21234b")]
    [True, True, True, False, False, False]
    """
    return _FAMILIES.search(text) is not None and _COMMIT.fullmatch(text) is None


def names_a_repetition(text: str) -> str:
    """Return what kind of repetition a text numbers; "" where it is none.

    >>> names_a_repetition("seed1"), names_a_repetition("run_b"), names_a_repetition("law-1")
    ('seed', 'run', '')
    """
    found = _REPETITION.fullmatch(text)
    return found[1] if found is not None and found[1].lower() in ROLES["trial"].names else ""


def names_a_judge(text: str) -> bool:
    """Whether a text, in plain words, names a judge, or its score: with a number, a letter or a model.

    >>> [
    ...     names_a_judge(text)
    ...     for text in ("rater1", "gpt4_judge", "judge_2_score", "judge_accuracy", "judge_1_confidence")
    ... ]
    [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z])(?=\d+(?:_|$))", "_", text).split("_")
    others = [word for word in words if word not in JUDGES | {"human"}]
    rest = [word for word in others if word not in {"score", "rating"}]
    told = names_a_model("-".join(rest)) or (bool(rest) and all(len(word) == 1 or word.isdecimal() for word in rest))
    return len(others) < len(words) and told and not ROLES["score"].bars(text)


def is_known_benchmark(text: str) -> bool:
    """Whether a text has the name of a published benchmark in it."""
    return _BENCHMARKS.search(text) is not None


def names_a_benchmark(text: str) -> bool:
    """Whether a text looks like the name of a benchmark, or says that it is one.

    >>> (
    ...     names_a_benchmark("gsm8k"),
    ...     names_a_benchmark("arc_challenge"),
    ...     names_a_benchmark("task-1"),
    ...     names_a_benchmark("prompt"),
    ... )
    (True, True, True, False)
    """
    words = re.sub(r"[\W\d]+", "_", text.lower()).split("_")
    return is_known_benchmark(text) or not ROLES["task"].names.keys().isdisjoint(words)


# The end of a name says what a column is, and no name is longer: each word is looked at with all behind it.
_LONGEST_NAME: Final = 256


def plain(name: str) -> str:
    """Return a column's name as these names are compared: lower case, words joined by underscores.

    >>> plain("Std. Error"), plain(" CI-low "), plain("± Score")
    ('std_error', 'ci_low', '±_score')
    """
    return re.sub(r"[^\w±#]+", "_", name.strip()[-_LONGEST_NAME:].lower()).strip("_")


# What is called so is a score beside others.
CALLED: Final = 0.67
# Also a name in camel case has words.
_CASED: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
IN_PARENTHESES: Final = re.compile(r"\(([^()]*)\)\s*$")
_FIRST_OF: Final = re.compile(r"(?:@|_at_)(?:k|\d+)(?=_|$)|_(?:mean|avg|average)$")
_WORD: Final = re.compile(r"[^_\-./ ]+")
_MOST_WORDS, _MOST_SIDES = 8, 20
_OF_A_SIDE: Final = ("_scores", "_score", "_results", "_result", "_metrics")
# As many names are remembered: each is asked about several times.
_NAMES: Final = 2_048


@lru_cache(maxsize=_NAMES)
def words_of(name: str) -> str:
    """Return a column's name in plain words, without what is said of it in parentheses, or of the first how many (`hit@5`).

    >>> (
    ...     words_of("HITId"),
    ...     words_of("Rating (1-5)"),
    ...     words_of("Is Correct?"),
    ...     words_of("recall_at_k"),
    ...     words_of("nDCG@10"),
    ... )
    ('hit_id', 'rating', 'is_correct', 'recall', 'ndcg')
    """
    name = name.replace("nDCG", "NDCG")
    return plain(_FIRST_OF.sub("", _CASED.sub("_", IN_PARENTHESES.sub("", name).strip() or name)))


@lru_cache(maxsize=_NAMES)
def has_role_by_name(words: str) -> bool:
    """Whether a name, in plain words, is that of any role.

    >>> has_role_by_name("judge_score"), has_role_by_name("tone")
    (True, False)
    """
    return any(role.weight(words) for role in ROLES.values())


def is_called_score(name: str) -> bool:
    """Whether a column's name alone says that it holds scores.

    >>> is_called_score("is_correct"), is_called_score("answer")
    (True, False)
    """
    return ROLES["score"].weight(words_of(name)) >= CALLED


def crossed_names(names: Iterable[str], asked: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the systems by which names of columns are crossed with something, and the patterns that are; nothing for others.

    A side is whatever stands in the place of the star in all of its patterns. Metrics, answers, judges, splits are no sides.
    Of several crossings that of the names `asked` for is meant, which need be crossed with one thing alone; else one with scores.

    >>> crossed_names(["id", "old_f1", "old_em", "old_answer", "new_f1", "new_em", "new_answer"])
    (['old', 'new'], ['*_f1', '*_em', '*_answer'])
    >>> crossed_names(["a.old.f1", "a.old.text", "a.new.f1", "a.new.text"])
    (['old', 'new'], ['a.*.f1', 'a.*.text'])
    >>> crossed_names(["old_scores.f1", "old_scores.em", "new_scores.f1", "new_scores.em"])
    (['old', 'new'], ['*_scores.f1', '*_scores.em'])
    >>> crossed_names(
    ...     [f"{side}_{kind}@{k}" for side in ("bm25", "dense", "both") for kind in "pr" for k in (5,)], {"bm25"}
    ... )
    (['bm25', 'dense', 'both'], ['*_p@5', '*_r@5'])
    >>> crossed_names(["em_rag-v1", "em_rag-v2", "f1_rag-v1", "f1_rag-v2"])
    (['rag-v1', 'rag-v2'], ['em_*', 'f1_*'])
    >>> crossed_names(["answer_relevance", "context_relevance", "answer_recall", "context_recall"])
    ([], [])
    """
    sides: dict[str, dict[str, None]] = {}
    for name in (name for name in names if "*" not in name):
        words = [found.span() for found in _WORD.finditer(name)][:_MOST_WORDS]
        for first, (start, _) in enumerate(words):
            for _, end in words[first:]:
                side = name[start:end]
                if len(side) < len(name) and side.count("(") == side.count(")"):
                    sides.setdefault(f"{name[:start]}*{name[end:]}", {})[side] = None
    crossed: dict[frozenset[str], list[str]] = {}
    for pattern, found in sides.items():
        if not any(map(str.isalpha, pattern)) or names_a_model(pattern.replace("*", "")):
            continue  # the rest of a name is a metric's
        if 1 < len(found) <= _MOST_SIDES and 2 * sum(map(is_no_side, found)) < len(found):
            crossed.setdefault(frozenset(found), []).append(pattern)
    wanted = {*asked}
    best = max(
        crossed.values(),
        key=lambda each: (
            bool(wanted and wanted <= {*sides[each[0]]}),
            len(each) > 1 and all(is_called_score(pattern.replace("*", "")) for pattern in each),
            len(each),
            len("".join(sides[each[0]])),
        ),
        default=list[str](),
    )
    if len(best) < 2 and not (best and wanted and wanted <= {*sides[best[0]]}):
        return [], []
    # What stands in an object of each system (`answers.old.f1`) has the object's name in front.
    found = [*sides[best[0]]]
    heads = [found[0][: dot.end()] for dot in re.finditer(r"\.", found[0])]
    inside = max((head for head in heads if all(side.startswith(head) for side in found)), key=len, default="")
    # Scores of a system are not part of its name (`old_scores.f1`).
    tail = next((tail for tail in _OF_A_SIDE if all(side.endswith(tail) for side in found)), "")
    sides_alone = [side.removeprefix(inside).removesuffix(tail) for side in found]
    return sides_alone, [pattern.replace("*", f"{inside}*{tail}") for pattern in best]


def is_no_side(word: str) -> bool:
    """Whether a word that columns or lists are named by is that of a criterion, a part, a rater or a repetition.

    >>> is_no_side("train"), is_no_side("epoch_1"), is_no_side("run2"), is_no_side("langchain")
    (True, True, True, False)
    """
    words = words_of(word)
    other = ANSWERS | ASKED | JUDGES | NO_SIDES
    called = ROLES["score"].weight(words) > 0 or ROLES["score"].bars(words) or names_a_repetition(words)
    return bool(called) or not other.isdisjoint(words.split("_"))
