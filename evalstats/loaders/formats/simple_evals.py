"""OpenAI's simple-evals: the results of one eval and model, `<eval>_<model>_<date>_allresults.json`, or its metrics alone.

An item is a digest of what the user said, or the prompt's own id (HealthBench). Scores of items stand only in the report of each
(`htmls`). A request that was refused as bad is an error, though upstream grades its empty answer. Metrics, also those of
`<eval>_<model>_<date>.json`, are published numbers, with a standard error where there is a `:bootstrap_std`. Eval, model and date
are taken from the file's name.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import hashed
from evalstats.loaders.rows import Row, Said, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, day_of

_UPSTREAM: Final = "openai/simple-evals at ee3b031, simple_evals.py, common.py, healthbench_eval.py and sampler/"
_NAME: Final = re.compile(
    r"(?P<eval>(?:healthbench|mgsm|mmlu)(?:_(?:hard|consensus|meta|[A-Z]{2}-[A-Z]{2}))?|[a-z0-9]+)_(?P<model>.+?)_(?P<day>\d{8})_\d{6}"
    r"(?:_DEBUG)?(?:_allresults)?"
)
_SCORE: Final = re.compile(r"<p>Score: ([^<]*)</p>")
_WORDS: Final = {"True": 1.0, "False": 0.0}
_REFUSED: Final = "No response (bad request)."
_STATISTICS: Final = ("std", "bootstrap_std", "n_samples", "min", "max")


class _Message(Struct):
    role: Any = None
    content: Any = None


class _Metadata(Struct):
    example_level_metadata: Any = None


class _Results(Struct):
    htmls: list[str]
    convos: list[list[_Message]]
    score: Any = None
    metrics: Any = None
    metadata: _Metadata | None = None


def _rows(results: _Results, file: FormatFile[_Results]) -> Iterator[Sample]:
    run, day = _run(file)
    _publish(file, run, {**as_dict(results.metrics), "score": results.score}, day, n=len(results.htmls))
    examples = as_list(results.metadata.example_level_metadata if results.metadata else None)
    file.n_read += len(results.htmls) - 1
    for place, (html, convo) in enumerate(zip(results.htmls, results.convos, strict=False)):
        asked = [message.content for message in convo if message.role == "user"]
        about = as_dict(examples[place]) if place < len(examples) else {}
        item = as_text(about.get("prompt_id")) or (hashed(asked) if asked else None)
        locator = f"htmls[{place}]"
        if item is None:
            file.leave_out("no prompt", locator)
            continue
        shared: Row = {"run": run, "item": item, "trial": file.trial(run, item), "locator": locator}
        last = convo[-1].content if convo else None
        outcome = unscored("the request was refused", error=True) if last == _REFUSED else _score(html)
        yield shared, [("score", outcome)]


def _score(html: str) -> Said:
    said = next(reversed(_SCORE.findall(html)), "")
    score = _WORDS.get(said, as_number(said))
    return number(said or None) if score is None else score


def _metrics(metrics: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterable[Sample]:
    run, day = _run(file)
    _publish(file, run, metrics, day)
    return ()


def _run(file: FormatFile[Any]) -> tuple[str, date | None]:
    found = _NAME.fullmatch(file.source.stem)
    if found is None:
        return file.run(None), None
    return file.run(found["model"], benchmark=found["eval"]), day_of(found["day"])


def _publish(file: FormatFile[Any], run: str, metrics: dict[str, Any], day: date | None, n: int | None = None) -> None:
    for name, value in metrics.items():
        score = None if isinstance(value, bool) else as_number(value)
        if score is None or name.rpartition(":")[2] in _STATISTICS:
            continue
        stated = as_count(metrics.get(f"{name}:n_samples"))
        of_all = n if name == "score" and stated is None else stated
        file.publish(
            score, run, as_text(name) or "metric", error=metrics.get(f"{name}:bootstrap_std"), n=of_all, date=day
        )


FORMAT: Final = Format(
    name="simple-evals",
    title="simple-evals results (*_allresults.json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="simple-evals",
    harness="simple-evals",
    signs=(Sign("score metrics htmls", 0.95, shapes=OBJECT),),
    record=_Results,
    rows=_rows,
    alone=True,
    called="results",
    metrics={"score": {"primary": True}},
    failed="{n} requests were refused; they are harness errors here, and wrong answers upstream",
)

METRICS: Final = Format(
    name="simple-evals-metrics",
    title="simple-evals metrics (<eval>_<model>_<date>.json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="simple-evals",
    harness="simple-evals",
    signs=(Sign("score", 0.9, like=(r".+:(?:bootstrap_)?std",), shapes=OBJECT),),
    record=dict[str, Any],
    rows=_metrics,
    alone=True,
    called="results",
    metrics={"score": {"primary": True}},
)
