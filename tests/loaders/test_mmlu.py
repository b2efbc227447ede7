"""MMLU's results as its authors' scripts write them: a file a subject, a folder a model."""

from pathlib import Path

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed

HEADER = "0,1,2,3,4,5,davinci_correct,davinci_choiceA_probs,davinci_choiceB_probs\n"
TABLE = (
    HEADER + '"What is 1, 1?",1,2,3,4,B,True,0.1,0.9\nAnd 2?,1,2,3,4,A,False,0.2,0.8\nAnd 2?,1,2,3,4,A,True,0.7,0.3\n'
)


def test_subjects_of_a_model_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "results_davinci"
    folder.mkdir()
    for subject in ("anatomy", "virology"):
        (folder / f"{subject}.csv").write_text(TABLE)
    data = es.read(tmp_path)
    assert data.outcomes.select("model", "task", "trial", "metric", "score", "locator").rows() == [
        ("davinci", "anatomy", 0, "correct", 1.0, "line 2"),
        ("davinci", "anatomy", 0, "correct", 0.0, "line 3"),
        ("davinci", "anatomy", 1, "correct", 1.0, "line 4"),
        ("davinci", "virology", 0, "correct", 1.0, "results_davinci/virology.csv line 2"),
        ("davinci", "virology", 0, "correct", 0.0, "results_davinci/virology.csv line 3"),
        ("davinci", "virology", 1, "correct", 1.0, "results_davinci/virology.csv line 4"),
    ]
    assert data.runs.height == 1
    assert data.outcomes["item"].n_unique() == 2
    assert data.metrics.select("kind", "primary").row(0) == ("binary", True)


@pytest.mark.parametrize(
    ("cell", "status"), [("1", "scored"), ("true", "scored"), ("", "unscored"), ("maybe", "unscored")]
)
def test_states(tmp_path: Path, cell: str, status: str) -> None:
    path = tmp_path / "anatomy.csv"
    path.write_text(TABLE.replace("True,0.1", f"{cell},0.1"))
    assert es.read(path).outcomes["status"][0] == status


def test_two_models_pair(tmp_path: Path) -> None:
    for model, right in (("a", "True"), ("b", "False")):
        (tmp_path / model).mkdir()
        rows = "".join(f"Question {n}?,1,2,3,4,A,{right if n % 3 else 'True'},0.5,0.5\n" for n in range(40))
        (tmp_path / model / "anatomy.csv").write_text(HEADER.replace("davinci", model) + rows)
    result = es.compare(es.read(tmp_path), "b", "a")
    assert (result.n_items, result.estimate) == (40, pytest.approx(26 / 40))


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "anatomy.csv"
    path.write_text(TABLE)
    found, _ = sniffed(read_head(path))
    assert found is not None
    assert found[0].name == "mmlu"
