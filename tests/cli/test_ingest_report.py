"""What an ingest tells a person, and a program."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalstats.cli.ingest_run import IngestReport, SourceReport
from evalstats.document.escape import cell_width
from evalstats.schema.data import Problem
from evalstats.store.manifest import RunEntry


def run(model: str | None, benchmark: str, scored: int = 0, error: int = 0, unscored: int = 0) -> RunEntry:
    return RunEntry(
        run=f"{model}~1",
        model=model,
        system=model,
        benchmark=benchmark,
        n_scored=scored,
        n_error=error,
        n_unscored=unscored,
    )


def loaded(path: str, *runs: RunEntry, rows: dict[str, int] | None = None, **more: Any) -> SourceReport:
    rows = {"outcomes": 1, "runs": len(runs)} if rows is None else rows
    return SourceReport(path=path, status="loaded", loader="fake", runs=runs, rows=rows, **more)


def note(text: str) -> Problem:
    return Problem(path="a.json", message=text, severity="note")


REPORT = IngestReport(
    store="store",
    sources=(
        loaded("a.json", run("gpt-4o", "gsm8k", 1200), run("llama-3-8b", "mmlu", 180, 15, 5), problems=(note("odd"),)),
        loaded("votes.json", run(None, "arena", 900), rows={"comparisons": 900, "runs": 1}),
        loaded("board.csv", run(None, "leaderboard"), rows={"aggregates": 12, "runs": 1, "metrics": 1}),
        loaded("again.json", run("m", "b", 2), reason="put in the place of an earlier reading by fake 1"),
        SourceReport(path="same.json", status="skipped", runs=(run("m", "b", 2),)),
        SourceReport(path="copy.json", status="skipped", reason="the store has it already, from same.json"),
        SourceReport(path="bad.json", status="failed", reason="is empty"),
    ),
    notes=(note("passed over"),),
)


def test_the_summary_says_everything_in_order() -> None:
    assert REPORT.summary_lines() == [
        "gpt-4o · gsm8k     scored 1200  error  0  unscored 0",
        "llama-3-8b · mmlu  scored  180  error 15  unscored 5",
        "arena              scored  900  error  0  unscored 0",
        "leaderboard        aggregates 12",
        "m · b              scored    2  error  0  unscored 0",
        "7 sources: 4 read, 2 already in the store, 1 not read",
        "5 runs, rows: 2282 scored, 15 error, 5 unscored",
        "not read: bad.json: is empty",
        "note: again.json: put in the place of an earlier reading by fake 1",
        "note: copy.json: the store has it already, from same.json",
        "note: a.json: passed over",
        "note: a.json: odd",
        "1 of 7 sources not read; --strict stops at the first such source",
    ]


def test_run_lines_fit_the_width() -> None:
    report = IngestReport(store="s", sources=(loaded("a", run("模型" * 40, "b", 12), run("m" * 200, "b", 123456)),))
    lines = report.summary_lines()[:2]
    assert {cell_width(line) for line in lines} == {80}
    assert all("…" in line for line in lines)


def test_runs_that_would_read_the_same_are_told_apart_by_their_names() -> None:
    alike = [replace(run("m", "b", 1), run=name) for name in ("m~1", "m~2")]
    sources = (loaded("x/a.json", run("gpt", "gsm8k", 1)), *(loaded(f"{n}.csv", each) for n, each in enumerate(alike)))
    lines = IngestReport(store="s", sources=sources).summary_lines()[:3]
    assert [line.partition("  ")[0] for line in lines] == ["gpt · gsm8k", "m · b · m~1", "m · b · m~2"]


@given(st.lists(st.text("ab 模", max_size=60), min_size=1, max_size=20))
def test_every_line_is_wrapped_and_says_all(texts: list[str]) -> None:
    failed = tuple(SourceReport(path=f"{n}.json", status="failed", reason=text) for n, text in enumerate(texts))
    report = IngestReport(store="s", sources=failed, notes=tuple(note(text) for text in texts))
    lines = report.summary_lines()
    assert all(cell_width(line) <= 80 or " " not in line.strip() for line in lines)
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(f"note: a.json: {text}".split()) in said for text in texts[:20])


def test_no_line_carries_a_control_character() -> None:
    evil = "\x1b[2Jevil\u202e\n"
    report = IngestReport(
        store=evil,
        sources=(
            loaded(evil, run(evil, evil, 1), reason=evil, problems=(note(evil),)),
            SourceReport(path=evil, status="failed", reason=evil),
        ),
        notes=(note(evil),),
    )
    lines = report.summary_lines()
    assert "".join(lines).isprintable()
    # What the store and a source say alike stands once.
    assert sum(r"\x1b[2Jevil\u202e\n" in line for line in lines) == 4
