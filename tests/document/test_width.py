"""No text from a file reaches the terminal with a sign that the terminal would obey."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document.escape import cell_width, clean, kept_apart, padded, shorten, wrapped
from evalstats.document.latex import to_latex
from evalstats.document.model import Column, Document, Table
from evalstats.document.names import named, told
from evalstats.document.terminal import table_text, to_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # surrogates and controls included


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpt-4o (2024-08)", "gpt-4o (2024-08)"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),  # the one-byte form of ESC [
        ("a\nb\r\tc\x00\x7f", r"a\nb\r\tc\x00\x7f"),
        ("\u202egpt\u2066x\u200e", r"\u202egpt\u2066x\u200e"),
        ("a\u200bb\ufeff\u00ad", r"a\u200bb\ufeff\xad"),  # looks like "ab"
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("\udcff", r"\udcff"),  # a byte of a path that is no Unicode
        ("x\U000e0041", r"x\U000e0041"),  # an invisible tag
        ("模型 é ñ \U0001f469\u200d\U0001f680 می\u200cخواهم", "模型 é ñ \U0001f469\u200d\U0001f680 می\u200cخواهم"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(ANY_TEXT)
def test_cleaned_text_is_one_line_and_can_be_encoded(text: str) -> None:
    result = clean(text)
    result.encode("utf-8")
    assert len(result.splitlines()) <= 1
    joiners = "\u200c\u200d"
    assert not [sign for sign in result if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in joiners]
    assert clean(result) == result


@given(ANY_TEXT, st.integers(min_value=1, max_value=40))
def test_padded_text_takes_exactly_its_cells(text: str, width: int) -> None:
    assert cell_width(shorten(text, width)) <= width
    assert cell_width(padded(text, width)) == width


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "a…d"),
        ("abcdef", 4, "ab…f"),
        ("abcd", 2, "a…"),
        ("abcd", 1, "…"),
        ("模型模", 6, "模型模"),
        ("模型名", 5, "模…名"),
        ("模型名", 4, "模…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("\x1b\x1b", 5, r"\x…1b"),
    ],
)
def test_shorten(text: str, width: int, expected: str) -> None:
    assert shorten(text, width) == expected


def test_two_long_names_that_differ_at_the_end_stay_different() -> None:
    one, other = (shorten(f"{'results-of-a-run-' * 5}~{digest}", 30) for digest in ("1a2b3c4d", "5e6f7a8b"))
    assert one.endswith("~1a2b3c4d")
    assert other.endswith("~5e6f7a8b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("one", ["one"]),
        ("one two three", ["one two", "  three"]),
        ("  one two three", ["  one two", "  three"]),
        ("a/long/path/that/stays/whole b", ["a/long/path/that/stays/whole", "  b"]),
        ("模型 模型 模型", ["模型 模型", "  模型"]),
        ("a\nb", [r"a\nb"]),
    ],
)
def test_wrapped(text: str, expected: list[str]) -> None:
    assert wrapped(text, 10) == expected


@given(st.text("ab 模", max_size=60), st.integers(min_value=3, max_value=40))
def test_wrapping_breaks_at_blanks_only(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(cell_width(line) <= width or " " not in line.strip() for line in lines)


MODELS = ["Qwen1.5-72B-Chat", "Qwen1.5-72B-Chat-greedy", "gemma-7b-it", "gemma-2b-it"]
RUNS = [f"scores_long.v2.{judge}.{model}~bc353ae9" for judge in ("0522.gpt-4-turbo", "0625.gpt-4o") for model in MODELS]


@pytest.mark.parametrize("width", range(20, 40, 4))
def test_what_all_runs_of_a_file_agree_in_is_cut_before_their_models(width: int) -> None:
    short = kept_apart(RUNS, width)
    assert len(set(short.values())) == len(RUNS)
    for name, cut in short.items():
        assert "bc353ae9" not in cut
        assert "scores_long" not in cut
        # Every part that is left can be searched for.
        assert all(part in name for part in cut.split("…"))
        assert width < 36 or cut.endswith(name.removesuffix("~bc353ae9")[-16:] + "…")


def test_what_a_short_name_ends_in_stays() -> None:
    assert kept_apart(["a~bc353ae9", "b~bc353ae9"], 12) == {"a~bc353ae9": "a~bc353ae9", "b~bc353ae9": "b~bc353ae9"}
    assert kept_apart(["model-a~bc353ae9", "model-b~0c353ae9"], 12) == {
        "model-a~bc353ae9": "…a~bc353ae9",
        "model-b~0c353ae9": "…b~0c353ae9",
    }


def test_a_table_that_is_too_wide_is_set_in_parts_and_no_number_or_verdict_is_cut() -> None:
    columns = [Column(title=f"Number {place}", kind="interval") for place in range(4)]
    table = Table(
        id="t",
        columns=(Column(title="Model", kind="name"), *columns, Column(title="Verdict", kind="verdict")),
        rows=tuple((name, *[(-10.5, 20.25)] * 4, "not separated") for name in MODELS),
    )
    text = table_text(table, width=50)
    assert max(map(cell_width, text.splitlines())) <= 50
    assert text.count("−10.5 to 20.2") == 4 * len(MODELS)
    assert text.count("not separated") == len(MODELS)
    assert text.count("gemma-7b-it") == 3


def test_no_line_ends_within_a_name_or_an_interval() -> None:
    headline = f"{named('a model of words')} leads by 3.5 pp (95% CI 0.4 to 6.3)"
    document = told(Document(kind="score", title="", label="x", tone="good", headline=headline))
    for width in range(30, 60):
        text = to_text(document, width=width)
        assert "a model of words" in text
        assert "95% CI 0.4 to 6.3" in text


def test_a_name_that_fits_no_line_ends_where_its_words_do() -> None:
    name = "You are a helpful assistant who answers questions " * 4 + "v1"
    document = told(Document(kind="compare", title="?", label="better", tone="good", headline=f"{named(name)} leads"))
    assert max(map(len, to_text(document, width=60).splitlines())) <= 60
    assert r"\mbox" not in to_latex(document)
