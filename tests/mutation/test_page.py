"""The page is made of what is stored, and its shares are those of the counts."""

import json

import pytest

from dev.mutation.chapters import CHAPTERS
from dev.mutation.page import PAGE, RESULTS, table, text
from evalstats.stats.one_sample import wilson


def test_a_row_shows_the_share_with_wilsons_interval_and_the_total_is_weighted():
    rows = table(
        {
            "a": {"possible": 100, "mutants": 60, "killed": 54, "timed_out": 0, "survived": 6},
            "b": {"possible": 300, "mutants": 60, "killed": 30, "timed_out": 0, "survived": 30},
        }
    ).splitlines()
    ends = wilson(6, 60)
    assert rows[2].endswith(f"| 10% | {100 * ends.conf_low:.0f} to {100 * ends.conf_high:.0f}% |")
    assert "| 40% |" in rows[4]  # (100 * 0.1 + 300 * 0.5) / 400


@pytest.mark.skipif(not RESULTS.exists(), reason="no run is stored yet: `make mutate` stores one")
def test_the_page_is_made_of_what_is_stored_and_ends_add_up():
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == text(stored)
    assert [chapter for chapter in stored["chapters"] if chapter in CHAPTERS] == list(CHAPTERS)
    for chapter, found in stored["chapters"].items():
        assert found["killed"] + found["survived"] + found["timed_out"] == found["mutants"], chapter
        assert len(found["survivors"]) == found["survived"]
