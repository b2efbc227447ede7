"""CRUXEval: generations for every item, each of which was right or wrong.

A generation is a trial of metric `correct`. The task is what was predicted, input or output; it, the model and the temperature
stand in the file's name alone (`sample_scored_<model>_temp<T>_<task>.json`).
"""

from typing import Any, Final

from evalstats.loaders.format import HEADLINE, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_number

_NAME: Final = (
    r"(?:sample_scored_)?(?P<model>[^/]+?)(?:_temp(?P<temperature>\d+(?:\.\d+)?))?_(?P<task>input|output)(?P<cot>_cot)?"
)
_SCORED: Final = "raw_scored_generations"
_PUBLISHED: Final = ("pass_at_1", "pass_at_5", "pass_at_10")


def _about(file: FormatFile[Any]) -> Row:
    named = file.path_says(_NAME)
    model, temperature = named.get("model"), as_number(named.get("temperature"))
    known: Row = {"model": model, "task": named.get("task"), "temperature": temperature}
    system = {"system": f"{model} (CoT)"} if "cot" in named else {}
    return {**known, **system, "config": {name: as_number(file.members.get(name)) for name in _PUBLISHED}}


FORMAT: Final[Format[Any]] = Format(
    name="cruxeval",
    title="CRUXEval scored generations (sample_scored_*.json)",
    version="2",
    upstream="facebookresearch/cruxeval at 190faf1, evaluation/evaluate_generations.py",
    benchmark="CRUXEval",
    harness="CRUXEval",
    signs=(Sign(some=f"{_SCORED} raw_generations", confidence=0.95, shapes=("object", "lines")),),
    about=_about,
    at=(f"{_SCORED}.*",),
    keep=_PUBLISHED,
    fields={"item": "key"},
    scores={"correct": "value[]"},
    called="items",
    metrics={"correct": HEADLINE},
    counts={"{n} tries have no verdict (true or false) and are unscored": UNSCORED},
)
