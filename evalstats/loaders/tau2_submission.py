"""tau2-bench leaderboard submissions: published pass^k per domain, in percent.

Format: `src/tau2/scripts/leaderboard/submission.py` of sierra-research/tau2-bench at a2c0247.
"""

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Rows, Source
from evalstats.loaders.files import load_json
from evalstats.loaders.values import as_dict, as_number, as_text, as_time, get
from evalstats.schema.data import Problem

TEMPLATE_MARK: Final = "A_EXAMPLE_"

_BENCHMARK = "tau2-bench"
_MAX_CHARS = 4 << 20  # a submission is a few kB
_PASS = re.compile(r"pass_([1-9]\d*)")
_FIRST_VERSION = "original tau-bench"


def is_template(head: Head) -> bool:
    """Whether a submission is one of the invented examples that lie among the real ones."""
    named = head.path.name.startswith(TEMPLATE_MARK) or head.path.parent.name.startswith(TEMPLATE_MARK)
    return named or head.members.get("model_organization") == "Example Organization"


def read_submission(source: Source) -> Iterator[Rows | Problem]:
    """Yield one row of `aggregates` for every number of a submission, their metrics, and the run.

    A null is a number that was not published: it gives no row. Factors say what makes two submissions incomparable:
    `user_simulator`, `reasoning_effort`, `submission_type`, `modality`, `retrieval_config` and `harness_version`.

    Raises
    ------
    UnreadableFileError
        If a number is none, or a percentage lies outside 0 to 100.
    """
    content = as_dict(load_json(source.path, max_chars=_MAX_CHARS))
    model = as_text(content.get("model_name"))
    if not model:
        raise UnreadableFileError(f"{source.path}: has no model_name; a submission names its model")
    run = source.run_id(model) if source.stem == "submission" else source.run_id()
    common = _common(content, model, run)
    rows = [{**common, **row} for row in _numbers(content, str(source.path))]
    yield Rows(table="aggregates", rows=rows)
    yield Rows(table="metrics", rows=list({str(row["metric"]): _metric(row) for row in rows}.values()))
    yield Rows(table="runs", rows=[_run_row(content, common)])
    yield from _doubts(source, content, rows)


def _common(content: dict[str, object], model: str, run: str) -> dict[str, object]:
    methodology = as_dict(content.get("methodology"))
    return {
        "model": model,
        "benchmark": _BENCHMARK,
        "method": "published",
        "date": _day(methodology.get("evaluation_date")) or _day(content.get("submission_date")),
        "run": run,
        "submission_type": as_text(content.get("submission_type")),
        "modality": as_text(content.get("modality")) or "text",
        "reasoning_effort": as_text(content.get("reasoning_effort")),
        "user_simulator": as_text(methodology.get("user_simulator")),
        "harness_version": as_text(methodology.get("tau2_bench_version")),
    }


def _numbers(content: dict[str, object], where: str) -> Iterator[dict[str, object]]:
    for domain, results in as_dict(content.get("results")).items():
        for key, value in as_dict(results).items():
            known = _known(key, f"{where}: results.{domain}.{key}", value)
            if known is not None:
                retrieval = as_text(get(results, "retrieval_config"))
                yield {"task": domain, **known, "value_raw": json.dumps(value), "retrieval_config": retrieval}
    for domain, measured in as_dict(get(content, "interaction_metrics", "domains")).items():
        n = as_number(get(measured, "counts", "n_simulations"))
        for key, value in as_dict(measured).items():
            number = as_number(value)
            if number is not None:
                unit = "seconds" if "latency" in key else "proportion"
                yield {
                    "task": domain,
                    "metric": f"interaction/{key}",
                    "estimate": number,
                    "unit": unit,
                    "n": None if n is None else int(n),
                    "value_raw": json.dumps(value),
                }


def _known(key: str, where: str, value: object) -> dict[str, object] | None:
    """Return metric, estimate and unit of a domain's number; None where the key is none or the number was not given."""
    found = _PASS.fullmatch(key)
    if value is None or (found is None and key != "cost"):
        return None
    number = None if isinstance(value, bool | str) else as_number(value)
    if number is None or number < 0 or (found and number > 100):
        held = json.dumps(value)[:40]
        expected = "a percentage between 0 and 100" if found else "a price in US dollars"
        raise UnreadableFileError(f"{where}: is {held}; expected {expected}, or null where there is none")
    if found:
        return {"metric": f"pass^{found[1]}", "estimate": number, "unit": "percent"}
    return {"metric": "cost_usd", "estimate": number, "unit": "US dollars"}


def _metric(row: dict[str, object]) -> dict[str, object]:
    metric, unit = str(row["metric"]), row["unit"]
    high = {"percent": 100.0, "proportion": 1.0}.get(str(unit))
    lower_is_better = "latency" in metric or "interruption" in metric or metric == "cost_usd"
    return {
        "benchmark": _BENCHMARK,
        "metric": metric,
        "kind": "continuous" if high is None else "bounded",
        "low": 0.0,
        "high": high,
        "higher_is_better": not lower_is_better,
        "unit": unit,
        "primary": metric == "pass^1",
    }


def _run_row(content: dict[str, object], common: dict[str, object]) -> dict[str, object]:
    effort = common["reasoning_effort"]
    kept = ("submitting_organization", "model_organization", "submission_type", "modality", "reasoning_effort")
    config = {name: content.get(name) for name in kept} | {
        "user_simulator": common["user_simulator"],
        "verification": get(content, "methodology", "verification"),
        "voice_config": content.get("voice_config"),
    }
    notes = [as_text(content.get("notes")), as_text(get(content, "methodology", "notes"))]
    return {
        "run": common["run"],
        "model": common["model"],
        "system": f"{common['model']} ({effort})" if effort else common["model"],
        "benchmark": _BENCHMARK,
        "harness": "tau2-bench",
        "harness_version": common["harness_version"],
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(config),
        "note": " ".join(note for note in notes if note) or None,
        "timestamp": as_time(content.get("submission_date")),
    }


def _doubts(source: Source, content: dict[str, object], rows: list[dict[str, object]]) -> Iterator[Problem]:
    path = str(source.path)
    rates = [float(str(row["estimate"])) for row in rows if row["unit"] == "percent"]
    if not rates:
        yield Problem(path=path, message="holds no pass^k for any domain", severity="note")
    elif 0 < max(rates) <= 1:
        message = (
            f"all its rates lie between 0 and {max(rates):g}; submissions are in percent, and these may be proportions"
        )
        yield Problem(path=path, message=message, severity="note")
    if as_text(content.get("submission_type")) == "custom":
        message = "is a custom submission: prompts or scaffold differ from the benchmark's own, see the run's note"
        yield Problem(path=path, message=message, severity="note")
    if get(content, "methodology", "tau2_bench_version") == _FIRST_VERSION:
        message = "its numbers were made on the first tau-bench, whose tasks differ from those of tau2-bench"
        yield Problem(path=path, message=message, severity="note")


def _day(value: object) -> date | None:
    time = as_time(value)
    return None if time is None else time.date()
