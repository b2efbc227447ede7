"""What ratings hang on, in tables: the side and style of answers, and the same votes under other choices."""

from evalstats.analysis.arena.result import ArenaRanking, VoteCovariate
from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.arenas.words import digits_of, level, points, some, unit_of
from evalstats.document.blocks import Table
from evalstats.document.numbers import interval, number, p_value

_SIDE = "side a"


def covariates_table(result: ArenaRanking) -> Table | None:
    """List what moves a vote beside the models."""
    if not result.covariates:
        return None
    rows = result.covariates
    points_digits = digits_of(result)
    columns = {
        "What": [_name(row) for row in rows],
        "Log-odds": [number(row.estimate, 3, sign=True) for row in rows],
        f"{level(result)} interval": [interval(row.conf_low, row.conf_high, 1.0, 3, sign=True) for row in rows],
        "p": [p_value(row.p_value) for row in rows],
        "Points": [number(row.points, points_digits, sign=True) for row in rows],
        "Mean": [number(None if row.name == "side" else row.mean, 3, sign=True) for row in rows],
        "SD": [number(None if row.name == "side" else row.sd, 3) for row in rows],
    }
    return table_of(
        columns,
        caption=(
            "What moves a vote beside the models: for the side between equal models, for the rest by one standard deviation of "
            "the relative difference (a - b)/(a + b). It says what goes with being preferred, not what causes it"
        ),
        left=("What",),
        wide=("Mean", "SD"),
    )


def covariate_lines(result: ArenaRanking) -> list[str]:
    """Say whether ratings hold these equal, and why a coefficient has no interval."""
    held = [_name(row) for row in result.covariates if row.held]
    free = [_name(row) for row in result.covariates if not row.held]
    said = [f"{_name(row)}: {row.reason}" for row in result.covariates if row.reason]
    if held and free:
        said.insert(0, f"The ratings hold {some(held)} equal, but not {some(free)}")
    elif free and any(each.key in ("with style", "with side") for each in result.alternatives):
        said.insert(0, "The ratings hold none of these equal; those that do stand among the other choices")
    return said


def _name(row: VoteCovariate) -> str:
    return _SIDE if row.name == "side" else row.name


def choices_table(result: ArenaRanking) -> Table | None:
    """List the same ratings under other choices."""
    rows = result.alternatives
    if not rows:
        return None
    known = [row for row in rows if row.reason is None]
    if not known:
        return None
    columns = {
        "Other choice": [row.title for row in known],
        "Moves by": [points(row.largest_move, result, unit=False) for row in known],
        "Of": [row.moved or "–" for row in known],
        "Swaps": [f"{row.n_swaps:,}" for row in known],
        "First": [row.new_first or "the same" for row in known],
        "Log-lik.": [number(row.log_lik, 1) for row in known],
        "Tie": [number(row.tie) for row in known],
    }
    for name in ("Log-lik.", "Tie"):
        if all(value == "–" for value in columns[name]):
            del columns[name]
    return table_of(
        columns,
        caption=(
            f"The same votes under other choices: the largest change of a rating ({unit_of(result)}), how many pairs of models "
            "change order, and who is rated first (which alone is no verdict)"
        ),
        left=("Other choice", "Of", "First"),
        wide=("Tie", "Log-lik."),
    )


def choice_lines(result: ArenaRanking) -> list[str]:
    """Say why another choice was looked at, and which could not be."""
    told = [f"{row.title}: {row.why}" for row in result.alternatives if row.reason is None and row.why]
    return [*told, *(f"{row.title}: not fitted, {row.reason}" for row in result.alternatives if row.reason)]
