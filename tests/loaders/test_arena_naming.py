"""Answers that say which model they are from: found in every shape of conversation, and in no one else's words."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.loaders.arena_cells import names_itself, parsed_list, tells_its_name
from evalstats.loaders.registry import read

NAMES_ITSELF = (
    "I am Claude, made by Anthropic.",
    "Hello! I'm ChatGPT. How can I help?",
    "I’m Gemini.",
    "I'm an AI assistant called Claude.",
    "I am a large language model, trained by Google.",
    "I am an AI language model developed by OpenAI, so I cannot see.",
    "As a language model trained by OpenAI, I have no body.",
    "As an AI assistant created by Anthropic, I try.",
    "As ChatGPT, I have no feelings.",
    "My name is Vicuna, and I'm a language model.",
    "I'm a language model trained by researchers from LMSYS.",
    "I was developed by Mistral AI.",
    "Well, I am LLaMA, a model.",
    "Sure.\nI am DeepSeek-V3",
    "我是通义千问",
    "I'm simply ChatGPT.",
)
OTHERS = (
    "I am Claude Monet, a painter.",
    "My name is Claude Debussy.",
    "TensorFlow was developed by Google.",
    "GPT-4 was made by OpenAI; Claude by Anthropic.",
    "I am a Gemini, born in June.",
    "I am a bard, and I sing of llamas.",
    "As an AI language model, I cannot do that.",
    "As a company, OpenAI is large. Models are trained by Google.",
    "I am using ChatGPT. It is made by OpenAI.",
    "AI am Claude",
    "You are ChatGPT, a large language model trained by OpenAI.",
    "I was created by God.",
    "I'm Phi, your sister.",
    "",
)


@pytest.mark.parametrize("text", NAMES_ITSELF)
def test_first_person(text: str) -> None:
    assert tells_its_name(text)
    assert tells_its_name(f"Question? {text} And more.")


@pytest.mark.parametrize("text", OTHERS)
def test_someone_else_is_named(text: str) -> None:
    assert not tells_its_name(text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert tells_its_name(text) in {True, False}
    parsed_list(text)


def test_a_long_text_is_read_fast() -> None:
    """Sentences that begin like a name, 330 kilobytes of them, take no time that grows faster than its length."""
    assert not tells_its_name("I am an AI " * 30_000)
    assert tells_its_name("I am an AI " * 30_000 + ". I am Claude.")


def talk(*answers: object, role: str = "assistant") -> list[dict[str, object]]:
    return [{"role": "user", "content": "I am ChatGPT"}, *({"role": role, "content": answer} for answer in answers)]


PARTS = [{"type": "text", "text": "I'm ChatGPT.", "image": None}]


@pytest.mark.parametrize(
    ("conversation", "names"),
    [
        (talk("Hi", "I'm ChatGPT."), True),
        (talk("Hi"), False),
        (talk(PARTS), True),
        (talk([{"type": "image", "image": "x"}]), None),
        (talk("I'm ChatGPT.", role="system"), None),
        (talk(), None),
        ([], None),
        (None, None),
        (json.dumps(talk("I'm ChatGPT.")), True),
        (str(talk("I'm ChatGPT.")), True),
        (str(talk("Hi")), None),
        (str([{"role": "assistant", "content": "Hi"}]), False),
        ("assistant: I'm ChatGPT.", None),
        (talk("[7 chars removed]"), None),
        (talk("[7 chars removed]", "I'm ChatGPT."), True),
        (["I'm ChatGPT."], True),
        (3, None),
    ],
)
def test_conversations_of_every_shape(conversation: object, names: bool | None) -> None:
    (found,) = names_itself(pl.Series([conversation], dtype=pl.Object), plain=False)
    # A cell of text that no assistant names itself in is not parsed, and what the user says does not count.
    assert found == names or (isinstance(conversation, str) and not found and not names)
    if isinstance(conversation, str):
        assert names_itself(pl.Series([conversation]), plain=False).to_list() == [found]


@pytest.mark.parametrize(
    ("cell", "names"), [('["I am ChatGPT."]', True), ('["Hi"]', False), ("I am ChatGPT.", True), ("", None)]
)
def test_answers_of_the_one_hot_set(cell: str, names: bool | None) -> None:
    assert names_itself(pl.Series([cell]), plain=True).to_list() == [names]


VOTE: dict[str, Any] = {"id": "1", "model_a": "m", "model_b": "n", "winner": "tie"}


def test_json_csv_and_parquet_agree(tmp_path: Path) -> None:
    answers = [*NAMES_ITSELF, *(text for text in OTHERS if text)]
    records = [
        {
            **VOTE,
            "id": str(number),
            "conversation_a": talk([{"type": "text", "text": text}]),
            "conversation_b": talk(text),
        }
        for number, text in enumerate(answers)
    ]
    (tmp_path / "x.json").write_text(json.dumps(records))
    pl.DataFrame([{name: str(value) for name, value in record.items()} for record in records]).write_csv(
        tmp_path / "x.csv"
    )
    for record in records:
        record["conversation_a"] = record["conversation_a"][1:]
    pl.DataFrame(records).write_parquet(tmp_path / "x.parquet")
    expected = [True] * len(NAMES_ITSELF) + [False] * (len(answers) - len(NAMES_ITSELF))
    for name in ("x.json", "x.csv", "x.parquet"):
        data = read(tmp_path / name)
        table = data.comparisons
        assert table["names_itself_a"].to_list() == expected, name
        assert table["names_itself_b"].to_list() == expected, name
        assert not {"conversation_a", "conversation_b"} & set(table.columns)
        assert not [column for column in table.columns if "said" in column]
        assert f"in {len(NAMES_ITSELF)} votes an answer says which model or maker it is from" in str(data.problems)


def test_parquet_batches_keep_their_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstats.loaders.arena_records._PARQUET_ROWS", 2)
    texts = ["I am Claude.", "no", None, "I am ChatGPT.", "no"]
    records = [{**VOTE, "id": str(n), "response_a": text, "response_b": [text]} for n, text in enumerate(texts)]
    pl.DataFrame(records).write_parquet(tmp_path / "x.parquet")
    table = read(tmp_path / "x.parquet").comparisons
    assert table["names_itself_a"].to_list() == [True, False, None, True, False]
    assert table["names_itself_b"].to_list() == [True, False, False, True, False]


@given(st.lists(st.sampled_from([*NAMES_ITSELF, *OTHERS]), max_size=4))
def test_a_column_says_what_each_answer_does(texts: list[str]) -> None:
    answered = [tells_its_name(text) if text else None for text in texts]
    assert names_itself(pl.Series(texts, dtype=pl.String), plain=True).to_list() == answered


def test_without_conversations_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([VOTE]))
    assert not {"names_itself_a", "names_itself_b"} & set(read(tmp_path / "x.json").comparisons.columns)
