"""Names of models: joined where they are the same or declared to be, proposed where they only look alike."""

import string

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.gap.model_names import MAX_NAMES, match_models, near_names, normalised
from evalstats.errors import InputError
from tests.analysis.gap.notes import lines_of


def test_the_same_string_joins_and_nothing_else_does():
    match = match_models(["a", "B", "gpt-4"], ["b", "a", "gpt-4o"], None)
    assert match.pairs == (("a", "a"),)
    assert match.shared == ("a",)
    assert match.by_alias == ()
    assert match.only_lab == ("B", "gpt-4")
    assert match.only_live == ("b", "gpt-4o")


@pytest.mark.parametrize(
    ("aliases", "shared"),
    [({"x-lab": "x-live"}, "x-live"), ({"x-live": "x-lab"}, "x-lab"), ({"x-lab": "X", "x-live": "X"}, "X")],
)
def test_an_alias_holds_for_either_side_and_may_lead_both_to_a_third_name(aliases, shared):
    match = match_models(["x-lab"], ["x-live"], aliases)
    assert match.pairs == match.by_alias == (("x-lab", "x-live"),)
    assert match.shared == (shared,)
    assert match.only_lab == match.only_live == match.near == match.notes == ()


def test_swapping_the_sides_swaps_the_pairs():
    lab, live = ["a", "m-1", "Yi Large", "q"], ["yi-large", "m-one", "a", "Q", "z"]
    there, back = match_models(lab, live, {"m-1": "m-one"}), match_models(live, lab, {"m-1": "m-one"})
    assert set(there.pairs) == {(one, other) for other, one in back.pairs}
    assert set(there.near) == {(one, other) for other, one in back.near}
    assert (there.only_lab, there.only_live) == (back.only_live, back.only_lab)


def test_the_order_of_the_names_changes_only_the_order_of_the_pairs():
    lab = ["Llama-3-8B-Instruct", "gpt-4-0314", "claude-3-opus-20240229", "b", "a"]
    live = ["a", "gpt-4", "claude-3-opus", "llama-3-8b-instruct", "gpt-4-0613"]
    one = match_models(lab, live, None)
    other = match_models(lab[::-1], live[::-1], None)
    assert set(one.pairs) == set(other.pairs)
    assert one.near == other.near


def test_two_names_of_a_side_that_become_one_are_refused_by_name():
    with pytest.raises(InputError, match=r"'gpt-x-0613' and 'gpt-x', both of the lab"):
        match_models(["gpt-x-0613", "gpt-x"], ["gpt-x"], {"gpt-x-0613": "gpt-x"})
    with pytest.raises(InputError, match=r"'a' and 'b', both of the live side \('c'\)"):
        match_models(["c"], ["a", "b"], {"a": "c", "b": "c"})
    with pytest.raises(InputError, match="the live side has the model 'a' twice"):
        match_models(["a"], ["a", "a"], None)
    with pytest.raises(InputError, match="which has an alias itself"):
        match_models(["a"], ["b"], {"a": "b", "b": "c"})


def test_aliases_that_do_nothing_are_told():
    match = match_models(["a"], ["b"], {"nobody": "b", "a": "A"})
    first, second = match.notes
    assert first.kind == second.kind == "choice"
    assert "nobody" in first.text
    assert "a (to be A)" in second.text


