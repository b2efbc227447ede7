"""`evalstats report lab-live`: the options that this page alone takes, and how it is asked for."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.report_arena import OF_ARENA

if TYPE_CHECKING:
    from evalstats.cli.report import Documents, Sources
    from evalstats.schema.data import EvalData

_CANNOT_ANSWER = 3
_FEWEST_DRAWS = 100
_SHIPPED_MIX = "rutbench"

Lab = Annotated[
    list[Path] | None,
    typer.Option(
        "--lab", metavar="PATH", help="For lab-live: results of the lab; may be repeated.", show_default=False
    ),
]
Live = Annotated[
    list[Path] | None,
    typer.Option(
        "--live",
        metavar="PATH",
        help="For lab-live: live outcomes, votes or a table; may be repeated.",
        show_default=False,
    ),
]
Aliases = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="For lab-live: names that are one model: TOML, CSV of two columns, JSON.",
        show_default=False,
    ),
]
LabMetric = Annotated[
    str | None, typer.Option(metavar="METRIC", help="For lab-live: score to use in the lab.", show_default=False)
]
LiveMetric = Annotated[
    str | None, typer.Option(metavar="METRIC", help="For lab-live: score to use live.", show_default=False)
]
SameScale = Annotated[
    bool | None,
    typer.Option(
        "--same-scale/--other-scale",
        help="For lab-live: whether live less lab means something; default: where both measure one thing in one unit.",
        show_default=False,
    ),
]
Mix = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|rutbench",
        help="For lab-live: shares of the live world where live rows have no labels of it.",
        show_default=False,
    ),
]
LabWhere = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=LEVEL", help="For lab-live: keep such rows of the lab.", show_default=False),
]
LiveWhere = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=LEVEL", help="For lab-live: keep such live rows.", show_default=False),
]
LabCluster = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="For lab-live: --cluster of the lab alone.", show_default=False),
]
LiveCluster = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="For lab-live: --cluster of the live side alone.", show_default=False),
]
Top = Annotated[
    str | None,
    typer.Option(metavar="K,K,...", help="For lab-live: agreement within the K best live.", show_default=False),
]
MinCell = Annotated[
    int | None,
    typer.Option(
        "--min-cell",
        min=1,
        help="For lab-live: live cells with fewer users are withheld; default: 10.",
        show_default=False,
    ),
]

# The options above by name: other pages have no use for them.
OF_LAB_LIVE = (
    "lab",
    "live",
    "aliases",
    "lab_metric",
    "live_metric",
    "same_scale",
    "mix",
    "lab_where",
    "live_where",
    "lab_cluster",
    "live_cluster",
    "top",
    "min_cell",
)
# What other pages take, and lab against live has no use for.
FOREIGN_TO_LAB_LIVE = (
    "candidate",
    "baseline",
    "adjust",
    "contrast",
    "pass_hat",
    "pass_at",
    "sequential",
    "planned_n",
    "accept",
    "missing",
    *(name for name in OF_ARENA if name != "resamples"),
)


def lab_live_report(documents: "Documents", sources: "Sources", question: dict[str, Any]) -> None:
    """Read both sides, ask once with few draws, so that what cannot be answered ends as it does for `gap`, and render."""
    from evalstats.analysis.gap.gap import gap
    from evalstats.cli.gap import aliases_of, mix_of, names_of
    from evalstats.cli.plan import declared_plan
    from evalstats.cli.show import step_line

    declared = declared_plan(sources.plan, wanted=not sources.no_plan, quiet=documents.quiet)
    sides = _sides(sources, question, declared, quiet=documents.quiet)
    joined = aliases_of(question["aliases"])
    asked = arguments_of({**question, "models": names_of(question["models"], sides, joined)})
    with step_line(quiet=documents.quiet) as on_step:
        on_step("setting lab against live")
        few: dict[str, Any] = {**asked, "n_resamples": _FEWEST_DRAWS, "aliases": joined}
        few |= {"mix": mix_of(question["mix"], question["by"]), "plan": declared.plan if declared else None}
        answered = gap(*sides, **few)
    plan = (sources.plan or Path("evalstats.toml")) if declared else None
    told = readings(sources, question, sides, plan)
    both = {} if sides[1] is None else {"lab": sides[0], "live": sides[1]}
    documents.render(data=None if both else sides[0], options={**asked, **both, **told, "plan": plan})
    if answered.verdict == "invalid":
        raise typer.Exit(_CANNOT_ANSWER)


def _sides(
    sources: "Sources", question: dict[str, Any], declared: Any, *, quiet: bool
) -> "tuple[EvalData, EvalData | None]":
    from evalstats.cli.gap import load_sides
    from evalstats.cli.load import load
    from evalstats.errors import InputError

    if sources.where:
        message = "the report lab-live has no option --where; --lab-where and --live-where keep rows of one side"
        raise InputError(message)
    if sources.store is not None:
        if sources.targets or question["lab"] or question["live"]:
            message = "--store holds both sides, told apart by the column setting; leave out the paths, or --store"
            raise InputError(message)
        return load((), store=sources.store, quiet=quiet), None
    return load_sides(
        [Path(target) for target in sources.targets],
        lab=question["lab"],
        live=question["live"],
        wheres=(question["lab_where"], question["live_where"]),
        map_=sources.map_,
        declared=declared,
        input_format=sources.input_format,
        quiet=quiet,
    )


def arguments_of(question: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `evalstats.gap` that the options mean; what was not given is left to it.

    Files of aliases and of a mix stay paths, which the page reads itself.

    Examples
    --------
    >>> arguments_of({"margin": "5pp", "cluster": ["user"], "top": "3,5", "seed": 0})
    {'margin': '5pp', 'cluster': ['user'], 'top': (3, 5), 'seed': 0}
    """
    from evalstats.cli.arena import cluster_of
    from evalstats.cli.leaderboard import whole_numbers

    top = question.get("top")
    mix = question.get("mix")
    found: dict[str, Any] = {
        **{name: question.get(name) for name in ("metric", "lab_metric", "live_metric", "margin", "models")},
        "by": question.get("by"),
        "cluster": cluster_of(question.get("cluster")),
        "lab_cluster": cluster_of(question.get("lab_cluster")),
        "live_cluster": cluster_of(question.get("live_cluster")),
        "aliases": question.get("aliases"),
        "mix": mix if mix in (None, _SHIPPED_MIX) else Path(mix),
        "same_scale": question.get("same_scale"),
        "conf_level": question.get("conf_level"),
        "top": None if top is None else tuple(whole_numbers(top)),
        "n_resamples": question.get("resamples"),
        "min_cell": question.get("min_cell"),
        "seed": question["seed"],
    }
    return {name: value for name, value in found.items() if value is not None}


