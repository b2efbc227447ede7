"""The shipped example of a live mix is the printed figure, and its levels are those of the results it goes with."""

import csv
import math
from pathlib import Path

import pytest

from evalstats.datasets import rutbench_live_mix
from evalstats.simulate.rutbench_world import BEHAVIOURS

# As printed in the figure of RUT-Bench's taxonomy (arXiv 2606.03318), in percent.
PRINTED = (77.4, 14.25, 3.46, 3.25, 1.83, 0.61, 0.41)


def test_the_printed_shares_are_divided_by_their_sum() -> None:
    mix = rutbench_live_mix()
    assert tuple(mix.raw.values()) == PRINTED
    assert math.fsum(mix.shares.values()) == pytest.approx(1.0, abs=1e-12)
    for level, printed in mix.raw.items():
        assert mix.shares[level] == pytest.approx(printed / sum(PRINTED), abs=1e-12)
    assert "sum to 101.2%" in mix.note
    assert (mix.factor, mix.licence) == ("scenario", "MIT")
    assert "2606.03318" in mix.source


def test_the_figures_are_those_of_the_transcribed_figure(shared: Path) -> None:
    path = shared / "formats" / "tables" / "rutbench_figure_taxonomy.csv"
    if not path.is_file():
        pytest.skip("the transcribed figure is not among the shared files")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = {row["code_label"]: float(row["printed_pct_of_surveyed_real_dialogues"]) for row in rows}
    found["stable"] = found.pop("(variant=stable)")
    assert found == dict(rutbench_live_mix().raw)


def test_its_levels_are_the_scenarios_of_rutbench_results() -> None:
    assert tuple(rutbench_live_mix().shares) == BEHAVIOURS


def test_it_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        rutbench_live_mix().shares["stable"] = 1.0  # pyright: ignore[reportIndexIssue]
