"""Headers that people write, and tables below them: what each column is, said in one line a header."""

# ruff: noqa: E501 - a header a line
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

MODELS: Final = ("gpt-4o", "claude-3-5-sonnet")
SIDES: Final = ("old", "new")

# Kinds of columns that multiply the rows, and their levels.
CROSSED: Final[Mapping[str, Sequence[object]]] = {
    "model": MODELS,
    "side": SIDES,
    "version": ("v1.2", "v1.3"),
    "system": ("base", "tuned"),
    "trial": (0, 1, 2),
    "seed": (13, 42, 7),
    "metric": ("accuracy", "toxicity"),
    "rater": ("ann", "bob"),
    "turn": (1, 2),
    "person": ("p11", "p12", "p13"),
    "dataset": ("arc", "mmlu", "gsm8k"),
}
_WORDS: Final = [
    "the",
    "of",
    "light",
    "river",
    "seven",
    "north",
    "signal",
    "garden",
    "paper",
    "quiet",
    "answer",
    "model",
    "winter",
    "house",
]


def _text(draw: random.Random, n: int) -> str:
    return " ".join(draw.choice(_WORDS) for _ in range(n))


# What a cell of each other kind holds: by item alone (0), or by row (1).
KINDS: Final[Mapping[str, tuple[int, Callable[[random.Random, int], object]]]] = {
    "id": (0, lambda _, i: f"q{i}"),
    "index": (0, lambda _, i: i),
    "entrant": (0, lambda _, i: f"lab-{i}-7b"),
    "digest": (0, lambda r, _: f"{r.getrandbits(64):016x}"),
    "text": (0, lambda r, i: f"What is {i} {_text(r, 8)}?"),
    "expected": (0, lambda r, _: r.choice("ABCD")),
    "category": (0, lambda _, i: "abc"[i % 3]),
    "difficulty": (0, lambda _, i: ["easy", "hard"][i % 2]),
    "size": (0, lambda r, _: r.choice([512, 1024])),
    "row": (1, lambda _, i: i),
    "call": (1, lambda r, _: f"{r.getrandbits(64):016x}"),
    "answer": (1, lambda r, _: f"{_text(r, 12)} {r.random():.3f}."),
    "picked": (1, lambda r, _: r.choice("ABCD")),
    "right": (1, lambda r, _: r.randrange(2)),
    "bool": (1, lambda r, _: r.random() < 0.5),
    "yes": (1, lambda r, _: r.choice(["yes", "no"])),
    "pass": (1, lambda r, _: r.choice(["PASS", "FAIL"])),
    "verdict": (1, lambda r, _: r.choice(["correct", "incorrect"])),
    "solved": (1, lambda r, _: r.choice(["resolved", "unresolved"])),
    "thumbs": (1, lambda r, _: r.choice(["thumbs_up", "thumbs_down"])),
    "updown": (1, lambda r, _: r.choice(["up", "down"])),
    "share": (1, lambda r, _: round(r.random(), 2)),
    "percent": (1, lambda r, _: f"{r.randrange(101)}%"),
    "points": (1, lambda r, _: r.randrange(30, 100)),
    "likert": (1, lambda r, _: r.randrange(1, 6)),
    "ten": (1, lambda r, _: r.randrange(1, 11)),
    "comma": (1, lambda r, _: f"{r.random():.2f}".replace(".", ",")),
    "count": (1, lambda r, _: r.randrange(20, 900)),
    "few": (1, lambda r, _: r.randrange(2)),
    "ms": (1, lambda r, _: round(r.random() * 3000, 1)),
    "usd": (1, lambda r, _: round(r.random() / 100, 5)),
    "day": (1, lambda r, _: f"2025-03-{r.randrange(1, 28):02d}"),
    "time": (1, lambda r, _: f"2025-03-01T10:{r.randrange(60):02d}:{r.randrange(60):02d}Z"),
    "user": (1, lambda r, _: f"u{r.randrange(10**6)}"),
    "visitor": (1, lambda r, _: f"u{r.randrange(8)}"),
    "worker": (1, lambda r, _: f"w{r.randrange(4)}"),
    "one": (1, lambda _r, _i: "gpt-4o"),
    "judge": (1, lambda _r, _i: "claude-3-opus"),
    "constant": (1, lambda _r, _i: "release-7"),
    "512": (1, lambda _r, _i: 512),
    "zero": (1, lambda _r, _i: 0.0),
    "true": (1, lambda _r, _i: True),
    "empty": (1, lambda _r, _i: None),
}


