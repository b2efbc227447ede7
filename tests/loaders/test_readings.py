"""What tables are: rows of answers, columns of systems or repetitions, published numbers; each is read so or asked about.

The table below was written before any guess was seen. A header is written as in `headers.py`; what is right is a map, several
joined by " or " where any of them is. "published" in front says that no row is an item, and "" that nothing here is a score.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from evalstats.cli.advice import on_the_shell
from evalstats.errors import InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from tests.loaders.headers import KINDS, Header, rows_of
from tests.loaders.test_binder import is_read_so, lines_of, roles_in, written

READINGS: Final = (
    # A row of an answer.
    ("sample:id system:system judge_score:likert judge:judge", "item=sample score=judge_score model=system"),
    ("problem_id:id solver:system solved:bool time_s:ms", "item=problem_id score=solved model=solver"),
    ("id:id prompt_version:version pass:right", "item=id score=pass model=prompt_version"),
    ("question_id:id llm:model language:category correct:right", "item=question_id score=correct model=llm"),
    ("query_id:id retriever:system ndcg@10:share mrr@10:share", "item=query_id score=ndcg@10,mrr@10 model=retriever"),
    ("item_id:id temperature:512 model:model score:share", "item=item_id score=score model=model"),
    ("example_id:id split:category model:model bleu:points chrf:points", "item=example_id score=bleu,chrf model=model"),
    (
        "task_id:id agent:system success:yes reward:share steps:count",
        "item=task_id score=success,reward model=agent or item=task_id score=success model=agent",
    ),
    ("uuid:digest variant:side clicked:right", "item=uuid score=clicked model=variant"),
    ("case:id attempt:trial result:pass", "item=case score=result trial=attempt"),
    ("doc:id annotator:rater label:verdict model:system", "item=doc score=label model=model judge=annotator"),
    ("id:id faithfulness:share relevancy:share config:side", "item=id score=faithfulness,relevancy model=config"),
    ("Input:text Output:answer Score:share Scorer:metric", "item=Input score=Score metric=Scorer"),
    ("image:id clip_score:share width:size", "item=image score=clip_score"),
    ("prompt:text model:model response:answer toxicity:share", "item=prompt score=toxicity model=model"),
    ("utt_id:id system:system wer:share", "item=utt_id score=wer model=system"),
    (
        "id:id human_score:likert llm_score:likert model:model",
        "item=id score=human_score,llm_score model=model or item=id judges=human_score,llm_score model=model",
    ),
    ("id:id epoch:trial val_acc:share", "item=id score=val_acc trial=epoch"),
    ("name:id category:category score:likert", "item=name score=score"),
    ("test:id outcome:pass retries:count", "item=test score=outcome"),
    (
        "conversation_id:id turn:turn speaker_model:model coherence:likert",
        "item=conversation_id score=coherence model=speaker_model",
    ),
    ("id:id is_hallucination:bool model:model", "item=id score=is_hallucination model=model"),
    ("message_id:id thumbs:thumbs model_version:version", "item=message_id score=thumbs model=model_version"),
    ("message_id:id thumb:updown model_version:version", "item=message_id score=thumb model=model_version"),
    ("session:call arm:side csat:likert", "item=session score=csat model=arm or item=#row score=csat model=arm"),
    ("user:visitor model:one rating:likert", "item=#row score=rating model=model"),
    # Persons who rated.
    (
        "participant_id:person item:id model:model rating:likert",
        "item=item score=rating model=model judge=participant_id",
    ),
    (
        "respondent:person question:id model:model satisfaction:likert",
        "item=question score=satisfaction model=model judge=respondent",
    ),
    (
        "case_id:id physician_id:person model:model diagnosis_correct:right",
        "item=case_id score=diagnosis_correct model=model judge=physician_id",
    ),
    (
        "user_id:person story:id system:system helpfulness:likert",
        "item=story score=helpfulness model=system judge=user_id",
    ),
    # Columns of systems.
    ("query:text rag_score:likert baseline_score:likert", "item=query models=*_score"),
    (
        "sample_id:id gpt-4o:share llama-3-8b:share mistral-7b:share",
        "item=sample_id models=gpt-4o,llama-3-8b,mistral-7b",
    ),
    ("qid:id v1:right v2:right", "item=qid models=v1,v2"),
    ("question:text Baseline:yes Finetuned:yes", "item=question models=Baseline,Finetuned"),
    ("topic:id bm25:share dense:share hybrid:share", "item=topic models=bm25,dense,hybrid"),
    ("id:id gpt-4o_correct:right gpt-4o_latency:ms claude_correct:right claude_latency:ms", "item=id models=*_correct"),
    ("id:id baseline.score:share tuned.score:share", "item=id models=*.score"),
    # Columns of repetitions or judges.
    ("id:id pass1:right pass2:right model:model", "item=id trials=pass1,pass2 model=model"),
    (
        "id:id model:model correct_1:right correct_2:right correct_3:right",
        "item=id trials=correct_1,correct_2,correct_3 model=model",
    ),
    ("qid:id run_a:right run_b:right", "item=qid trials=run_a,run_b"),
    ("prompt_id:id sample_0:right sample_1:right sample_2:right", "item=prompt_id trials=sample_0,sample_1,sample_2"),
    (
        "id:id score_1:right score_2:right score_3:right",
        "item=id trials=score_1,score_2,score_3 or item=id judges=score_1,score_2,score_3",
    ),
    ("id:id rater_a:likert rater_b:likert rater_c:likert", "item=id judges=rater_a,rater_b,rater_c"),
    ("item:id annotator1:likert annotator2:likert model:model", "item=item judges=annotator1,annotator2 model=model"),
    ("id:id top1:right top5:right model:model", "item=id score=top1,top5 model=model"),
    # A row of a system and a seed, which the systems share.
    ("seed:seed model:model accuracy:share", "item=seed score=accuracy model=model"),
    ("method:system seed:seed top1:share top5:share", "item=seed score=top1,top5 model=method"),
    ("fold:trial model:model auc:share", "item=fold score=auc model=model"),
    ("run:trial model:model accuracy:share f1:share", "item=run score=accuracy,f1 model=model"),
    ("seed:seed dataset:dataset model:model accuracy:share", "item=seed score=accuracy model=model task=dataset"),
    ("seed:seed prompt:side model:model f1:share", "item=seed score=f1 model=model system=prompt"),
    # Items that are counted anew in each part.
    ("index:index dataset:dataset model:model correct:right", "item=index score=correct model=model task=dataset"),
    # Published numbers.
    ("model:entrant mmlu:share gsm8k:share arc:share", "published model=model"),
    ("Model:entrant Params:count Score:points", "published model=Model"),
    ("system:entrant BLEU:points COMET:share", "published model=system"),
    ("Method:entrant Accuracy:share Stderr:share", "published model=Method"),
    ("model:model dataset:dataset accuracy:share", "published model=model task=dataset"),
    ("method:system dataset:dataset f1:share precision:share recall:share", "published model=method task=dataset"),
    ("experiment:system retriever:dataset f1:share em:share", "published model=experiment task=retriever"),
    ("model:model subject:dataset accuracy:share n_questions:count", "published model=model task=subject"),
    ("config:version accuracy:share accuracy_std:share n:count", "published model=config"),
    ("algorithm:entrant mean_reward:points std_reward:points", "published model=algorithm"),
    # Nothing here is a score.
    ("id:id tokens:count latency:ms", ""),
    ("prompt:text completion:answer", ""),
    ("id:id gold:expected gpt-4o:picked claude:picked", ""),
    ("id:id embedding_model:one chunk_size:512", ""),
    # Nothing here is an item.
    ("size:size accuracy:share latency:ms", ""),
)
# These are asked about, and what is right stands first.
ASKED: Final = (
    "id:id prompt_version:version pass:right",
    "doc:id annotator:rater label:verdict model:system",
    "image:id clip_score:share width:size",
    "name:id category:category score:likert",
    "query:text rag_score:likert baseline_score:likert",
    "qid:id v1:right v2:right",
    "topic:id bm25:share dense:share hybrid:share",
    "id:id pass1:right pass2:right model:model",
    "run:trial model:model accuracy:share f1:share",
    "seed:seed dataset:dataset model:model accuracy:share",
    "seed:seed prompt:side model:model f1:share",
    "index:index dataset:dataset model:model correct:right",
    "id:id model:model correct_1:right correct_2:right correct_3:right",
    "id:id score_1:right score_2:right score_3:right",
)


def is_right(data: EvalData, rows: list[dict[str, Any]], right: str) -> bool:
    """Whether a table was read as it is."""
    (roles,) = roles_in(right.removeprefix("published "))
    if right.startswith("published"):
        named = {name: {str(row[column]) for row in rows} for name, column in roles.items()}
        return not data.outcomes.height and all({*data.aggregates[name]} == levels for name, levels in named.items())
    judge = roles.pop("judge", None)
    judges = {str(row[judge]) for row in rows} if judge else {*data.outcomes["judge"]}
    if any(pattern.startswith("*") for pattern in roles.get("models", "").split(",")):
        return data.outcomes.height == 2 * len(rows) and data.outcomes["model"].n_unique() == 2
    return is_read_so(data, rows, roles) and {*data.outcomes["judge"]} == judges


@pytest.mark.parametrize(("columns", "right"), READINGS, ids=[columns for columns, _ in READINGS])
def test_a_table_is_read_as_it_is_or_asked_about(columns: str, right: str, tmp_path: Path) -> None:
    names = Header(columns, "").names()
    n_items = 14 if any(KINDS.get(kind, (1,))[0] == 0 or kind == "visitor" for _, kind in names) else 1
    rows = rows_of(names, 1, n_items)
    path = written(tmp_path / "t.csv", names, rows)
    if right and columns not in ASKED:
        assert is_right(read(path, strict=True), rows, right.partition(" or ")[0])
        return
    with on_the_shell(), pytest.raises(InputError) as refused:
        read(path)
    lines = lines_of(str(refused.value))
    assert bool(lines) == bool(right)
    for options in lines[:1]:
        data = read(path, column_map=ColumnMap.from_options(options), strict=True)
        assert any(is_right(data, rows, each) for each in right.split(" or "))
