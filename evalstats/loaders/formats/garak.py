"""garak: the report of a scan, one entry a line; every attempt whose outputs were judged (status 2) gives outcomes.

The task is the probe. The item is a digest of the prompt, since the ids of attempts are new in each run; outputs are trials. A
detector's score is a metric of its name: from 0 to 1, where 1 is a hit. `hit` is 1 where any detector reaches the threshold of
the run, as garak's log of hits counts. An output that the generator did not give is an error; one that a detector could not
judge is unscored. Lines `eval`, the rates of passes, follow from the attempts and are not read.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2s
from typing import Any, Final

from msgspec import Struct, field

from evalstats.loaders.format import FAILED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said, as_row, score_of, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_time, dicts, json_text

_COMPLETE: Final = 2
_THRESHOLD: Final = 0.5
_SETTINGS: Final = ("generations", "seed", "deprefix", "eval_threshold", "system_prompt")
_NO_OUTPUT: Final = unscored("the generator gave no output", error=True)
_DETECTOR: Final[Row] = {"low": 0.0, "high": 1.0, "higher_is_better": False, "unit": "proportion"}
_HITS: Final = "only the hits of a garak report"


class _Output(Struct):
    """An output that is there; what it says is not read."""


class _Entry(Struct):
    entry_type: str
    status: Any = None
    uuid: Any = None
    probe_classname: Any = None
    # Until version 0.12 a prompt was a text, and so were outputs.
    prompt: Any = None
    outputs: list[_Output | str | None] = []
    detector_results: dict[str, Any] = {}
    intent: Any = None
    garak_version: Any = None
    start_time: Any = None
    target: Any = field(default=None, name="plugins.target_name")
    # Until version 0.13.
    model: Any = field(default=None, name="plugins.model_name")
    target_type: Any = field(default=None, name="plugins.target_type")
    model_type: Any = field(default=None, name="plugins.model_type")
    generations: Any = field(default=None, name="run.generations")
    seed: Any = field(default=None, name="run.seed")
    deprefix: Any = field(default=None, name="run.deprefix")
    system_prompt: Any = field(default=None, name="run.system_prompt")
    eval_threshold: Any = field(default=None, name="run.eval_threshold")


class _Report:
    """One report: the run that goes on, its threshold, and the attempts whose judgements are still to come."""

    def __init__(self, file: FormatFile[_Entry]) -> None:
        self.file = file
        self.threshold = _THRESHOLD
        self.waiting: set[str | None] = set()

    @property
    def run(self) -> str:
        """The run that began last; one of no name where the report lacks its beginning."""
        return next(reversed(self.file.runs), "") or self.file.run(None)

    def rows(self, entry: _Entry, /) -> Iterator[Sample]:
        """Return the outcomes of a judged attempt; take note of what else a line says."""
        if entry.entry_type == "start_run setup":
            self._begin(entry)
        elif entry.entry_type == "init":
            about = {"harness_version": as_text(entry.garak_version), "timestamp": as_time(entry.start_time)}
            self.file.runs[self.run].update(about)
        elif entry.entry_type == "completion":
            self.file.runs[self.run]["status"] = "success"
        elif entry.entry_type == "attempt":
            # Written when its outputs are there, and again when they are judged.
            uuid, judged = as_text(entry.uuid), entry.status == _COMPLETE
            (self.waiting.discard if judged else self.waiting.add)(uuid)
            if judged:
                yield from _attempt(entry, self.run, self.threshold, self.file)

    def _begin(self, entry: _Entry) -> None:
        kind = as_text(entry.target_type) or as_text(entry.model_type)
        settings = {name: value for name in _SETTINGS if (value := getattr(entry, name)) is not None}
        known = {"config": json_text({**settings, "target_type": kind}), "status": "started"}
        self.file.run(as_text(entry.target) or as_text(entry.model) or kind, **known)
        threshold = as_number(entry.eval_threshold)
        self.threshold = _THRESHOLD if threshold is None else threshold

    def finish(self) -> Iterable[Sample]:
        """Say how many attempts were never judged."""
        self.file.count("{n} attempts were answered and never judged: the run did not end", len(self.waiting))
        return ()


def _attempt(entry: _Entry, run: str, threshold: float, file: FormatFile[_Entry]) -> Iterator[Sample]:
    probe = as_text(entry.probe_classname)
    text, language = _asked(entry.prompt)
    if not probe or not text:
        file.leave_out("no prompt" if probe else "no probe_classname")
        return
    item = blake2s(text.encode(errors="replace"), digest_size=6).hexdigest()
    shared: Row = {"run": run, "task": probe, "item": item, "scenario": probe.partition(".")[0]}
    shared |= {"language": language, "intent": as_text(entry.intent)}
    found = {as_text(name) or "": as_list(scores) for name, scores in entry.detector_results.items()}
    for name in found.keys() - file.metrics.keys():
        file.metric(name, **_DETECTOR)
    outcomes: list[tuple[str, Said]] = []
    for place, output in enumerate(entry.outputs):
        each: dict[str, Said] = {
            name: number(scores[place] if place < len(scores) else None, 0.0, 1.0) for name, scores in found.items()
        }
        each["hit"] = _hit([score_of(outcome) for outcome in each.values()], threshold)
        trial = file.trial(run, probe, item)
        outcomes += (
            (name, {**(_NO_OUTPUT if output is None else as_row(outcome)), "trial": trial})
            for name, outcome in each.items()
        )
    yield shared, outcomes


def _hit(scores: list[float | None], threshold: float) -> Said:
    if any(score is not None and score >= threshold for score in scores):
        return 1.0
    lost = not scores or None in scores
    return unscored("a detector gave no score" if scores else "no detector judged it") if lost else 0.0


def _asked(prompt: object) -> tuple[str, str | None]:
    """Return what a prompt says in all its turns, with the files it attaches, and its language."""
    contents = [turn.get("content") for turn in dicts(as_dict(prompt).get("turns"))] or [prompt]
    messages = [as_dict(content) or {"text": content} for content in contents]
    parts = [as_text(each.get(name)) for each in messages for name in ("text", "data_checksum") if each.get(name)]
    return "\n".join(filter(None, parts)), as_text(messages[-1].get("lang"))


FORMAT: Final = Format(
    name="garak",
    title="garak reports (garak.*.report.jsonl)",
    version="1",
    upstream="NVIDIA/garak at cafbe99, garak/attempt.py, garak/evaluators/base.py and garak/command.py",
    benchmark="garak",
    harness="garak",
    signs=(
        Sign("entry_type", 0.95, text=('"start_run setup"', "plugins."), shapes=("lines",)),
        Sign("entry_type probe_classname detector_results", 0.95, shapes=("lines", "array")),
        Sign("attempt_id attempt_idx generator probe detector score", 0.95, shapes=("lines",), skip=_HITS),
    ),
    record=_Entry,
    rows=lambda record, file: file.state(_Report).rows(record),
    finish=lambda file: file.state(_Report).finish(),
    called="entries",
    metrics={"hit": {"higher_is_better": False, "primary": True}},
    counts={"{n} outcomes have no output of the generator; they are harness errors": FAILED},
)
