"""Files that look like those of a format and are not: no loader claims what it cannot read.

That each format is recognised, `test_fuzz` sees by a seed of each.
"""

import json
from pathlib import Path

import pytest

from evalstats.loaders.base import read_head
from evalstats.loaders.registry import loader_named, loaders
from tests.loaders.seeds import SEEDS

# By loader: the name of a file and its content, as JSON where it is no text.
OTHERS: dict[str, list[tuple[str, object]]] = {
    "alpaca-eval": [("x", '[{"instruction": "x", "output": "y", "generator": "m"}]')],
    "benchbench": [
        ("scores_240829.csv", "model,x\nm,1\nn,2\n"),  # no tag: any dated table may be called so
        ("mine_240829_final.csv", "model,x\nm,1\nn,2\n"),
        ("mine_240829_code.csv", "model,item,x\nm,1,1\nn,1,0\n"),  # a row for each item
        ("mine_240829_code.csv", "x,model\n1,m\n2,n\n"),
        ("mine_240829_code.csv", "a\n"),
        ("mine_240829_code.csv", '{"model": 1}'),
    ],
    "bfcl": [("mine.json", '{"accuracy": 1.0, "correct_count": 1, "total_count": 1}\n')],
    "braintrust": [("x", '{"events": [{"id": 1}]}'), ("x", '[{"scores": {}}]'), ("x", "span_id,scores\n")],
    "deepeval": [
        ("x.json", content)
        for content in ({"testCases": [{"id": 1}]}, {"testCases": 3}, [{"metricsData": []}], {"results": []})
    ],
    **{
        name: [
            ("x.csv", f"{columns}\n{','.join('1' * len(columns.split(',')))}\n")
            for columns in (
                "item,model,score",
                "plan_id,label,target_model,harmful",  # no seed_id
                "plan_id,seed_id,label,target_model,score",  # no outcome of ours
                "question_id,domain,language,model,answer",
                "question_id,model_a,model_b,winner,language,domain,safety",
                "task_id,baseline_correct,trained_correct,label",
            )
        ]
        for name in ("harmamp", "devicerepair")
    },
    "helm": [
        ("0.json", [{"name": "gpt", "count": 3, "sum": 4}]),
        ("1.json", {"adapter_spec": 1}),
        ("2.json", [{"instance_id": "django-1", "model_patch": ""}]),
        ("3.json", {"name": "x", "description": "y"}),
    ],
    "inspect": [
        ("listing.json", {"flats": [{"rent": 900}]}),
        ("x.json", {"eval": {"t": {"pass@1": 50.0}}, "date": "2024"}),
        ("x.json", {"status": "success", "data": []}),
    ],
    "langsmith": [
        ("x", '{"experiment_name": "x", "results": []}'),
        ("x", "feedback,inputs.q\n"),
        ("x", "feedback.x,score,item\n"),
        ("x", [{"id": "u1", "feedback_stats": {}}]),
    ],
    "lm-eval": [
        ("x.json", {"results": [{"question": "q"}], "config": {}}),
        ("x.json", {"results": {"a": 1}}),
        ("x.json", {"eval": {"task": "t", "model": "m"}, "status": "success", "results": {"scores": []}}),
        ("x.json", [{"id": 1, "doc": "x"}]),
    ],
    "mlflow": [
        ("metrics.json", {"accuracy": 0.5}),  # anybody's metrics
        ("any.json", {"columns": ["a", "b"], "data": [[1, 2]]}),
        ("any.json", {"columns": 5, "data": [[1, 2]]}),
        ("artifacts_metadata.json", {"a": 1}),
    ],
    "promptfoo": [
        ("x.json", content)
        for content in (
            {"results": {"arc": {"acc": 1}}},
            {"results": [{"score": 1}]},
            {"evalId": "x"},
            [{"testIdx": 1}],
        )
    ],
    "ragas": [
        ("x.csv", "question,model,score\nq,m,1\n"),
        ("x.csv", "item,model,faithfulness\nq,m,1\n"),
        ("x.csv", "question,answer,correct\nq,a,1\n"),
        ("x.csv", "metric,score\nfaithfulness,1\n"),
        ("x.csv", "user_input,response\nq,a\n"),
    ],
    "swe-bench": [
        ("x.json", content)
        for content in ({"resolved": 3, "open": 2}, {"resolved": []}, {"resolved": "yes", "error": "x"})
    ],
    "tau-bench": [
        ("a.json", [{"task_id": 1, "passed": True}]),
        ("b.json", {"task_id": 1, "reward": 1, "info": {}, "traj": []}),
    ],
    "tenacious": [
        ("x.json", content)
        for content in ({"results": [], "passed": 3}, [{"task_id": "a", "score": 1}], {"claims": []}, {"title": "x"})
    ],
    "terminal-bench": [
        ("results.json", content) for content in ({"results": [{"task_id": 1}]}, {"results": {}}, {"task_id": "a"})
    ],
}


@pytest.mark.parametrize(
    ("loader", "name", "content"), [(loader, *file) for loader, files in OTHERS.items() for file in files]
)
def test_files_of_others_are_left_to_others(tmp_path: Path, loader: str, name: str, content: object) -> None:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert loader_named(loader).sniff(read_head(path)) is None


def test_no_two_formats_are_sure_of_a_file(tmp_path: Path) -> None:
    for k, tree in enumerate(tree for trees in SEEDS.values() for tree in trees):
        for name, data in tree.items():
            path = tmp_path / str(k) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            head = read_head(path)
            sure = [
                loader.name
                for loader in loaders(head.shape)
                if (found := loader.sniff(head)) and found.confidence >= 0.5
            ]
            assert len(sure) <= 1, f"{name} is claimed by {sure}"
