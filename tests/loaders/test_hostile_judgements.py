"""Files with the right names and any values: they are read or refused in words, and no draw is made of what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders import (
    alpaca_eval,
    arena_votes,
    every_eval_ever,
    helm,
    judge_benchmarks,
    judged_games,
    leaderboards,
    mmlu_pro,
    mt_bench_single,
    wildbench,
)
from evalstats.loaders.base import Loader, Source, with_digest
from evalstats.loaders.registry import read_source

# Each example is written, read and checked; more were run when the loaders were made.
N = 15
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
WORDS = st.sampled_from(["model_a", "A>B", "B>>A", "x", "y", "error", "model_1", "left", "nan", "1.7", "+5/-5"])
VALUES = st.recursive(
    SCALARS | WORDS,
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["score", "choice", "rating", "x"]), part)
    ),
    max_leaves=5,
)
FORMATS: dict[str, tuple[Loader, tuple[str, ...]]] = {
    "votes": (arena_votes.LOADER, ("model_a", "model_b", "winner", "tstamp", "conversation_a", "turn", "judge")),
    "events": (arena_votes.LOADER, ("models", "winner", "ranking", "event_id")),
    "single": (mt_bench_single.LOADER, ("question_id", "model", "judge", "turn", "score", "judgment", "tstamp")),
    "judgebench": (judge_benchmarks.JUDGEBENCH, ("pair_id", "response_A", "response_B", "label", "judgments")),
    "llmbar": (judge_benchmarks.LLMBAR, ("input", "output_1", "output_2", "label", "results")),
    "mmlu": (
        mmlu_pro.LOADER,
        ("question_id", "options", "answer", "answer_index", "category", "pred", "model_outputs"),
    ),
    "alpaca": (alpaca_eval.LOADER, ("generator_1", "generator_2", "preference", "instruction", "annotator", "len_1")),
    "hard": (judged_games.ARENA_HARD, ("uid", "model", "games", "baseline", "judge", "category")),
    "mt": (judged_games.MT_BENCH, ("question_id", "model_1", "model_2", "g1_winner", "g2_winner", "turn", "tstamp")),
    "wild": (wildbench.LOADER, ("session_id", "model_A", "model_B", "winner", "extent", "parsed_result")),
    "score": (wildbench.LOADER, ("session_id", "model_test", "score", "judge")),
    "eee": (
        every_eval_ever.LOADER,
        ("sample_id", "evaluation_id", "model_id", "evaluation_name", "evaluation", "error"),
    ),
    "helm": (helm.LOADER, ("instance_id", "stats", "train_trial_index", "perturbation")),
}


def write_and_read(loader: Loader, path: Path, content: object) -> object:
    path.write_text(json.dumps(content))
    try:
        return read_source(loader, with_digest(Source(path=path)))
    except UnreadableFileError as error:
        told = str(error)
    assert path.name in told
    assert "could not be read by" not in told, "a fault that the loader did not foresee"
    return None


@pytest.mark.parametrize("name", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=N)
@given(data=st.data())
def test_any_values_are_read_or_refused_in_words(tmp_path: Path, name: str, data: st.DataObject) -> None:
    loader, keys = FORMATS[name]
    whole = st.fixed_dictionaries(dict.fromkeys(keys, VALUES))
    records = data.draw(st.lists(whole | st.dictionaries(st.sampled_from(keys), VALUES), min_size=1, max_size=4))
    read = write_and_read(loader, tmp_path / f"{name}.json", records)
    if read is None:
        return
    table: Any = read.comparisons
    for row in table.iter_rows(named=True):
        assert (row["outcome"] is None) == (row["status"] == "unscored")
        assert row["model_a"] != row["model_b"] or row["outcome"] is None
        if row["outcome"] == "tie":
            assert row["value_raw"] in {"A=B", "tie", "0", "1.5", "B=A"} or name == "events"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=N)
@given(data=st.data())
def test_any_leaderboard_is_read_or_refused_in_words(tmp_path: Path, data: st.DataObject) -> None:
    record = st.dictionaries(
        st.sampled_from(
            ["rating", "rating_q975", "rating_q025", "avg", "std", "ci", "reward", "win_much", "lose_much", "score"]
        ),
        VALUES,
    )
    inner = st.dictionaries(st.sampled_from(["m", "n", "config", "elo_stat", "models"]), record | VALUES)
    content = data.draw(
        st.dictionaries(st.sampled_from(["full", "config", "elo_stat", "models", "timestamp"]), inner | VALUES)
    )
    read = write_and_read(leaderboards.LOADER, tmp_path / "x.json", content)
    if read is not None:
        table: Any = read.aggregates
        assert table["estimate"].null_count() == 0
        widths = (table["conf_high"] - table["conf_low"]).drop_nulls()
        assert (widths > 0).all()
