"""The page of lab and live where the data lack a layer: its part is left out, the others stand, and the method says why."""

import re
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from evalstats.analysis.gap.gap import gap
from evalstats.errors import CannotAnswerError
from evalstats.report.page import open_page
from evalstats.report.qmd import read_document
from evalstats.report.render import find_page
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import LabLive, simulate_lab_live


def outcomes() -> LabLive:
    return simulate_lab_live(8, n_items=60, n_users=60, n_live=800, seed=1)


def four() -> LabLive:
    return simulate_lab_live(4, n_items=60, n_users=60, n_live=600, seed=1)


def votes() -> LabLive:
    return simulate_lab_live(8, live="comparisons", n_items=60, n_users=80, n_live=1200, seed=1)


def published() -> LabLive:
    made = simulate_lab_live(8, live="aggregates", n_items=60, n_users=60, n_live=600, seed=1)
    return replace(made, live=without(made.live, "aggregates", "std_error", "conf_low", "conf_high", "n"))


def without(data: EvalData, table: str, *columns: str) -> EvalData:
    frame: pl.DataFrame = getattr(data, table)
    gone = [pl.lit(None).cast(frame.schema[name]).alias(name) for name in columns]
    return replace(data, **{table: frame.with_columns(gone)})


def bare(made: LabLive) -> LabLive:
    """Without scenarios, users, sessions and days."""
    lab = without(made.lab, "outcomes", "scenario", "user_kind")
    return replace(made, lab=lab, live=without(made.live, "outcomes", "scenario", "user", "session", "timestamp"))


CASES: dict[str, tuple[Callable[[], LabLive], set[str], str]] = {
    "no scenarios": (lambda: bare(outcomes()), {"models", "order"}, "decomposition"),
    "no line": (lambda: bare(four()), {"order"}, "calibrated gap"),
    "live votes": (votes, {"models", "mix", "coverage", "order"}, "gaps by scenario"),
    "live without errors": (published, {"order"}, "calibrated gap"),
}
LAYERS = {"models", "mix", "coverage", "order", "scenarios"}


@pytest.mark.parametrize("name", CASES)
def test_a_layer_that_data_lack_is_left_out_and_the_method_says_so(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, layers, lacking = CASES[name]
    made = make()
    found = gap(made.lab, made.live, n_resamples=100)
    page = open_page(found)
    assert {section.id for section in page.document.evidence} & LAYERS == layers
    assert lacking in dict(found.left_out)
    for names in SHOWN:
        page.show(*names)
    printed = capsys.readouterr().out
    # Addresses of data and drawings hold any letters.
    told = re.sub(r"base64,[\w+/=]+|(?s:<svg.*?</svg>)", "", printed)
    assert dict(found.left_out)[lacking].split(":")[0] in told.replace("\\", "")
    assert not re.search(r"\b(?:nan|inf|null)\b|None[,.)\]|]", told)
    labels = set(re.findall(r"#((?:fig|tbl)-[\w-]+)", told))
    assert set(re.findall(r"#ref\(<([\w-]+)>\)", told)) <= labels
    assert not re.search(r"(?m)^##+ .*\n+(?=##+ |\Z)", told), "a heading has nothing below it"


SHOWN = [
    re.findall(r'"([^"]+)"', names)
    for cell in read_document(find_page("lab-live").source).cells
    for names in re.findall(r"page\.show\(([^)]*)\)", cell.code)
]


def test_two_models_are_no_answer_and_python_is_told_how_to_name_more() -> None:
    made = four()
    lab = replace(made.lab, outcomes=made.lab.outcomes.filter(pl.col("model").is_in(["model-01", "model-02"])))
    with pytest.raises(CannotAnswerError, match=r"share 2 models by name.* with aliases=\{\.\.\.\}$"):
        gap(lab, made.live)
