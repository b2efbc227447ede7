"""`evalstats report arena`: the options that this page alone takes, and how it is asked for."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.arena import BothBad, ScaleOf, TiesAs

if TYPE_CHECKING:
    from evalstats.cli.report import Documents, Sources
    from evalstats.schema.data import EvalData

Ties = Annotated[
    TiesAs | None,
    typer.Option(help="For an arena: a tie is half a win (default), or an outcome of its own.", show_default=False),
]
Covariate = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="For an arena: hold the pair of columns NAME_a and NAME_b equal; may be repeated.",
        show_default=False,
    ),
]
Style = Annotated[
    bool,
    typer.Option("--style", help="For an arena: hold length, headers, lists and bold equal, where votes have them."),
]
Side = Annotated[bool, typer.Option("--side", help="For an arena: hold the side, or the order shown, equal.")]
BothBadAs = Annotated[
    BothBad | None,
    typer.Option("--both-bad", help="For an arena: what a vote that both are bad is in ratings.", show_default=False),
]
Prior = Annotated[
    float | None,
    typer.Option(
        metavar="WINS",
        min=0.0,
        help="For an arena: wins and losses against an average model to add to each, such as 0.5.",
        show_default=False,
    ),
]
Anchor = Annotated[
    str | None, typer.Option(metavar="MODEL", help="For an arena: count ratings from this model.", show_default=False)
]
Scale = Annotated[ScaleOf | None, typer.Option(help="For an arena: scale of ratings.", show_default=False)]
Resamples = Annotated[
    int | None,
    typer.Option("--resamples", min=1, help="For an arena: rounds of bootstraps.", show_default=False),
]
OnlineElo = Annotated[
    bool, typer.Option("--online-elo", help="For an arena: also show ratings by one pass over the votes.")
]
NoChecks = Annotated[bool, typer.Option("--no-checks", help="For an arena: do not test fit, trust and drift (faster).")]

# The options above by name: other pages have no use for them.
OF_ARENA = (
    "ties",
    "covariate",
    "style",
    "side",
    "both_bad",
    "prior",
    "anchor",
    "scale",
    "resamples",
    "online_elo",
    "no_checks",
)
# What other pages take, and an arena has no use for.
FOREIGN_TO_ARENA = (
    "metric",
    "candidate",
    "baseline",
    "margin",
    "adjust",
    "contrast",
    "pass_hat",
    "pass_at",
    "sequential",
    "planned_n",
    "accept",
    "missing",
)


def arena_report(documents: "Documents", sources: "Sources", question: dict[str, Any]) -> None:
    """Read the votes, ask once without checks, so that what cannot be answered ends as it does for `arena`, and render."""
    from evalstats.analysis.arena.arena import arena
    from evalstats.analysis.arenas.words import has_ranks
    from evalstats.cli.arena import load_votes, names_of
    from evalstats.cli.load import column_map
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.report import reading
    from evalstats.cli.show import step_line

    paths = [Path(target) for target in sources.targets]
    declared = declared_plan(sources.plan, wanted=not sources.no_plan, quiet=documents.quiet)
    given = column_map(sources.map_)
    columns = given or columns_for(declared, paths)
    data = load_votes(
        paths,
        store=sources.store,
        where=sources.where,
        columns=columns,
        input_format=sources.input_format,
        quiet=documents.quiet,
    )
    asked = arguments_of({**question, "models": names_of(question["models"], data)})
    with step_line(quiet=documents.quiet) as on_step:
        on_step("rating the models")
        # What is drawn or checked beside the ratings is left to the page.
        beside: dict[str, Any] = {"checks": False, "by": None, "n_resamples": None, "online": False}
        answered = arena(data, **{**asked, **beside}, plan=declared.plan if declared else None)
    plan = (sources.plan or Path("evalstats.toml")) if declared else None
    told = reading(
        [] if sources.store else sources.targets,
        store=sources.store,
        where=None,
        map_=sources.map_,
        input_format=sources.input_format,
        plan=plan if columns is not None and given is None else None,
    )
    if sources.where:
        names = ", ".join(json.dumps(name) for name in sources.targets)
        told = f"{told or f'es.read({names})'}\n{kept_line(data, sources.where)}"
    documents.render(data=data, options={**asked, "plan": plan, **({"reading": told} if told else {})})
    if not has_ranks(answered):
        raise typer.Exit(3)


def kept_line(data: "EvalData", conditions: Sequence[str]) -> str:
    """Return the Python that keeps the votes that --where names, for the page to print."""
    import polars as pl

    from evalstats.cli.load import conditions as levels_of

    kept: list[str] = []
    for name, levels in levels_of(conditions).items():
        listed = json.dumps(levels)
        if name == "model":
            kept.append(" | ".join(f'pl.col("{side}").is_in({listed})' for side in ("model_a", "model_b")))
        elif isinstance(data.comparisons.schema[name], pl.List):
            kept.append(
                " | ".join(f"pl.col({json.dumps(name)}).list.contains({json.dumps(level)})" for level in levels)
            )
        else:
            kept.append(f"pl.col({json.dumps(name)}).cast(pl.String).is_in({listed})")
    return f"data = replace(data, comparisons=data.comparisons.filter({', '.join(kept)}))"


def arguments_of(question: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `evalstats.arena` that the options mean; what was not given is left to it.

    Raises
    ------
    InputError
        If options contradict each other.

    Examples
    --------
    >>> arguments_of({"ties": "davidson", "style": True, "cluster": ["rater"], "no_checks": None, "seed": 0})
    {'ties': 'davidson', 'cluster': ['rater'], 'covariates': 'auto', 'checks': True, 'seed': 0}
    """
    from evalstats.cli.arena import cluster_of, style_of

    by = question.get("by")
    found: dict[str, Any] = {
        "ties": question.get("ties"),
        "cluster": cluster_of(question.get("cluster")),
        "covariates": style_of(question.get("covariate"), held=bool(question.get("style"))),
        "side": question.get("side"),
        "by": None if by == "none" else by,
        "both_bad": question.get("both_bad"),
        "prior": question.get("prior"),
        "anchor": question.get("anchor"),
        "scale": question.get("scale"),
        "models": question.get("models"),
        "conf_level": question.get("conf_level"),
        "n_resamples": question.get("resamples"),
        "online": question.get("online_elo"),
        "checks": not question.get("no_checks"),
        "seed": question["seed"],
    }
    return {name: value for name, value in found.items() if value is not None}