def readings(
    sources: "Sources", question: dict[str, Any], sides: "Sequence[EvalData | None]", plan: Path | None
) -> dict[str, str]:
    """Return the Python that reads either side, or both at once, for the page to print."""
    from evalstats.cli.report import reading

    def read(files: Sequence[str], where: Sequence[str] | None, data: "EvalData | None", name: str) -> str:
        votes = bool(where) and data is not None and not data.outcomes.height and data.comparisons.height > 0
        told = reading(
            files,
            store=sources.store,
            where=None if votes else where,
            map_=sources.map_,
            input_format=sources.input_format,
            plan=plan if plan and not sources.map_ and _declares_columns(plan) else None,
        )
        told = told or f"es.read({', '.join(map(json.dumps, files))})"
        return f"{told}\n{_kept(data, where or (), name)}" if votes and data is not None else told

    if sides[1] is None:
        return {"reading": read(sources.targets, None, sides[0], "data")}
    labs, lives = (tuple(map(str, question[name] or ())) for name in ("lab", "live"))
    return {
        "lab_reading": read(labs, question["lab_where"], sides[0], "lab"),
        "live_reading": read(lives, question["live_where"], sides[1], "live"),
    }


def _declares_columns(plan: Path) -> bool:
    from evalstats.loaders.plan_file import read_plan

    return bool(read_plan(plan).column_map)


def _kept(data: "EvalData", where: Sequence[str], name: str) -> str:
    """Return the line that keeps the votes in question, under the name that the data have on this page."""
    from evalstats.cli.report_arena import kept_line

    plain = "data = replace(data, comparisons=data.comparisons"
    return kept_line(data, where).replace(plain, plain.replace("data", name), 1)
