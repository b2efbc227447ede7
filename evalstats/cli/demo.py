"""`evalstats demo`: the whole path on figures that ship with the package. Needs no network."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli.report import To

if TYPE_CHECKING:
    from evalstats.schema.data import EvalData

_RUT_BASELINE, _RUT_CANDIDATE = "GLM-5.1", "GPT-5.4"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for files, store and reports.")] = Path(
        "evalstats-demo"
    ),
    to: Annotated[
        list[To] | None, typer.Option("--to", help="html or pdf; may be repeated.", show_default="html")
    ] = None,
) -> None:
    """Walk the whole path, on figures that ship with evalstats."""
    from evalstats.cli.ingest_run import ingest
    from evalstats.simulate.published import write_tau_airline, write_tenacious_traces
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
    _say("3  Compare")
    _compare(data)
    _say("4  Reports")
    for rendered in _reports(data, output, to or [To.HTML]):
        _say(f"   {rendered}")
    _say(f"Done in {time.monotonic() - began:.0f} s. Open the first report; it is one file and needs no network.")


def _compare(data: "EvalData") -> None:
    from evalstats.analysis.compare.compare import compare
    from evalstats.analysis.score.result import Score
    from evalstats.analysis.score.score import score

    tenacious = data.where(benchmark="Tenacious-Bench")
    _say("   Tenacious-Bench, as published (43 items taken as independent):")
    _indented(compare(tenacious, "baseline", "trained").summary())
    _say("   The same, with the judgment dimension as the cluster (evalstats compare ... --cluster dimension):")
    _indented(compare(tenacious, "baseline", "trained", cluster="dimension").summary())
    airline = score(data.where(benchmark="tau-bench"), "gpt-4o")
    _say("   tau-bench airline, 50 tasks x 4 trials:")
    if isinstance(airline, Score):
        _indented(airline.summary())
        _indented("pass^k: " + ", ".join(f"k={k} {estimate:.4f}" for k, estimate, _, _ in airline.pass_hat))
    _say("   RUT-Bench, simulated (rates by user behaviour are invented):")
    _indented(compare(data.where(benchmark="RUT-Bench"), _RUT_BASELINE, _RUT_CANDIDATE, by="scenario").summary())


def _reports(data: "EvalData", output: Path, kinds: Sequence[To]) -> list[Path]:
    from evalstats.analysis.compare.compare import compare
    from evalstats.report.render import render_results

    results = (
        ("tenacious", compare(data.where(benchmark="Tenacious-Bench"), "baseline", "trained")),
        (
            "rutbench-simulated",
            compare(data.where(benchmark="RUT-Bench"), _RUT_BASELINE, _RUT_CANDIDATE, by="scenario"),
        ),
    )
    return [
        rendered.path
        for stem, result in results
        for rendered in render_results([result], [output / f"{stem}.{to.value}" for to in kinds])
    ]


def _say(text: str) -> None:
    print(text, flush=True)


def _indented(text: str) -> None:
    import textwrap

    from evalstats.document.width import clean

    sys.stdout.write(textwrap.fill(clean(text), 80, initial_indent="      ", subsequent_indent="      ") + "\n")
