"""`evalstats audit`: can these numbers be trusted?"""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from evalstats.analysis.audit.options import AuditOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import Planned, RowReading, Showing, add_command, noted, with_names

GATE_FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Planned):
    """What was declared before looking, and when the command fails."""

    fail_on: Annotated[
        Literal["flips"] | None, Option("Exit with 1 where a finding flips a comparison.", metavar="flips")
    ] = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "audit", audit, RowReading, AuditOptions, Gate, Showing)


def audit(reading: RowReading, asked: AuditOptions, gate: Gate, showing: Showing) -> None:
    """Can these numbers be trusted, before anybody compares them?"""
    from evalstats.analysis.audit.audit import audit as audit_of
    from evalstats.cli.load import Narrow
    from evalstats.cli.output import say, step_line

    declared = gate.declared(quiet=showing.quiet)
    narrow = Narrow(question="audit", asked=(asked, reading.where, declared), single=reading.trials_from_runs)
    data = reading.load(declared, quiet=showing.quiet, narrow=narrow)
    with step_line(quiet=showing.quiet) as on_step:
        on_step("drawing conclusions with and without each finding")
        result = audit_of(data, **asdict(with_names(asked, data)), plan=declared.plan if declared else None)
    showing.present(noted(result, reading, gate))
    if gate.fail_on == "flips" and result.n_flipping:
        say(f"gate failed: {result.n_flipping} of {len(result.findings)} findings flip a comparison.")
        raise typer.Exit(GATE_FAILED)
