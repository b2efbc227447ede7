"""The map for newcomers, `design/README.md`: what it names is there, and its call meets the functions in the order it says."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import evalstats as es

ROOT = Path(__file__).resolve().parents[1]
MAP = (ROOT / "design" / "README.md").read_text(encoding="utf-8").partition("## Decisions")[0]
PACKAGE = ROOT / "evalstats"


def walked() -> list[tuple[str, str]]:
    """The functions of the walk, each with its module, in its order."""
    return re.findall(r"^\|[^|]*\| `([\w/]+\.py)`: `(\w+)` \|", MAP.partition("## One call")[2], re.MULTILINE)


def test_every_module_and_folder_that_is_named_is_there() -> None:
    named = {
        name
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", MAP)
        if "QUESTION" not in name and name != "tests/test_map.py"
    }
    assert len(named) > 20
    assert [name for name in sorted(named) if not (PACKAGE / name).exists()] == []


def traces(path: Path) -> Path:
    """Forty pairs in eight dimensions, as Tenacious-Bench writes them."""
    sides = ("baseline_chosen_score", "baseline_rejected_score", "trained_chosen_score", "trained_rejected_score")
    rows: list[dict[str, Any]] = []
    for k in range(40):
        right = (k % 3 > 0, k % 5 > 0)
        scores = (0.9, 0.1 if right[0] else 0.95, 0.9, 0.1 if right[1] else 0.95)
        verdicts = {"baseline_correct": right[0], "trained_correct": right[1], "delta": int(right[1]) - int(right[0])}
        names = {"task_id": f"t{k}", "dimension": f"d{k % 8}"}
        rows.append({**names, **dict(zip(sides, scores, strict=True)), **verdicts})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_call_meets_the_functions_in_the_order_of_the_walk(tmp_path: Path) -> None:
    path = traces(tmp_path / "held_out_traces.jsonl")
    met: dict[tuple[str, str], None] = {}

    def watch(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            met.setdefault((Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_name))

    def call() -> None:
        # One metric has no clusters, so that the walk is of the plainest case.
        es.compare(es.read(path), "baseline", "trained", metric="correct", cluster="none")._repr_markdown_()

    call()  # what is imported at the first call is no part of it
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    names = walked()
    assert len(names) > 15
    assert [name for name in names if name not in met] == []
    order = list(met)
    assert names == sorted(names, key=order.index)


@pytest.mark.parametrize("shape", ["EvalData", "ScoreTable", "VoteTable", "Document"])
def test_a_shape_stands_where_the_map_says(shape: str) -> None:
    (where,) = re.findall(rf"\| `{shape}` \| `([\w/.]+)` \|", MAP)
    assert re.search(rf"^class {shape}\b", (PACKAGE / where).read_text(encoding="utf-8"), re.MULTILINE)
