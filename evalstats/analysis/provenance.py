"""Where a result's numbers come from: runs with the digests of their files, what was noted of them, the version."""

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import polars as pl

from evalstats.document.model import Code, Column, Items, Note, Section, Table
from evalstats.schema.data import EvalData

# What the note of a run begins with where the run is simulated: loaders write it so.
_SIMULATED = "simulated:"
_CODE_WIDTH = 88


def sources_of(data: EvalData, runs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return every run with the digest of the file it was read from ("" where there is none)."""
    found = data.runs.filter(pl.col("run").is_in(list(runs))).sort("run")
    return tuple((run, digest or "") for run, digest in found.select("run", "source_digest").iter_rows())


def notes_of(data: EvalData, runs: Sequence[str]) -> tuple[str, ...]:
    """Return what a reader must know about the runs."""
    notes = data.runs.filter(pl.col("run").is_in(list(runs)))["note"].drop_nulls().unique().sort().to_list()
    return tuple(notes)


def run_notes(data: EvalData, runs: Sequence[str]) -> tuple[Note, ...]:
    """Return what runs say of themselves, as notes; those on simulated data come first."""
    found = [
        Note(kind="simulated", text="the data are simulated, " + text.removeprefix(_SIMULATED).strip())
        if text.startswith(_SIMULATED)
        else Note(kind="source", text=text, caution=False)
        for text in notes_of(data, runs)
    ]
    return tuple(sorted(found, key=lambda note: note.kind != "simulated"))


def sources_section(
    sources: Sequence[tuple[str, str]], *, version: str, seed: str = "", plan: Sequence[str] = ()
) -> Section:
    """Return the part that says where numbers come from: runs with the digests of their files, plan, version, seed."""
    rows = tuple((run, digest or "no digest") for run, digest in sources)
    said = [*plan, f"evalstats {version}{f'; seed {seed}' if seed else ''}."]
    if not rows:
        return Section(id="provenance", heading="Where the numbers come from", blocks=(Items(items=tuple(said)),))
    table = Table(
        id="runs",
        columns=(Column(title="Run", kind="name"), Column(title="SHA-256 of its file", kind="text")),
        rows=rows,
        caption="The runs and the digests of their files",
        most=8,
    )
    return Section(id="provenance", heading="Where the numbers come from", blocks=(Items(items=tuple(said)), table))


def code_section(function: str, options: Mapping[str, object]) -> Section:
    """Return the part with the Python that gives the same result; options that are None or empty are left out.

    Examples
    --------
    >>> print(code_section("frontier", {"cost": "latency_s", "models": None, "seed": 1}).blocks[0].code)
    import evalstats as es
    <BLANKLINE>
    data = es.read(...)  # the files of the runs above
    result = es.frontier(data, cost='latency_s', seed=1)
    """
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None and value not in ((), "", {})]
    call = f"result = es.{function}({', '.join(['data', *given])})"
    if len(call) > _CODE_WIDTH:
        call = f"result = es.{function}(\n    data,\n" + "".join(f"    {each},\n" for each in given) + ")"
    reading = "data = es.read(...)  # the files of the runs above"
    code = Code(code=f"import evalstats as es\n\n{reading}\n{call}")
    return Section(id="code", heading="The same in Python", blocks=(code,))


def toolkit_version() -> str:
    """Return the version of this toolkit."""
    try:
        return version("evalstats-toolkit")
    except PackageNotFoundError:
        return "unknown"
