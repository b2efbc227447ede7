"""IFEval: whether a response follows each verifiable instruction of its prompt, strictly or by the looser reading.

The item is a digest of the prompt, since the file holds no key. Both accuracies are metrics, named as lm-evaluation-harness does:
whether all instructions were followed, and the share of them. Upstream's instruction-level accuracy pools the instructions, so
that a prompt counts as often as it has some; here every prompt counts once. The kinds of instruction are `tags`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import verdict
from evalstats.loaders.records import hashed
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_list, as_text

_READING: Final = re.compile(r"strict|loose")
_SHARE: Final[Row] = {"kind": "proportion", "low": 0.0, "high": 1.0, "unit": "proportion"}
_ALL: Final[Row] = {"kind": "binary", "low": 0.0, "high": 1.0, "unit": "proportion"}


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


def _rows(record: _Response, file: FormatFile[_Response]) -> Iterator[Sample]:
    found = _READING.search(file.path.name)
    reading = f"_{found[0]}" if found else ""
    item = hashed(record.prompt)
    common: Row = {"run": file.run(None), "item": item, "trial": file.trial(reading, item)}
    common["tags"] = [name for part in as_list(record.instruction_id_list) if (name := as_text(part))]
    followed = as_list(record.follow_instruction_list)
    if followed and all(isinstance(one, bool) for one in followed):
        share: Said = followed.count(True) / len(followed)
    else:
        share = unscored("there is no list of verdicts", held(record.follow_instruction_list))
    yield (
        common,
        [
            (f"prompt_level{reading}_acc", verdict(record.follow_all_instructions)),
            (f"inst_level{reading}_acc", share),
        ],
    )


FORMAT: Final = Format(
    name="ifeval",
    title="IFEval results (eval_results_strict.jsonl, eval_results_loose.jsonl)",
    version="1",
    upstream="google-research/google-research at 4c42994, instruction_following_eval/evaluation_lib.py",
    benchmark="IFEval",
    harness="instruction_following_eval",
    signs=(Sign("follow_all_instructions follow_instruction_list instruction_id_list", shapes=RECORDS),),
    record=_Response,
    rows=_rows,
    grouped=_grouped,
    called="responses",
    metrics={
        f"{level}_level{reading}_acc": {**facts, "primary": level == "prompt" and reading != "_loose"}
        for level, facts in (("prompt", _ALL), ("inst", _SHARE))
        for reading in ("", "_strict", "_loose")
    },
    unscored="{n} verdicts are missing; they are unscored",
)
