"""IFEval: whether a response follows each verifiable instruction of its prompt, strictly or by the looser reading.

The item is a digest of the prompt, since the file holds no key. Both accuracies are metrics, named as lm-evaluation-harness does:
whether all instructions were followed, and the share of them. Upstream's instruction-level accuracy pools the instructions, so
that a prompt counts as often as it has some; here every prompt counts once. The kinds of instruction are `tags`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import polars as pl
from msgspec import Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import HEADLINE, RECORDS, SHARE, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import verdict
from evalstats.loaders.rows import Row, Said, hashed, held, unscored

_READING: Final = re.compile(r"strict|loose")
_PROPORTION: Final[Row] = {**SHARE, "kind": "proportion"}


class _Response(Struct):
    prompt: str
    follow_all_instructions: Any = None
    follow_instruction_list: Any = None
    instruction_id_list: Any = None


def _grouped(files: Sequence[Path]) -> Iterator[Source]:
    """Put both readings of a run together, the strict one first."""
    together: dict[Path, list[Path]] = {}
    for path in sorted(files, reverse=True):
        together.setdefault(path.with_name(_READING.sub("", path.name)), []).append(path)
    for first, *others in together.values():
        yield Source(path=first, companions=(*others,))


def _reading(file: FormatFile[_Response]) -> str:
    found = _READING.search(file.path.name)
    return f"_{found[0]}" if found else ""


def _followed(value: object) -> Said:
    """Return whether all instructions were followed, or which share of a list."""
    if not isinstance(value, list):
        return verdict(value)
    verdicts = cast("list[object]", value)
    if verdicts and {*map(type, verdicts)} == {bool}:
        return verdicts.count(True) / len(verdicts)
    return unscored("there is no list of verdicts", held(cast("object", value)))


FORMAT: Final = Format(
    name="ifeval",
    title="IFEval results (eval_results_strict.jsonl, eval_results_loose.jsonl)",
    version="1",
    upstream="google-research/google-research at 4c42994, instruction_following_eval/evaluation_lib.py",
    benchmark="IFEval",
    harness="instruction_following_eval",
    signs=(Sign("follow_all_instructions follow_instruction_list instruction_id_list", shapes=RECORDS),),
    record=_Response,
    fields={"item": lambda response: hashed(response.prompt), "tags": "instruction_id_list"},
    scores=lambda _, file: {
        f"prompt_level{_reading(file)}_acc": "follow_all_instructions",
        f"inst_level{_reading(file)}_acc": "follow_instruction_list",
    },
    reads=_followed,
    arranged=lambda frame, file: frame.with_columns(
        trial=file.trials(frame.select("item", reading=pl.lit(_reading(file))))
    ),
    grouped=_grouped,
    called="responses",
    metrics={
        f"{level}_level{reading}_acc": {**facts, "primary": level == "prompt" and reading != "_loose"}
        for level, facts in (("prompt", HEADLINE), ("inst", _PROPORTION))
        for reading in ("", "_strict", "_loose")
    },
    counts={"{n} verdicts are missing; they are unscored": UNSCORED},
)
