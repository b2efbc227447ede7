"""`evalstats gap`: does the lab predict the live world, and for which models not?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.analysis.gap.options import GapOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import CANNOT_ANSWER, ColumnMaps, InputFormat, Planned, Showing, add_command, noted

if TYPE_CHECKING:
    from evalstats.cli.load import Declared
    from evalstats.schema.data import EvalData
    from evalstats.schema.plan import LiveMix

_SHIPPED_MIX = "rutbench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides(Planned):
    """Where both sides come from, and the files that say how to read them together."""

    paths: Annotated[
        tuple[Path, ...],
        Option(
            "Results of both sides, told apart by their column setting (lab, live); or give --lab and --live.",
            metavar="DATA",
        ),
    ] = ()
    lab: Annotated[tuple[Path, ...], Option("Results of the lab; may be repeated.", metavar="PATH")] = ()
    live: Annotated[tuple[Path, ...], Option("Live outcomes, votes or a table; may be repeated.", metavar="PATH")] = ()
    near_names: Annotated[
        Path | None,
        Option("Write names that look alike to an alias file, to be checked and given with --aliases.", metavar="FILE"),
    ] = None
    aliases: Annotated[
        Path | None, Option("Names that are one model: TOML, CSV of two columns, JSON.", metavar="FILE")
    ] = None
    mix: Annotated[
        str | None,
        Option(
            "Shares of the live world where live rows have no such labels; rutbench: those surveyed for it.",
            metavar="FILE|rutbench",
        ),
    ] = None
    lab_where: Annotated[
        tuple[str, ...], Option("Keep such rows of the lab; may be repeated.", metavar="COLUMN=LEVEL")
    ] = ()
    live_where: Annotated[tuple[str, ...], Option("Keep such live rows; may be repeated.", metavar="COLUMN=LEVEL")] = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None

    def load(self, declared: "Declared | None", *, quiet: bool) -> "tuple[EvalData, EvalData | None]":
        """Read both sides, or what holds both."""
        from evalstats.cli.load import column_map, columns_for, load
        from evalstats.errors import InputError

        lab, live = self.lab, self.live
        if bool(self.paths) == bool(lab or live) or bool(lab) != bool(live):
            found = [name for name, given in (("DATA", self.paths), ("--lab", lab), ("--live", live)) if given]
            raise InputError(
                f"two sides are needed, found {' and '.join(found) or 'nothing'}; use one of: gap --lab PATH --live PATH; "
                "gap DATA, where its column setting says lab or live"
            )
        if self.paths and (self.lab_where or self.live_where):
            raise InputError(
                "--lab-where and --live-where go with --lab and --live; DATA is split by its column setting"
            )

        def read(files: Sequence[Path], where: Sequence[str] = ()) -> "EvalData":
            columns = column_map(self.map) or columns_for(declared, files)
            return load(files, where=where, columns=columns, input_format=self.input_format, quiet=quiet)

        if self.paths:
            data = read(self.paths)
            _ask_which_is_live(self.paths, data)
            return data, None
        return read(lab, self.lab_where), read(live, self.live_where)


def _ask_which_is_live(paths: Sequence[Path], data: "EvalData") -> None:
    """Ask in one sentence where two sides were named and neither says which it is: guessed, it could be the wrong way round."""
    from evalstats.errors import InputError

    tables = (data.outcomes, data.comparisons, data.aggregates)
    settings = {setting for table in tables if "setting" in table.columns for setting in table["setting"].unique()}
    if len(paths) == 2 and len(settings - {None}) < 2:
        lab, live = sorted(paths, key=lambda path: ("live" in path.name.lower(), paths.index(path)))
        raise InputError(
            f"neither {paths[0]} nor {paths[1]} says which of them is live: write gap --lab {lab} --live {live}, or the other "
            "way round"
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "gap", gap, Sides, GapOptions, Showing)


def gap(sides: Sides, asked: GapOptions, showing: Showing) -> None:
    """Say for which models the lab predicts the live world."""
    from evalstats.analysis.gap.gap import gap as gap_of
    from evalstats.cli.arena import cluster_of
    from evalstats.cli.output import step_line

    declared = sides.declared(quiet=showing.quiet)
    joined = aliases_of(sides.aliases)
    shares = mix_of(sides.mix, asked.by)
    data = sides.load(declared, quiet=showing.quiet)
    if sides.near_names is not None:
        write_near_names(sides.near_names, data, joined)
    options: dict[str, Any] = asdict(asked) | {
        "cluster": cluster_of(asked.cluster) or "auto",
        "lab_cluster": cluster_of(asked.lab_cluster),
        "live_cluster": cluster_of(asked.live_cluster),
        "models": names_of(asked.models, data, joined),
    }
    with step_line(quiet=showing.quiet) as on_step:
        on_step("setting lab against live")
        result = gap_of(*data, **options, aliases=joined, mix=shares, plan=declared.plan if declared else None)
    showing.present(noted(result, sides))
    if result.verdict == "invalid":
        raise typer.Exit(CANNOT_ANSWER)


def write_near_names(path: Path, sides: "Sequence[EvalData | None]", aliases: Mapping[str, str] | None) -> None:
    """Write names of both sides that look alike as an alias file, for somebody to check and give with --aliases."""
    from evalstats.analysis.gap.model_names import ALIKE, match_models
    from evalstats.analysis.gap.side_scores import by_setting
    from evalstats.cli.output import write_atomically

    whole = [side for side in sides if side is not None]
    lab, live = by_setting(whole[0]) if len(whole) == 1 else whole
    found = match_models(model_names(lab), model_names(live), dict(aliases or {}))
    lines = [
        "# Names that look alike on both sides, the lab's first. Check each; give the file with --aliases.",
        "# Names that differ in more than spelling are behind a #: take it away where they are one model.",
        "[aliases]",
        *(f"{json.dumps(ours)} = {json.dumps(own)}" for ours, own in (aliases or {}).items()),
        *(
            f"{'' if why == ALIKE else '# '}{json.dumps(ours)} = {json.dumps(theirs)}  # {' '.join(why.split())}"
            for (ours, theirs), why in zip(found.near, found.near_why, strict=True)
        ),
    ]
    write_atomically(path, "\n".join(lines) + "\n")
    typer.echo(f"{len(found.near)} names that look alike were written to {path}: check each", err=True)


def model_names(data: "EvalData") -> list[str]:
    """Return the names of all models of one side."""
    if data.outcomes.height:
        found = data.outcomes["system"]
    elif data.comparisons.height:
        found = data.comparisons["model_a"].append(data.comparisons["model_b"].rename("model_a"))
    else:
        found = data.aggregates["model"]
    names: list[str] = found.drop_nulls().unique().sort().to_list()
    return names


def aliases_of(path: Path | None) -> dict[str, str] | None:
    """Read the table of aliases, where one is named."""
    if path is None:
        return None
    from evalstats.loaders.declarations import read_aliases

    return read_aliases(path)


def mix_of(given: str | None, by: Sequence[str] | None) -> "LiveMix | None":
    """Return the live mix that --mix names: the one that ships, or that of a file."""
    if given is None:
        return None
    if given == _SHIPPED_MIX:
        from evalstats.datasets.tables import rutbench_live_mix

        return rutbench_live_mix()
    from evalstats.loaders.declarations import read_live_mix

    return read_live_mix(given, factor=by[0]) if by and len(by) == 1 else read_live_mix(given)


def names_of(
    values: Sequence[str] | None, sides: "Sequence[EvalData | None]", aliases: Mapping[str, str] | None
) -> list[str] | None:
    """Split A,B,C at the commas, except where the whole is itself a name on either side."""
    if not values:
        return None
    have = {*(aliases or {}), *(aliases or {}).values()}
    for data in sides:
        if data is not None:
            frames = (data.outcomes, data.aggregates)
            have |= {name for frame in frames if "model" in frame.columns for name in frame["model"].unique()}
            have |= {name for column in ("model_a", "model_b") for name in data.comparisons[column].unique()}
    return [name for value in values for name in ([value] if value in have else value.split(",")) if name]
