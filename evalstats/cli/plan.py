"""`--plan`: the analysis that was declared before looking, from `evalstats.toml`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalstats.cli.output import say

if TYPE_CHECKING:
    from evalstats.loaders.column_map import ColumnMap
    from evalstats.schema.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A plan, and the column map that it declares."""

    plan: "Plan"
    columns: "ColumnMap | None"


def declared_plan(path: Path | None, *, wanted: bool = True, quiet: bool = False) -> Declared | None:
    """Read the named plan, or the `evalstats.toml` of the working folder where there is one, and say that it holds.

    InputError if it cannot be read, or is no plan.
    """
    if path is None and not (wanted and Path("evalstats.toml").is_file()):
        return None
    from evalstats.loaders.declarations import column_map_of, find_plan, read_plan

    found = path or find_plan()
    if found is None:
        return None
    plan = read_plan(found)
    say(f"note: the plan declared in {found} holds (digest {plan.digest[:12]})", quiet=quiet)
    return Declared(plan=plan, columns=column_map_of(plan))


def columns_for(declared: Declared | None, targets: Sequence[str | Path]) -> "ColumnMap | None":
    """Return the plan's column map where the files are plain tables; a file of a known format needs none."""
    paths = [path for path in map(Path, targets) if path.exists()]
    if declared is None or declared.columns is None or not paths:
        return None
    from evalstats.errors import UnreadableFileError
    from evalstats.loaders.base import read_head
    from evalstats.loaders.registry import list_files, sniffed

    for path, _ in list_files(paths):
        try:
            found, _ = sniffed(read_head(path))
        except (UnreadableFileError, OSError):  # said when the file is read
            continue
        if found is not None and found[0].name != "table":
            return None
    return declared.columns