@pytest.mark.parametrize(
    ("lab", "live", "why"),
    [
        ("Qwen1.5-72B-Chat", "qwen1.5_72b chat", "case, separators"),
        ("openai/gpt-4", "gpt-4", "vendor"),
        ("gpt-4o", "gpt-4o-2024-05-13", "date 20240513"),
        ("gpt-4o", "GPT-4o-20240513", "date 20240513"),
        ("GPT-4o (2024-05-13)", "gpt-4o", "date 20240513"),
        ("gpt-4", "gpt-4-0613", "date 0613"),
        ("mistral-large-2407", "Mistral-Large", "date 2407"),
        ("gpt-4-0125-preview", "gpt-4", "date 0125"),
        ("gemini-1.5-pro-latest", "gemini-1.5-pro", "ending"),
        ("llama-2-70b-chat-hf", "llama-2-70b", "ending"),
        ("Llama3-Instruct-8B", "llama-3-8b-instruct", "order"),
        ("Claude 3.5 Sonnet", "claude-3-5-sonnet-20241022", "date 20241022"),  # as one vendor writes its versions
        ("gpt-4-0314", "gpt-4-0613", "other dates: 0314 and 0613"),
        ("Mistral-Nemo-Inst", "mistral-nemmo", "may well be another model"),
    ],
)
def test_near_names_are_proposed_with_what_differs_and_not_joined(lab, live, why):
    match = match_models([lab, "unrelated"], ["different entirely", live], None)
    assert match.pairs == ()
    assert match.near == ((lab, live),)
    assert why in match.near_why[0]


@pytest.mark.parametrize(
    ("lab", "live"),
    [
        ("gpt-4", "gpt-4o"),
        ("gpt-4", "gpt-3.5"),
        ("llama-2-7b", "llama-2-70b"),
        ("gemma-2b-it", "gemma-7b-it"),
        ("claude-2.1", "claude-3.1"),
        ("command-r", "dolly"),
    ],
)
def test_other_sizes_and_versions_are_not_proposed(lab, live):
    assert match_models([lab], [live], None).near == ()


def test_the_likest_goes_first_and_a_name_stands_in_one_proposal():
    match = match_models(["gpt-x", "Mixtral", "gpt-x-instruct"], ["gpt-x-0613", "GPT-X", "mixtral-"], None)
    assert match.near[:2] == (("Mixtral", "mixtral-"), ("gpt-x", "GPT-X"))
    assert len(match.near) == len({lab for lab, _ in match.near}) == len({live for _, live in match.near})


def test_no_more_than_some_hundreds_are_kept():
    names = [f"Model-{one}{other}" for one in string.ascii_lowercase for other in string.ascii_lowercase]
    match = match_models(names, [name.lower() for name in names], None)
    assert len(match.near) == len(match.near_why) == 500
    assert lines_of(match.notes, "choice") == "676 names look like one of the other side; the likest 500 are shown."


def test_very_many_names_are_compared_in_spelling_only():
    generator = np.random.default_rng(1)
    names = ["".join(letters) for letters in generator.choice(list(string.ascii_lowercase), (MAX_NAMES + 1, 12))]
    match = match_models(names, [names[0].upper(), names[1] + "x"], None)
    assert match.near == ((names[0], names[0].upper()),)
    assert "ore than 2000 names are left over" in match.notes[-1].line


def test_odd_names_are_survived():
    odd = ["", "-", "/", "a/", "é", "模型-7b", "x" * 100_000, "20240513", "-latest"]
    assert match_models(odd, odd, None).pairs == tuple((name, name) for name in odd)
    assert near_names(odd, ["", "latest", "y" * 100_000]) == near_names(odd, ["latest", "y" * 100_000, ""])


def test_normalised_names_join_the_published_tables(shared_data):
    # 39 models is the number that the comparison of AlpacaEval with the arena's own intervals rests on.
    lab = pl.read_csv(shared_data / "alpaca_eval" / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")[""].to_list()
    live = pl.read_csv(shared_data / "arena_scores" / "fboulnois-csv" / "lmarena_text.csv")["model"].to_list()
    assert len({normalised(name) for name in lab}) == len(lab)
    assert len({normalised(name) for name in lab} & {normalised(name) for name in live}) == 39


def test_real_tables_get_their_spelling_proposed(shared_data):
    folder = shared_data / "benchbench" / "benchmarks"
    lab = pl.read_csv(folder / "arena_hard_240829_holistic.csv")["model"].to_list()
    live = pl.read_csv(folder / "chatbot_arena_241104_holistic.csv")["model"].to_list()
    match = match_models(lab, live, None)
    assert len(match.pairs) == len(set(lab) & set(live))
    assert ("Starling-LM-7B-beta", "starling-lm-7b-beta") in match.near
