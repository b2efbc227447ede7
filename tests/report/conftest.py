"""Data for pages, some with names that a careless page would run, and pages rendered once for all tests."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import compare, datasets
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from tests.browsing import started_browser

# 21 November 2025, 00:00 UTC: pages that are compared byte by byte carry this date.
EPOCH = "1763683200"

HOSTILE_MODELS = ("<script>alert(1)</script>", "$x_1$ #eval @ref `code` \"q\" 'q'")
HOSTILE_SCENARIOS = ("a|b\n\n# heading", "=cmd()", "{{< env HOME >}}", "::: {.callout-note}", "```{=html}\n<img src=x>")


@dataclass(frozen=True, slots=True)
class Pages:
    """A report in both forms."""

    html: str
    html_path: Path
    pdf_path: Path


def hostile_data(note: str | None = None) -> EvalData:
    """Two models on 60 items with hostile names everywhere; the candidate lacks three items and failed on one.

    Costs and places of rows are known, and the runs differ in temperature, version and date.
    """
    benchmark = '1. bench #import "x" <b>&amp;</b>'
    rows: list[dict[str, object]] = []
    for side, model in enumerate(HOSTILE_MODELS):
        for number in range(60):
            if side and number in (3, 4, 5):
                continue
            failed = bool(side) and number == 7
            rows.append(
                {
                    "run": f"run-{side}</title><script>",
                    "model": model,
                    "system": model,
                    "benchmark": benchmark,
                    "item": f"=HYPERLINK(item {number})|`x`",
                    "trial": 0,
                    "metric": "co|rrect_$x$",
                    "score": None if failed else float((number * 7 + 5 * side) % (3 + side * (number // 6 % 2)) > 0),
                    "status": "error" if failed else "scored",
                    "scenario": HOSTILE_SCENARIOS[number % 5],
                    "template": f"t{number // 6}<i>",
                    "cost_usd": 0.002 + 0.0001 * number / (1 + side),
                    "latency_s": 2.0 + (number * (3 + side)) % 7,
                    "locator": f"line {number}|`<b>`$x$",
                }
            )
    runs: list[dict[str, object]] = [
        {
            "run": f"run-{side}</title><script>",
            "model": model,
            "benchmark": benchmark,
            "source_digest": f"{side}" * 64,
            "note": note,
            "source": f"folder/file-{side}<i>.jsonl",
            "harness": "<b>harness|</b>",
            "harness_version": f"1.{side} #eval",
            "temperature": 0.7 * side,
            "timestamp": datetime(2025, 1 + 6 * side, 1),  # noqa: DTZ001 - stored without a zone
        }
        for side, model in enumerate(HOSTILE_MODELS)
    ]
    metric = {
        "benchmark": benchmark, "metric": "co|rrect_$x$", "kind": "binary", "low": 0.0, "high": 1.0, "primary": True,
    }  # fmt: skip
    return EvalData(
        outcomes=frame_from_rows(rows, "outcomes"),
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows([metric], "metrics"),
    )


@pytest.fixture(scope="session")
def hostile() -> EvalData:
    return hostile_data()


@pytest.fixture(scope="session")
def hostile_models() -> tuple[str, str]:
    return HOSTILE_MODELS


@pytest.fixture
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)


def render_both(data: EvalData, baseline: str, candidate: str, folder: Path) -> Pages:
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = EPOCH
    try:
        result = compare(data, baseline, candidate)
        made = render_results([result], [folder / "compare.html", folder / "compare.pdf"], engine="embedded")
        paths = [each.path for each in made]
    finally:
        os.environ.pop("SOURCE_DATE_EPOCH")
        if before is not None:
            os.environ["SOURCE_DATE_EPOCH"] = before
    return Pages(html=paths[0].read_text(encoding="utf-8"), html_path=paths[0], pdf_path=paths[1])


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The shipped data set, rendered by the embedded engine."""
    folder = tmp_path_factory.mktemp("tenacious")
    return render_both(datasets.tenacious_held_out(), "baseline", "trained", folder)


@pytest.fixture(scope="session")
def hostile_pages(hostile: EvalData, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return render_both(hostile, *HOSTILE_MODELS, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def pdf_text():
    """Read the text of a PDF."""
    import pypdfium2

    def read(path: Path) -> str:
        document = pypdfium2.PdfDocument(path)
        try:
            return "\n".join(page.get_textpage().get_text_range() for page in document)
        finally:
            document.close()

    return read


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="session")
def numbers() -> pl.DataFrame:
    return pl.DataFrame({"name": ["=cmd()", "plain"], "value": [-1.5, None]})
