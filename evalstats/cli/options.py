"""Options that mean the same thing in every command."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    LATEX = "latex"
    CSV = "csv"


Paths = Annotated[list[Path] | None, typer.Argument(help="Result files, folders, or a store.", show_default=False)]
StoreDir = Annotated[
    Path | None, typer.Option("--store", help="Folder of ingested results to read from.", show_default=False)
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file instead of the screen.", show_default=False)
]
TrialsFromRuns = Annotated[
    bool, typer.Option("--trials-from-runs", help="Take several runs of one system (seeds) as trials of its items.")
]
SharedTrials = Annotated[
    bool | None,
    typer.Option(
        "--shared-trials/--independent-trials",
        help="Whether trial k is the same judge or seed on all sides; default: where trials have the same labels.",
        show_default=False,
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="Score to use; default: the benchmark's headline.", show_default=False),
]
HigherIsBetter = Annotated[
    bool | None,
    typer.Option(
        "--higher-is-better/--lower-is-better",
        help="Which way the metric is better, where neither files nor plan say.",
        show_default=False,
    ),
]
ReportBy = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Factor to split by; a report splits by scenario by itself, and not at all with --by none.",
        show_default=False,
    ),
]
Cluster = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster",
        "-c",
        help="Column whose levels share something; may be repeated; none: items share nothing.",
        show_default=False,
    ),
]
ConfLevel = Annotated[float, typer.Option("--conf-level", help="Level of the intervals.")]
PlannedLevel = Annotated[
    float | None,
    typer.Option("--conf-level", help="Level of the intervals; default: 0.95, or the plan's.", show_default=False),
]
Full = Annotated[bool, typer.Option("--full", help="Print all evidence, the method and every note.")]
Report = Annotated[
    list[Path] | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Also render this very result as a page: FILE.html or FILE.pdf; may be repeated.",
        show_default=False,
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Also explain the method, its assumptions and the verdict in plain words.")
]
Seed = Annotated[int, typer.Option("--seed", help="For permutations; intervals do not depend on it.")]
Contrast = Annotated[str, typer.Option("--contrast", help="What names the two sides: model, or another column.")]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept", metavar="SETTING", help="The runs differ in this on purpose; may be repeated.", show_default=False
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="bounded|ignorable",
        help="ignorable: scores are missing for a reason that has nothing to do with the answers; default: they could be "
        "anything.",
        show_default=False,
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", help="Declared plan; default: evalstats.toml in this folder.", show_default=False),
]
NoPlan = Annotated[bool, typer.Option("--no-plan", help="Do not look for evalstats.toml.")]
PassHat = Annotated[
    int | None,
    typer.Option("--pass-hat", metavar="K", help="Ask for pass^K: all of K trials succeed.", show_default=False),
]
PassAt = Annotated[
    int | None,
    typer.Option("--pass-at", metavar="K", help="Ask for pass@K: any of K trials succeeds.", show_default=False),
]


class Averages(StrEnum):
    """What counts alike in a mean."""

    MICRO = "micro"
    MACRO = "macro"


Average = Annotated[
    Averages | None,
    typer.Option(
        "--average", help="macro: every task (scenario, subject) counts alike; micro: every item.", show_default=False
    ),
]
AverageOver = Annotated[
    str | None,
    typer.Option(
        "--average-over",
        metavar="FACTOR",
        help="Factor to average over; default: task, scenario, subject or category, the first with several levels.",
        show_default=False,
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        "--weights", help="Share of each level, instead of --average: CSV (level,share) or TOML.", show_default=False
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Keep rows with COLUMN=LEVEL; may be repeated.", show_default=False),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="For a table or votes of your own: STANDARD=COLUMN, score=COLUMN:lower, scale=1..5, unscored=-1, rows=PATH inside "
        "JSON, or a TOML file; may be repeated.",
        show_default=False,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option("--input-format", help="Format of the files, if detection should be passed by.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Never colour the output.")]
