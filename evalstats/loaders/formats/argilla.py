"""Argilla: records with the responses of annotators and the suggestions of models, all of them ratings.

The record is the item and the question the criterion. A response is a person's rating, a suggestion that of its agent, a judge.
Records are written nested (`to_json`) or flat (`to_datasets`, and what the Hub holds), where `<question>.responses` lists the
answers and `.users` and `.status` who gave them and how; discarded and draft ones do not count. Texts, spans and rankings are no
ratings.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.files import cell_value
from evalstats.loaders.format import JSON, RECORDS, TABLE, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text

_UPSTREAM: Final = "argilla-io/argilla at 0991739, argilla/src/argilla/records/_resource.py and _io/_generic.py"
_RESPONSES: Final = ".responses"
_SUGGESTION: Final = ".suggestion"
_MODELS: Final = ("model", "model_name", "generation_model")
_UNSUBMITTED: Final = "{n} responses are drafts or were discarded, not ratings"


class _Response(Struct):
    value: Any = None
    user_id: Any = None


class _Suggestion(Struct):
    value: Any = None
    agent: Any = None


class _Record(Struct):
    id: Any
    responses: dict[str, list[_Response]] | None = None
    suggestions: dict[str, _Suggestion] | None = None
    metadata: Any = None


def _nested(record: _Record, file: FormatFile[_Record]) -> Iterable[Sample]:
    item, model = _begin(file, record.id, as_dict(record.metadata))
    for question, responses in (record.responses or {}).items() if item else ():
        for response in responses:
            _rate(file, item, question, response.value, who=response.user_id, kind="human", model=model)
    for question, suggestion in (record.suggestions or {}).items() if item else ():
        _rate(file, item, question, suggestion.value, who=suggestion.agent, kind="judge", model=model)
    return ()


def _flat(record: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterable[Sample]:
    item, model = _begin(file, record.get("id"), record)
    for name, value in record.items() if item else ():
        question, cell = name.removesuffix(_RESPONSES), cell_value(value)
        if name.endswith(_RESPONSES):
            users = as_list(cell_value(record.get(f"{name}.users")))
            states = as_list(cell_value(record.get(f"{name}.status")))
            for place, answer in enumerate(as_list(cell)):
                if place < len(states) and as_text(states[place]) not in {"submitted", None}:
                    file.count(_UNSUBMITTED)
                    continue
                who = users[place] if place < len(users) else None
                _rate(file, item, question, answer, who=who, kind="human", model=model)
        elif name.endswith(_SUGGESTION) and cell is not None:
            agent = record.get(f"{name}.agent")
            _rate(file, item, name.removesuffix(_SUGGESTION), cell, who=agent, kind="judge", model=model)
    return ()


def _begin(file: FormatFile[Any], identity: object, metadata: Row) -> tuple[str, str | None]:
    file.no_model_run()
    item = as_text(identity)
    if not item:
        file.leave_out("no id")
    return item or "", next((name for key in _MODELS if (name := as_text(metadata.get(key)))), None)


def _rate(
    file: FormatFile[Any], item: str, question: str, value: object, *, who: object, kind: str, model: str | None
) -> None:
    rater = as_text(who) or ("annotator" if kind == "human" else "suggestion")
    file.rate(item, question, value, rater=rater, rater_kind=kind, model=model)


FORMAT: Final = Format(
    name="argilla",
    title="Argilla records (to_json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="Argilla",
    harness="Argilla",
    signs=(Sign("id fields responses suggestions", 0.9, some="metadata vectors _server_id status", shapes=JSON),),
    record=_Record,
    rows=_nested,
)

FLAT: Final = Format(
    name="argilla-flat",
    title="Argilla records as a table (to_datasets, the Hub)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="Argilla",
    harness="Argilla",
    signs=(Sign("id", 0.9, like=(r".+\.responses", r".+\.responses\.users"), shapes=(*RECORDS, *TABLE)),),
    record=dict[str, Any],
    rows=_flat,
)
