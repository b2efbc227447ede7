"""The shipped figures written back as files in the formats they were taken from, so that reading them can be shown."""

import json
from pathlib import Path

from evalstats.datasets.tables import tau_airline_rewards, tenacious_counts

_TENACIOUS_README = """\
`held_out_traces.jsonl` carries a published outcome: of 43 held-out pairs of Tenacious-Bench the baseline got 22 right
and the trained critic 43, counted by judgment dimension (github.com/nebiyuephrata/SignalForge @ 7d1a806).

The file is expanded from those counts. The task ids are made, and the scores are placeholders that only say who was
right: a right critic scores the chosen draft higher than the rejected one, a wrong one scores both the same, as the
baseline did in all its 21 errors.
"""
_TAU_README = """\
`gpt-4o-airline.json` carries the published rewards of gpt-4o on the 50 airline tasks of tau-bench, 4 trials each
(github.com/sierra-research/tau-bench @ 59a200c6d5, historical_trajectories/gpt-4o-airline.json, licence MIT,
Copyright (c) 2024 Sierra). Conversations, instructions and costs are left out.
"""
_BASELINE_SCORES, _TRAINED_SCORES = (0.8, 0.7), (1.5, 1.2)


def write_tenacious_traces(folder: str | Path) -> Path:
    """Write the held-out outcome of Tenacious-Bench as `held_out_traces.jsonl`, with `README.md` beside it.

    The outcomes are the published ones, by judgment dimension; task ids and scores are placeholders, and the README
    says so. The same pairs, ready to use, are `evalstats.datasets.tenacious_held_out()`.

    Returns
    -------
    pathlib.Path
        The result file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     len(write_tenacious_traces(folder).read_text().splitlines())
    43
    """
    rows: list[object] = []
    for counts in tenacious_counts():
        for item, baseline, trained in counts.pairs():
            baseline_chosen, baseline_rejected = _scores(_BASELINE_SCORES, correct=baseline)
            trained_chosen, trained_rejected = _scores(_TRAINED_SCORES, correct=trained)
            rows.append(
                {
                    "split": "held_out",
                    "task_id": item,
                    "dimension": counts.dimension,
                    "task_type": counts.task_type,
                    "source_mode": counts.source_mode,
                    "baseline_chosen_score": baseline_chosen,
                    "baseline_rejected_score": baseline_rejected,
                    "baseline_correct": baseline,
                    "trained_chosen_score": trained_chosen,
                    "trained_rejected_score": trained_rejected,
                    "trained_correct": trained,
                    "delta_correct": int(trained) - int(baseline),
                }
            )
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    return _write(folder, "held_out_traces.jsonl", text, readme=_TENACIOUS_README)


def write_tau_airline(folder: str | Path) -> Path:
    """Write the published airline rewards of gpt-4o as `gpt-4o-airline.json`, with `README.md` beside it.

    The file is a tau-bench v1 result file whose conversations are empty. The same rewards, ready to use, are
    `evalstats.datasets.tau_airline()`.

    Returns
    -------
    pathlib.Path
        The result file. Its name tells the model and the domain; the format has no other place for them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     len(json.loads(write_tau_airline(folder).read_text()))
    200
    """
    rewards = tau_airline_rewards()
    rows: list[object] = [
        {
            "task_id": task,
            "reward": float(rewards[task][trial]),
            "info": {
                "source": "user",
                "reward_info": {"reward": float(rewards[task][trial]), "info": {}, "actions": []},
            },
            "traj": [],
            "trial": trial,
        }
        for trial in range(len(rewards[0]))
        for task in range(len(rewards))
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return _write(folder, "gpt-4o-airline.json", f"[\n{lines}\n]\n", readme=_TAU_README)


def _scores(right: tuple[float, float], *, correct: bool) -> tuple[float, float]:
    """Scores of the chosen and the rejected draft."""
    return right if correct else (right[1], right[1])


def _write(folder: str | Path, name: str, text: str, *, readme: str) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in ((name, text), ("README.md", readme)):
        (folder / file).write_text(content, encoding="utf-8", newline="\n")
    return folder / name