class Header(NamedTuple):
    """A header as `name:kind` after `name:kind`, what is asked of it, and what its columns are.

    `roles` may be several, parted by " or ": any of them is right.
    """

    columns: str
    roles: str
    asked: str = "score"

    def names(self) -> list[tuple[str, str]]:
        """Return the columns with their kinds; an underscore in front of `_` stands for a blank."""
        pairs = (column.rpartition(":") for column in self.columns.split(" "))
        return [(name.replace("~", " "), kind) for name, _, kind in pairs]


def rows_of(names: Sequence[tuple[str, str]], seed: int, n_items: int = 14) -> list[dict[str, Any]]:
    """Make the rows of a table: every item with every level of what is crossed with it."""
    draw = random.Random(seed)  # noqa: S311 - a table, no secret
    items = [
        {name: KINDS[kind][1](draw, i) for name, kind in names if KINDS.get(kind, (1,))[0] == 0} for i in range(n_items)
    ]
    rows: list[dict[str, Any]] = []
    for own in items:
        levels: list[dict[str, object]] = [{}]
        for name, kind in names:
            if kind in CROSSED:
                levels = [{**row, name: level} for row in levels for level in CROSSED[kind]]
        for row in levels:
            cells = {**own, **row}
            for name, kind in names:
                if KINDS.get(kind, (0,))[0] == 1:
                    cells[name] = KINDS[kind][1](draw, len(rows))
            # What was picked is right where it is what was expected.
            of_kind = {kind: name for name, kind in names}
            if {"picked", "expected"} <= {*of_kind}:
                is_right = cells[of_kind["picked"]] == cells[of_kind["expected"]]
                verdicts = {"right": int(is_right), "bool": is_right, "pass": "PASS" if is_right else "FAIL"}
                cells |= {of_kind[kind]: verdict for kind, verdict in verdicts.items() if kind in of_kind}
            rows.append({name: cells[name] for name, _ in names})
    return rows


_COMPARE: Final = "compare --baseline gpt-4o --candidate claude-3-5-sonnet"
_SIDES: Final = "compare --baseline old --candidate new"
_BOARD: Final = "leaderboard"

