"""Shares on the page are those of the counts."""

from evalstats.stats.one_sample import wilson
from mutation.page import table


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
