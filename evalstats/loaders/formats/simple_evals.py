"""OpenAI's simple-evals: the results of one eval and model, `<eval>_<model>_<date>_allresults.json`, or its metrics alone.

An item is a digest of what the user said, or the prompt's own id (HealthBench). Scores of items stand only in the report of each
(`htmls`). A request that was refused as bad is an error, though upstream grades its empty answer. Metrics, also those of
`<eval>_<model>_<date>.json`, are published numbers, with a standard error where there is a `:bootstrap_std`. Eval, model and date
are taken from the file's name.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.format import FAILED, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Said, hashed, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, day_of, dicts, get

_NAME: Final = re.compile(
    r"(?P<eval>(?:healthbench|mgsm|mmlu)(?:_(?:hard|consensus|meta|[A-Z]{2}-[A-Z]{2}))?|[a-z0-9]+)_(?P<model>.+?)_(?P<day>\d{8})_\d{6}"
    r"(?:_DEBUG)?(?:_allresults)?"
)
_SCORE: Final = re.compile(r"<p>Score: ([^<]*)</p>")
_WORDS: Final = {"True": 1.0, "False": 0.0}
_REFUSED: Final = "No response (bad request)."
_STATISTICS: Final = ("std", "bootstrap_std", "n_samples", "min", "max")


def _rows(results: dict[str, Any], file: FormatFile[Any]) -> Iterator[Sample]:
    """Return the scores of items, where the file has a report of each; publish the metrics."""
    found = _NAME.fullmatch(file.source.stem)
    run = file.run(found["model"], benchmark=found["eval"]) if found else file.run(None)
    htmls, day = as_list(results.get("htmls")), day_of(found["day"]) if found else None
    metrics = {**as_dict(results.get("metrics")), "score": results.get("score")} if htmls else results
    for name, value in metrics.items():
        score = None if isinstance(value, bool) else as_number(value)
        if score is not None and name.rpartition(":")[2] not in _STATISTICS:
            of_all = len(htmls) if htmls and name == "score" else None
            stated = as_count(metrics.get(f"{name}:n_samples"))
            error = metrics.get(f"{name}:bootstrap_std")
            file.publish(
                score, run, as_text(name) or "metric", error=error, n=of_all if stated is None else stated, date=day
            )
    examples = as_list(get(results, "metadata", "example_level_metadata"))
    file.n_read += max(len(htmls) - 1, 0)
    for place, (html, convo) in enumerate(zip(htmls, as_list(results.get("convos")), strict=False)):
        messages, about = [*dicts(convo)], as_dict(examples[place]) if place < len(examples) else {}
        asked = [message.get("content") for message in messages if message.get("role") == "user"]
        item = as_text(about.get("prompt_id")) or (hashed(asked) if asked else None)
        locator = f"htmls[{place}]"
        if item is None:
            file.leave_out("no prompt", locator)
            continue
        refused = bool(messages) and messages[-1].get("content") == _REFUSED
        outcome = unscored("the request was refused", error=True) if refused else _score(as_text(html) or "")
        yield {"run": run, "item": item, "locator": locator}, [("score", outcome)]


def _score(html: str) -> Said:
    said = next(reversed(_SCORE.findall(html)), "")
    score = _WORDS.get(said, as_number(said))
    return number(said or None) if score is None else score


FORMAT: Final = Format(
    name="simple-evals",
    title="simple-evals results (*_allresults.json, <eval>_<model>_<date>.json)",
    version="1",
    upstream="openai/simple-evals at ee3b031, simple_evals.py, common.py, healthbench_eval.py and sampler/",
    benchmark="simple-evals",
    harness="simple-evals",
    signs=(
        Sign("score metrics htmls", 0.95, shapes=OBJECT),
        Sign("score", 0.9, like=(r".+:(?:bootstrap_)?std",), shapes=OBJECT),
    ),
    record=dict[str, Any],
    rows=_rows,
    at=(".",),
    called="results",
    repeated=True,
    metrics={"score": {"primary": True}},
    counts={"{n} requests were refused; they are harness errors here, and wrong answers upstream": FAILED},
)
