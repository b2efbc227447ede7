"""A saved frontier that was damaged is refused in words."""

from pathlib import Path

import pytest

from evalstats.analysis.saved import load_result
from evalstats.errors import InputError
from evalstats.report.examples import example


def test_a_cost_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "frontier.json"
    example("frontier").save(path)
    text = path.read_text(encoding="utf-8")
    assert load_result(path).summary()
    path.write_text(text.replace('"cost": "cost_usd"', '"cost": "coqt_usd"', 1), encoding="utf-8")
    with pytest.raises(InputError, match="Invalid enum value 'coqt_usd'"):
        load_result(path)
