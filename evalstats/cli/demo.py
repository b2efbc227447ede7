"""`evalstats demo`: the whole path on figures that ship with the package. Needs no network."""

import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.report import Form
from evalstats.errors import RenderError

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.schema.data import EvalData

_RUT_BASELINE, _RUT_CANDIDATE = "GLM-5.1", "GPT-5.4"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for files, store and reports.")
    ] = Path("evalstats-demo"),
    to: Annotated[
        list[Form] | None,
        typer.Option("--to", metavar="FORM", help="html or pdf; may be repeated.", show_default="html"),
    ] = None,
) -> None:
    """Run the full workflow on bundled figures."""
    from evalstats.cli.ingest_run import ingest
    from evalstats.report.render import choose_engine, render_results
    from evalstats.simulate.benchmark_files import write_tau_airline, write_tenacious_traces
    from evalstats.simulate.rutbench import write_rutbench
    from evalstats.store.read import open_store

    began = time.monotonic()
    results, store = output / "results", output / "store"
    _say("1  Result files: two published outcomes, and RUT-Bench simulated from published rates")
    paths = [write_tenacious_traces(results / "tenacious"), write_tau_airline(results / "tau-bench")]
    paths += write_rutbench(results / "rutbench-simulated", models=[_RUT_BASELINE, _RUT_CANDIDATE], seed=0)
    for path in paths:
        _say(f"   {path}")
    _say(f"2  Ingest into {store}")
    for line in ingest(paths, store).summary_lines():
        _say(f"   {line}")
    data = open_store(store).read()
    answers = _answers(data)
    _say("4  Reports")
    if to is None:
        try:
            choose_engine("auto")
        except RenderError as error:
            _say(f"   none: {error}")
            return
    for stem, result in answers.items():
        for page in render_results(result, [output / f"{stem}.{form.value}" for form in to or [Form.HTML]]):
            _say(f"   {page.path}")
    _say(f"Done in {time.monotonic() - began:.0f} s. Open the first report; it is one file and needs no network.")


def _answers(data: "EvalData") -> "dict[str, Result]":
    """Ask four questions, print the answers, and return those that get a page."""
    from evalstats.analysis.compare.compare import compare
    from evalstats.analysis.score.result import Score
    from evalstats.analysis.score.score import score

    _say("3  Compare")
    tenacious = data.where(benchmark="Tenacious-Bench")
    published = compare(tenacious, "baseline", "trained")
    _shown("evalstats compare baseline trained", published)
    airline = score(data.where(benchmark="tau-bench"), "gpt-4o")
    if isinstance(airline, Score):
        _shown("evalstats score, tau-bench airline, 50 tasks x 4 trials", airline)
    simulated = compare(data.where(benchmark="RUT-Bench"), _RUT_BASELINE, _RUT_CANDIDATE, by="scenario")
    _shown(f"evalstats compare {_RUT_BASELINE} {_RUT_CANDIDATE} --by scenario", simulated)
    return {"tenacious": published, "rutbench-simulated": simulated}


def _shown(asked: str, result: "Result") -> None:
    from evalstats.document.terminal import to_text

    _say(f"\n   {asked}\n")
    _say(textwrap.indent(to_text(result.document(), width=74), "      "))


def _say(text: str) -> None:
    print(text, flush=True)
