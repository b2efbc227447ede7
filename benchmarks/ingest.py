"""Ingest of large files, as whole processes: wall-clock seconds and peak memory.

The other side is what any reader in Python pays at least: `json.loads` of every line for JSON Lines, `json.load` of
the document for a log. `python -m benchmarks.ingest --mb 1000` takes larger files.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, against

DEFAULT_MB = 200
_WORDS = (
    "the",
    "a",
    "of",
    "to",
    "is",
    "in",
    "that",
    "model",
    "answer",
    "number",
    "question",
    "because",
    "total",
    "first",
)

# The peak is read from /proc inside the process: the kernel's own account for a child would include its parent's pages.
_PEAK = """
import json, sys, time
from pathlib import Path
def report(began):
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    print(json.dumps([time.perf_counter() - began, peak]))
"""
_INGEST = """
from evalstats.cli.ingest_run import ingest
began = time.perf_counter()
result = ingest([sys.argv[1]], sys.argv[2])
assert [source.status for source in result.sources] == ["loaded"], result
report(began)
"""
_LINES = """
began = time.perf_counter()
for path in Path(sys.argv[1]).glob("samples_*.jsonl"):
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            json.loads(line)
report(began)
"""
_DOCUMENT = """
began = time.perf_counter()
with next(Path(sys.argv[1]).glob("*.json")).open(encoding="utf-8") as stream:
    json.load(stream)
report(began)
"""


def run(megabytes: int = DEFAULT_MB) -> list[Row]:
    """Seconds and peak memory for one run of lm-evaluation-harness and one log of Inspect AI."""
    rows: list[Row] = []
    for name, write, floor in (("lm-eval", write_lm_eval, _LINES), ("inspect", write_inspect, _DOCUMENT)):
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "files")
            files.mkdir()
            size = write(files, megabytes << 20) / (1 << 20)
            seconds, peak = _measured(_INGEST, files, Path(folder, "store"))
            floor_seconds, floor_peak = _measured(floor, files)
        speed = f"{size / seconds:.0f} MB/s; other: json alone, {size / floor_seconds:.0f} MB/s"
        rows.append(against(f"ingest {size:.0f} MB of {name}, s", seconds, floor_seconds, speed))
        rows.append(against(f"ingest {size:.0f} MB of {name}, peak MB", peak, floor_peak, "other: json alone"))
    return rows


def write_lm_eval(folder: Path, size: int) -> int:
    """Write a results file and its samples: five-shot prompts of about 4 kB, two filters for every question."""
    rng = random.Random(0)  # noqa: S311 - text to fill a file
    day = "2026-02-03T04-05-06.789012"
    path = folder / f"samples_gsm8k_{day}.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for line in _lm_eval_lines(rng, size):
            stream.write(line)
    metrics = {f"exact_match,{name}": 0.5 for name in ("strict-match", "flexible-extract")}
    results = {
        "results": {"gsm8k": {"alias": "gsm8k", **metrics}},
        "group_subtasks": {"gsm8k": []},
        "configs": {"gsm8k": {"task": "gsm8k"}},
        "versions": {"gsm8k": 3.0},
        "n-shot": {"gsm8k": 5},
        "higher_is_better": {"gsm8k": {"exact_match": True}},
        "config": {"model": "hf", "model_args": "pretrained=org/model"},
        "date": 1770091506.0,
        "lm_eval_version": "0.4.9",
        "model_name": "org/model",
        "model_name_sanitized": "org__model",
    }
    (folder / f"results_{day}.json").write_text(json.dumps(results), encoding="utf-8")
    return path.stat().st_size


def _lm_eval_lines(rng: random.Random, size: int) -> Iterator[str]:
    written, item = 0, 0
    while written < size:
        question, answer = _text(rng, 40), str(rng.randrange(1000))
        prompt = _text(rng, 600) + question
        for name in ("strict-match", "flexible-extract"):
            sample = {
                "doc_id": item,
                "doc": {"question": question, "answer": answer},
                "target": answer,
                "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["Question:"], "do_sample": False}}},
                "resps": [[_text(rng, 120)]],
                "filtered_resps": [answer],
                "filter": name,
                "metrics": ["exact_match"],
                "doc_hash": f"{item:064x}",
                "prompt_hash": f"{item + 1:064x}",
                "target_hash": f"{item + 2:064x}",
                "exact_match": float(rng.random() < 0.5),
            }
            line = json.dumps(sample) + "\n"
            written += len(line)
            yield line
        item += 1


def write_inspect(folder: Path, size: int) -> int:
    """Write one JSON log of an agent's run: every sample carries about 200 kB of messages and events."""
    rng = random.Random(0)  # noqa: S311 - text to fill a file
    path = folder / "2026-02-03T04-05-06-00-00_agent_3Y3vCGWR9ByZMKwScuEudt.json"
    head = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e",
            "run_id": "r",
            "created": "2026-02-03T04:05:06+00:00",
            "task": "agent",
            "task_id": "3Y3vCGWR9ByZMKwScuEudt",
            "task_version": 0,
            "dataset": {"name": "agent"},
            "model": "provider/model",
            "config": {"epochs": 1},
        },
        "plan": {"steps": []},
        "results": {"scores": []},
        "stats": {},
    }
    with path.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(head)[:-1] + ', "samples": [')
        item = 0
        while stream.tell() < size:
            stream.write(("," if item else "") + json.dumps(_inspect_sample(rng, item)))
            item += 1
        stream.write("]}")
    return path.stat().st_size


def _inspect_sample(rng: random.Random, item: int) -> dict[str, object]:
    turns = [{"role": role, "content": _text(rng, 400)} for _ in range(20) for role in ("assistant", "tool")]
    events = [{"event": "model", "output": {"completion": turn["content"]}, "pending": False} for turn in turns]
    return {
        "id": f"task-{item}",
        "epoch": 1,
        "input": _text(rng, 200),
        "target": "yes",
        "messages": turns,
        "output": {"model": "provider/model", "choices": [], "completion": "yes"},
        "scores": {"match": {"value": rng.choice("CI"), "answer": "yes", "history": []}},
        "metadata": {"category": rng.choice("abc")},
        "store": {},
        "events": events,
        "model_usage": {},
        "total_time": 12.5,
        "uuid": f"u{item}",
        "attachments": {},
    }


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _measured(code: str, *arguments: Path) -> tuple[float, float]:
    program = textwrap.dedent(_PEAK) + textwrap.dedent(code)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description="Ingest of large files: seconds, MB/s, peak memory.")
    parser.add_argument("--mb", type=int, default=DEFAULT_MB, help="size of each file in MB")
    for row in run(parser.parse_args().mb):
        print(f"{row['name']:44} {row['ours']:>10.4g} {row['other']:>10.4g} {row['ratio']:>8.3g}x  {row['note']}")


if __name__ == "__main__":
    main()
