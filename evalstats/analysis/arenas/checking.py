"""All checks of votes together: connection, trust, fit and drift."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.arena.check_result import (
    CheckLine,
    Drift,
    FitChecks,
    TrustChecks,
    VoteGraph,
    connection_line,
    guarded,
)
from evalstats.analysis.arena.drift import drift_of
from evalstats.analysis.arena.fit import fit_checks
from evalstats.analysis.arena.ratings import Options, Part
from evalstats.analysis.arena.trust import trust_checks
from evalstats.analysis.arena.votes import VoteTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the checks found, with a line for each."""

    lines: tuple[CheckLine, ...]
    fit: FitChecks | None = None
    trust: TrustChecks | None = None
    drift: Drift | None = None
    notes: tuple[str, ...] = ()


def check_votes(table: VoteTable, part: Part, graph: VoteGraph, options: Options, *, wanted: bool) -> Checked:
    """Check the votes of one part (the largest) of the graph; the connection is that of all models.

    Parameters
    ----------
    wanted
        Whether more than the connection is to be checked.
    """
    first = connection_line(graph)
    if not wanted:
        return Checked(lines=(first,), notes=("votes, fit and drift were not checked, as asked",))
    notes: list[str] = []
    if part.table.n_models < table.n_models:
        notes.append(
            f"fit, trust and drift are checked on the largest part of the votes, of {part.table.n_models} models"
        )
    trust, trust_lines = trust_checks(
        part.table,
        part.fit,
        std_errors=part.std_errors,
        conf_level=options.conf_level,
        seed=options.seed,
        points=options.points,
    )
    told_apart = part.claims is None or bool(part.claims.separated.any())
    fit, fit_lines = fit_checks(part.table, part.fit, seed=options.seed, told_apart=told_apart)
    drift, drift_line = guarded(
        "drift",
        lambda: drift_of(part.table, part.fit, period="auto", conf_level=options.conf_level, points=options.points),
        None,
    )
    weighed = [_weighed(line, part, trust) for line in trust_lines]
    return Checked(
        lines=(first, *weighed, *fit_lines, drift_line), fit=fit, trust=trust, drift=drift, notes=tuple(notes)
    )


def _weighed(line: CheckLine, part: Part, trust: TrustChecks) -> CheckLine:
    """Call it no warning that one rater or few votes turn an order which nothing showed."""
    if line.status != "warning" or line.check not in {"few votes", "one rater"}:
        return line
    first, second = np.argsort(-part.ratings, kind="stable")[:2].tolist()
    after = {second}
    if line.check == "one rater":
        after = {part.table.models.index(one.new_first) for one in trust.influences if one.new_first is not None}
    if part.claims is not None and any(part.claims.separated[first, new] for new in after):
        return line
    return replace(line, status="ok", finding=f"the models it is about are not told apart anyway: {line.finding}")