HEADERS: Final = [
    # Those of the report of faults.
    Header("question_id:id prompt:text correct:right", "item=question_id score=correct"),
    Header("example:id model_version:version is_correct:right latency_ms:ms", "item=example score=is_correct model=model_version", _BOARD),
    Header("correct:right", "item=#row score=correct"),
    Header("prompt:text response:answer score:share", "item=prompt score=score"),
    Header("id:id category:category difficulty:difficulty is_correct:bool", "item=id score=is_correct"),
    Header("idx:index accuracy:right f1:share", "item=idx score=accuracy,f1"),
    Header("sample_id:id reward:share num_steps:count", "item=sample_id score=reward"),
    Header("conversation_id:id turn:turn rating:likert", "item=conversation_id score=rating variant=turn or item=conversation_id score=rating trial=turn"),
    Header("id:id seed:seed correct:right", "item=id score=correct trial=seed"),
    Header("id:id score:comma", "item=id score=score"),
    Header("id:id accuracy:right toxicity:share cost_usd:usd latency_s:ms date:day", "item=id score=accuracy,toxicity"),
    Header("id:id accuracy:right toxicity:share cost_usd:usd latency_s:ms date:day", "item=id score=toxicity or item=id score=accuracy,toxicity", "score --metric toxicity"),
    Header("question_id:id old:right new:right", "item=question_id models=old,new", _SIDES),
    # Scripts of one's own.
    Header("qid:id llm:model ok:bool", "item=qid score=ok model=llm", _COMPARE),
    Header("task:id model:model success:right steps:count total_tokens:count", "item=task score=success model=model", _COMPARE),
    Header("problem:text model_name:model pred:picked gold:expected acc:right", "item=problem score=acc model=model_name", _COMPARE),
    Header("subject:category question:text answer:expected pred:picked correct:right", "item=question score=correct"),
    Header("uid:digest system:system hit:right", "item=uid score=hit model=system", _BOARD),
    Header("test_id:id agent:system reward:share cost:usd duration:ms", "item=test_id score=reward model=agent", _BOARD),
    Header("scenario_id:id run:trial prompt:side passed:right", "item=scenario_id score=passed model=prompt trial=run", _SIDES),
    Header("case:id arm:side passed:bool", "item=case score=passed model=arm", _SIDES),
    Header("item:id model:model judge:judge score:likert", "item=item score=score model=model", _COMPARE),
    Header("item:id model:model score:share n_tokens:count", "item=item score=score model=model", _COMPARE),
    Header("instance_id:id model_name_or_path:model resolved:bool", "item=instance_id score=resolved model=model_name_or_path", _COMPARE),
    Header("doc_id:index exact_match:right", "item=doc_id score=exact_match"),
    Header("index:index question:text gpt-4o:right claude-3-5-sonnet:right", "item=index models=gpt-4o,claude-3-5-sonnet", _COMPARE),
    Header("question:text gpt-4o:right claude-3-5-sonnet:right", "item=question models=gpt-4o,claude-3-5-sonnet", _COMPARE),
    Header("id:id baseline:share candidate:share", "item=id models=baseline,candidate", "compare --baseline baseline --candidate candidate"),
    Header("id:id old:right new:right length:count", "item=id models=old,new", _SIDES),
    Header("sample_idx:index model:model temperature:512 score:share", "item=sample_idx score=score model=model", _COMPARE),
    Header("question_id:id attempt:trial model:model correct:right", "item=question_id score=correct model=model trial=attempt", _COMPARE),
    Header("qid:id epoch:trial grade:likert", "item=qid score=grade trial=epoch"),
    Header("model:model problem:id sample:trial passed:bool", "item=problem score=passed model=model trial=sample", _COMPARE),
    Header("id:id model:model judge:right", "item=id score=judge model=model", _COMPARE),
    Header("problem_id:id sample:trial passed:bool", "item=problem_id score=passed trial=sample"),
    Header("item_id:id rep:trial config:side value:share", "item=item_id score=value model=config trial=rep", _SIDES),
    # Sheets.
    Header("Test~Case~ID:id Expected:expected Actual:picked Result:pass", "item=Test~Case~ID score=Result"),
    Header("No.:index Prompt:text GPT-4o:likert Claude-3.5:likert", "item=No. models=GPT-4o,Claude-3.5 or item=Prompt models=GPT-4o,Claude-3.5", "leaderboard"),
    Header("Question~#:index Model:model Rating~(1-5):likert Comments:answer", "item=Question~# score=Rating~(1-5) model=Model", _COMPARE),
    Header("ID:id Model~Name:model Score:points", "item=ID score=Score model=Model~Name", _COMPARE),
    Header("Item:id Reviewer:rater Score:likert", "item=Item score=Score judge=Reviewer"),
    Header("Question:text Correct?:yes", "item=Question score=Correct?"),
    Header("Question:text Score~(%):percent", "item=Question score=Score~(%)"),
    Header("Case~Number:index Pass/Fail:pass Notes:answer", "item=Case~Number score=Pass/Fail"),
    # Tools.
    Header("id:call timestamp:time traceId:id name:metric source:constant value:share comment:empty", "item=traceId score=value metric=name"),
    Header("trace_id:id experiment:side hallucination:share answer_relevance:share", "item=trace_id score=hallucination,answer_relevance model=experiment", f"{_SIDES} --metric hallucination"),
    Header("dataset_item_id:id experiment_name:side score:share trace_id:call", "item=dataset_item_id score=score model=experiment_name", _SIDES),
    Header("name:id metric:metric score:share success:bool threshold:zero reason:answer", "item=name score=score metric=metric"),
    Header("test_case_name:id metric_name:metric score:share threshold:zero reason:answer", "item=test_case_name score=score metric=metric_name"),
    Header("_step:row example_id:id prediction:picked truth:expected correct:bool", "item=example_id score=correct"),
    Header("run_name:side question_id:id score:share", "item=question_id score=score model=run_name", _SIDES),
    Header("app_id:side record_id:id input:text output:answer groundedness:share latency:ms total_cost:usd", "item=record_id score=groundedness model=app_id or item=input score=groundedness model=app_id", _SIDES),
    Header("context.span_id:id attributes.input.value:text eval.label:verdict eval.score:right eval.explanation:answer", "item=context.span_id score=eval.score"),
    Header("sample_id:id epoch:trial model:model score:right total_time:ms", "item=sample_id score=score model=model trial=epoch", _COMPARE),
    Header("query:text response:answer relevance:likert fluency:likert", "item=query score=relevance,fluency"),
    Header("request_id:id model:model toxicity_score:share output:answer", "item=request_id score=toxicity_score model=model", _COMPARE),
    Header("question_id:id model_id:model judge_model:judge judge_score:ten judge_reason:answer", "item=question_id score=judge_score model=model_id", _COMPARE),
    Header("question_id:id evaluator:judge evaluation_score:ten", "item=question_id score=evaluation_score"),
    Header("prompt_id:id target_model:model category:category refused:right", "item=prompt_id score=refused model=target_model", _COMPARE),
    Header("behavior_id:id attack:constant target_model:model jailbroken:bool response:answer", "item=behavior_id score=jailbroken model=target_model", _COMPARE),
    # Fields.
    Header("seg_id:index system:system mqm_avg_score:share", "item=seg_id score=mqm_avg_score model=system", _BOARD),
    Header("src:text ref:text hyp:answer comet:share bleu:points", "item=src score=comet,bleu"),
    Header("doc_id:id system:system coherence:likert consistency:likert fluency:likert relevance:likert", "item=doc_id score=coherence,consistency,fluency,relevance model=system", "leaderboard --metric fluency"),
    Header("utt_id:id ref:text hyp:answer wer:share", "item=utt_id score=wer"),
    Header("ticket_id:id agent_version:version resolved:yes csat:likert", "item=ticket_id score=resolved,csat model=agent_version", "leaderboard --metric csat"),
    Header("image_id:id width:size height:size caption:answer cider:share", "item=image_id score=cider"),
    Header("episode:index return:points length:count", "item=episode score=return"),
    Header("user_id:user timestamp:time group:side landing_page:constant converted:right", "item=user_id score=converted model=group", "leaderboard"),
    Header("user_id:user timestamp:time group:side landing_page:constant converted:bool", "item=user_id score=converted model=group", f"{_SIDES} --unpaired"),
    Header("user_id:visitor arm:side converted:right revenue:usd", "item=#row score=converted model=arm", _SIDES),
    Header("HITId:id WorkerId:rater Answer.rating:likert", "item=HITId score=Answer.rating judge=WorkerId"),
    Header("item:id annotator_id:worker model:model rating:likert", "item=item score=rating model=model", _COMPARE),
    Header("question_id:id model:model accuracy:right num_tokens:count rank:few", "item=question_id score=accuracy model=model", _COMPARE),
    Header("instance:id lang:category model:model pass@1:share", "item=instance score=pass@1 model=model", _COMPARE),
    Header("question_id:id model:model metric:metric value:share", "item=question_id score=value model=model metric=metric", "compare --baseline gpt-4o --candidate claude-3-5-sonnet --metric toxicity"),
    Header("key:id label:expected prediction:picked correct:right confidence:share", "item=key score=correct"),
    Header("conversation:id model:model user_rating:likert n_turns:count", "item=conversation score=user_rating model=model", _COMPARE),
    Header("video_id:id fps:512 frames:count model:model iou:share", "item=video_id score=iou model=model", _COMPARE),
    Header("sentence_id:id annotator:rater adequacy:likert", "item=sentence_id score=adequacy judge=annotator"),
    Header("taskId:id modelName:model isCorrect:bool inputTokens:count outputTokens:count", "item=taskId score=isCorrect model=modelName", _COMPARE),
    Header("dialog_id:id persona:category policy:side task_success:bool", "item=dialog_id score=task_success model=policy", _SIDES),
    # As published files have it.
    Header("model:model task:category sub_label:difficulty question:text answer:expected response:answer correct:bool latency:ms", "item=question score=correct model=model", _COMPARE),
    Header("id:id question:text category:category system:system iteration:trial answer:answer is_correct:bool confidence:share", "item=id score=is_correct model=system trial=iteration", _BOARD),
    Header("id:id input:text target:expected response:answer score:share input_tokens:count duration_ms:ms", "item=id score=score"),
    Header("question:text program:answer expected_answer:expected predicted_answer:picked is_correct:bool error:empty", "item=question score=is_correct"),
    Header("runId:call model:model task:id trial:trial finishedAt:time status:constant solved:bool tamper:bool steps:count costUsd:usd", "item=task score=solved model=model", _COMPARE),
    Header("provider:constant model_id:model id:id answer_type:category score:right confidence:difficulty reason_short:answer", "item=id score=score model=model_id", _COMPARE),
    Header("case_id:id model:model question:text accuracy_score:likert groundedness_score:likert safety_score:likert refusal_quality_score:likert citation_score:likert style_score:likert overall_score:share jailbreak_failure_flag:count", "item=case_id score=accuracy_score,groundedness_score,safety_score,refusal_quality_score,citation_score,style_score,overall_score model=model", "leaderboard --metric overall_score"),
    Header("id:id type:category question:text retrieved:answer rr:share hit@1:right hit@5:right", "item=id score=rr,hit@1,hit@5"),
    Header("system:system item_id:id query:text recall_at_k:share ndcg_at_k:share k:512", "item=item_id score=recall_at_k,ndcg_at_k model=system", "leaderboard --metric ndcg_at_k"),
    Header("question_id:id score_syntax:share score_error_handling:share score_count:count judge_reason:answer", "item=question_id score=score_syntax,score_error_handling"),
    Header("prompt_id:id task:category hallucination_rate:share learning_rate:share model:model", "item=prompt_id score=hallucination_rate model=model", _COMPARE),
    Header("profile:side scenario_id:id run_idx:trial decision:answer passed:right", "item=scenario_id score=passed model=profile trial=run_idx", _SIDES),
    Header("doc_id:id method:system model:one answer:answer is_correct:bool top_k:512", "item=doc_id score=is_correct model=model"),
    Header("topic_id:id model:model poem:answer label:verdict", "item=topic_id score=label model=model", _COMPARE),
    Header("question_id:id style:category judge_accuracy:likert judge_empathy:likert judge_resolution:likert judge_id:few judge_reason:answer", "item=question_id score=judge_accuracy,judge_empathy,judge_resolution"),
    Header("question:text accuracy:likert clarity:likert overall:likert response:answer", "item=question score=accuracy,clarity,overall"),
    # Columns named by system and metric.
    Header("question:text baseline_answer:answer ours_answer:answer baseline_f1:share ours_f1:share baseline_em:right ours_em:right baseline_tokens:count ours_tokens:count", "item=question models=*_f1,*_em"),
    Header("example:index base_pred:answer ft_pred:answer base_rougeL:share ft_rougeL:share delta:share", "item=example models=*_rougeL", "compare --baseline base --candidate ft"),
    Header("id:id dense:answer hybrid:answer dense_f1:share hybrid_f1:share dense_toxicity:points hybrid_toxicity:points", "item=id models=*_f1,*_toxicity", "leaderboard --metric f1"),
    Header("image_id:id report_rag:answer report_plain:answer check_rag.is_correct:bool check_plain.is_correct:bool", "item=image_id models=check_*.is_correct"),
    Header("query:text r1_dense:share r1_bm25:share rL_dense:share rL_bm25:share ans_dense:answer ans_bm25:answer", "item=query models=r1_*,rL_*"),
    Header("title_id:id llm_response:answer llm_judge_logic_response:answer score_logic:share llm_judge_tone_response:answer score_tone:share", "item=title_id score=score_logic,score_tone"),
    Header("id:id tone_score:likert tone_reason:answer form_score:likert form_reason:answer", "item=id score=tone_score,form_score"),
    Header("id:id ann_fluency:likert bob_fluency:likert ann_coherence:likert bob_coherence:likert", "item=id models=*_fluency,*_coherence or item=id score=ann_fluency,bob_fluency,ann_coherence,bob_coherence"),
    Header("id:id fail_precision:share pass_precision:share fail_recall:share pass_recall:share", "item=id score=fail_precision,pass_precision,fail_recall,pass_recall"),
    Header("id:id answer_relevance:share context_relevance:share answer_recall:share context_recall:share", "item=id score=answer_relevance,context_relevance,answer_recall,context_recall"),
    # Columns of scores that are repetitions or judges.
    Header("id:id seed_1:right seed_2:right seed_3:right", "item=id trials=seed_1,seed_2,seed_3"),
    Header("task_id:id model:model run1:share run2:share", "item=task_id trials=run1,run2 model=model", _COMPARE),
    Header("item:id system:system rater_1:likert rater_2:likert rater_3:likert", "item=item judges=rater_1,rater_2,rater_3 model=system", _BOARD),
    Header("id:id gpt4_judge:ten claude_judge:ten", "item=id judges=gpt4_judge,claude_judge"),
    Header("task_id:id attempt_1_passed:right attempt_2_passed:right", "item=task_id trials=attempt_1_passed,attempt_2_passed"),
    Header("id:id model:model score_seed42:share score_seed7:share", "item=id trials=score_seed42,score_seed7 model=model", _COMPARE),
    Header("id:id model:model human_1:likert human_2:likert", "item=id judges=human_1,human_2 model=model", _COMPARE),
    Header("id:id epoch_1:right epoch_2:right epoch_3:right", "item=id trials=epoch_1,epoch_2,epoch_3"),
    Header("id:id gpt-4o_score:share claude-3-5-sonnet_score:share", "item=id models=*_score", _COMPARE),
    Header("id:id bleu_1:share bleu_2:share bleu_3:share", "item=id score=bleu_1,bleu_2,bleu_3", "score --metric bleu_1"),
    Header("id:id seed_1_score:share seed_1_latency_ms:ms seed_2_score:share seed_2_latency_ms:ms", "item=id trials=seed_1_score,seed_2_score"),
    Header("id:id judge_1_score:ten judge_1_confidence:share judge_2_score:ten judge_2_confidence:share", "item=id judges=judge_1_score,judge_2_score"),
    Header("id:id seed_1_latency_ms:ms seed_2_latency_ms:ms", ""),
    Header("id:id judge_accuracy:likert judge_clarity:likert", "item=id score=judge_accuracy,judge_clarity"),
    # What readers brought.
    Header("doc:id system:side ROUGE-1:points ROUGE-2:points ROUGE-L:points", "item=doc score=ROUGE-1,ROUGE-2,ROUGE-L model=system", "leaderboard --metric ROUGE-L"),
    Header("instance_id:id agent:side status:solved", "item=instance_id score=status model=agent", _SIDES),
    Header("session_id:call user_id:user model_version:version message:text feedback:thumbs", "item=session_id score=feedback model=model_version or item=user_id score=feedback model=model_version", "compare --baseline v1.2 --candidate v1.3 --unpaired"),
    Header("Unnamed:~0:row query:text response:answer relevance:likert groundedness:likert model:model", "item=query score=relevance,groundedness model=model", "leaderboard --metric relevance"),
    Header("Frage-ID:id Modell:side Punktzahl:comma", "item=Frage-ID score=Punktzahl model=Modell", "leaderboard"),
    # Other languages: names say nothing, cells must.
    Header("Frage:text Modell:model richtig:right", "item=Frage score=richtig model=Modell", _COMPARE),
    Header("问题:text 模型:model 是否正确:right", "item=问题 score=是否正确 model=模型", _COMPARE),
    Header("pregunta:text modelo:side correcta:right", "item=pregunta score=correcta model=modelo", _SIDES),
    Header("identifiant:id modèle:model note:ten", "item=identifiant score=note model=modèle", _COMPARE),
    # What a second round of readers brought.
    Header("id:id essay_set:category rater1_score:likert rater2_score:likert", "item=id judges=rater1_score,rater2_score"),
    Header("goal_id:id planner_version:version goal_reached:yes elapsed_s:ms", "item=goal_id score=goal_reached model=planner_version", "compare --baseline v1.2 --candidate v1.3"),
    Header("task_name:id agent_name:system model:one is_resolved:bool n_input_tokens:count total_cost:usd", "item=task_name score=is_resolved model=agent_name", "compare --baseline base --candidate tuned"),
    Header("visitor_id:call test_group:side rating:likert country:category", "item=visitor_id score=rating model=test_group", "compare --baseline old --candidate new --unpaired"),
    Header("conversation_id:call assistant_version:version csat_score:likert agent_handoff:bool", "item=conversation_id score=csat_score model=assistant_version", "compare --baseline v1.2 --candidate v1.3 --unpaired"),
    Header("id:id model:model prompt_template:side correct:right", "item=id score=correct model=model", _COMPARE),
    # What a third round of readers brought.
    Header("question_id:id model:model n:trial correct:right", "item=question_id score=correct model=model trial=n", _COMPARE),
    Header("case:id model:model run_num:trial code_quality:likert", "item=case score=code_quality model=model trial=run_num", _COMPARE),
    Header("sample_id:id reducer:side run:trial token_score:share semantic_score:share llm_score:share", "item=sample_id score=token_score,semantic_score,llm_score model=reducer trial=run", f"{_SIDES} --metric token_score"),
    Header("query:text recall:right reciprocal_rank:share unscored:few temp:512", "item=query score=recall,reciprocal_rank"),
    Header("id:id model:model is_hallucinated:bool curvature_score:share", "item=id score=is_hallucinated,curvature_score model=model", f"{_COMPARE} --metric is_hallucinated"),
    # Nothing here is a score.
    Header("id:id label:expected prediction:picked", "item=id score=prediction==label"),
    Header("id:id model:model score:share predicted_label:picked actual_label:expected", "item=id score=predicted_label==actual_label model=model", _BOARD),
    Header("id:id model:model prompt_tokens:count completion_tokens:count latency_ms:ms", "", _COMPARE),
    Header("text:text label:expected", ""),
    Header("request_id:id task:text execute:true final_model_name:model latency_ms:ms", "", _COMPARE),
    Header("test_id:id model:model prompt:text response:answer error:bool duration_ms:ms timestamp:time", "", _COMPARE),
    Header("id:id question:text should_refuse:bool must_cite_context:bool", ""),
    Header("image_index:index true_label:few model:model pred_sum:few revision:constant", ""),
]  # fmt: skip
