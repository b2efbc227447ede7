"""Letters of other scripts that look Latin: names that look alike, and names that mix scripts."""

import unicodedata

import polars as pl
import pytest

import evalstats
from evalstats.analysis.provenance import lookalike_notes
from evalstats.schema.names import _LATIN_OF, disguised, read_alike  # pyright: ignore[reportPrivateUsage]

ROUND = "\N{CYRILLIC SMALL LETTER O}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("gpt-4o", f"gpt-4{ROUND}"),
        ("claude", "\N{CYRILLIC SMALL LETTER ES}laude"),
        ("OPT", "\N{GREEK CAPITAL LETTER OMICRON}\N{GREEK CAPITAL LETTER RHO}\N{GREEK CAPITAL LETTER TAU}"),
        ("A", "\N{FULLWIDTH LATIN CAPITAL LETTER A}"),
        ("a1", "\N{MATHEMATICAL BOLD SMALL A}1"),
    ],
)
def test_names_that_read_alike_are_found(first: str, second: str) -> None:
    assert read_alike(["other", first, second]) == [(first, second)]


@pytest.mark.parametrize(
    "names", [("gpt-4o", "gpt-4O"), ("x2", "x\N{SUPERSCRIPT TWO}"), ("l", "1"), ("mod\u00e8le", "modele")]
)
def test_names_that_read_otherwise_are_not(names: tuple[str, str]) -> None:
    assert read_alike(names) == []


@pytest.mark.parametrize(
    "name", [f"gpt-4{ROUND}", f"{ROUND}3-mini", f"{ROUND}1", "LL\N{GREEK CAPITAL LETTER ALPHA}MA", f"m{ROUND}del"]
)
def test_a_name_that_mixes_scripts_is_found(name: str) -> None:
    assert disguised(name)


@pytest.mark.parametrize(
    "name", ["Сбер GigaChat", "τ-bench", "τ²-bench agent", "β-VAE", "αβ-CROWN", "модель", "模型-7B", "gpt-4o"]
)
def test_a_name_of_two_languages_is_none(name: str) -> None:
    assert disguised(name) == ""


def test_every_letter_is_cyrillic_or_greek_and_looks_like_a_latin_one() -> None:
    for other, latin in _LATIN_OF.items():
        assert unicodedata.name(other).split()[0] in ("CYRILLIC", "GREEK")
        assert latin.isascii()
        assert latin.isalpha()
    assert len(_LATIN_OF) > 60


def test_the_caution_names_the_letters() -> None:
    (note,) = lookalike_notes(["gpt-4o", f"gpt-4{ROUND}", "x", "Ｂard", f"m{ROUND}del"])
    assert f"gpt-4o and gpt-4{ROUND} look alike: gpt-4{ROUND} has Cyrillic {ROUND} (U+043E)" in note.text
    assert f"m{ROUND}del mixes scripts" in note.text
    assert note.caution
    assert lookalike_notes(["gpt-4o", "claude"]) == ()


def test_audit_and_boards_name_them() -> None:
    names = ("gpt-4o", f"gpt-4{ROUND}", f"m{ROUND}del")
    rows = [
        {"item": f"q{i}", "model": name, "score": (i * 7 + k * 3) % 5 % 2}
        for k, name in enumerate(names)
        for i in range(40)
    ]
    data = evalstats.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")
    votes = pl.DataFrame(
        {
            "model_a": [names[k % 3] for k in range(120)],
            "model_b": [names[(k + 1 + k // 60) % 3] for k in range(120)],
            "outcome": ["a", "b", "tie", "b"] * 30,
        }
    )
    for result in (evalstats.audit(data), evalstats.leaderboard(data), evalstats.arena(votes, checks=False)):
        assert any("look alike" in note.text and "mixes scripts" in note.text for note in result.notes), type(result)
        assert "look alike" in result.summary()
    other = evalstats.compare(data, names[0], names[2])
    assert not any("look alike" in note.text for note in other.notes)
