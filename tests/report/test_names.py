"""Long names: short on the page, still two, and in full once."""

import string
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evalstats.report import method
from evalstats.report.comparison import open_page
from evalstats.report.names import LONGEST, page_names, short_pair, shortened, with_names

LOGS = (
    "2026-11-21T20-47-08-00-00_demo_3Y3vCGWR9ByZMKwScuEudt.eval",
    "2026-11-21T20-47-09-00-00_demo_U5eSAr7uygaYXbf63esKAH.json",
)


def test_names_of_models_stay_whole() -> None:
    assert shortened("meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo") == "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo"


def test_both_ends_of_a_file_name_stay() -> None:
    assert short_pair(*LOGS) == ("2026-11-21T20-4…KwScuEudt.eval", "2026-11-21T20-4…bf63esKAH.json")


@given(st.text(string.ascii_letters, max_size=120), st.text(string.ascii_letters, max_size=120))
def test_two_names_stay_two_and_short(first: str, second: str) -> None:
    for a, b in (
        (first, second),
        ("x" * 60 + first, "x" * 60 + second),
        (f"x{first}" + "y" * 60, f"x{second}" + "y" * 60),
    ):
        short = short_pair(a, b)
        assert max(map(len, short)) <= LONGEST
        assert (short[0] == short[1]) is False or a == b


def test_a_shortened_name_is_short_in_every_sentence_and_whole_in_the_provenance() -> None:
    page = open_page()
    long = replace(
        page.comparison,
        baseline=replace(page.comparison.baseline, name=LOGS[0]),
        candidate=replace(page.comparison.candidate, name=LOGS[1]),
        benchmark="b" * 80,
        warnings=(f"{LOGS[1]}: 1 row is a harness error",),
        notes=(f"{LOGS[0]}: a note",),
    )
    names = page_names(long)
    short = with_names(long, names)
    assert short.warnings == ("2026-11-21T20-4…bf63esKAH.json: 1 row is a harness error",)
    assert short.notes == ("2026-11-21T20-4…KwScuEudt.eval: a note",)
    assert short.benchmark == "b" * 15 + "…" + "b" * 14
    text = method.provenance(replace(page, comparison=short, full_names=tuple((b, a) for a, b in names.items())))
    for name in (*LOGS, "b" * 80):
        assert f"is {name}<" in text


def test_short_names_change_nothing() -> None:
    result = open_page().comparison
    assert page_names(result) == {}
    assert with_names(result, {}) is result
