"""`evalstats label`: draw answers for people to label, say what their labels tell, read them back."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options
from evalstats.errors import InputError

if TYPE_CHECKING:
    from evalstats.exporters.label_sheet import LabelSheet


class SheetAction(StrEnum):
    """What to do with a sheet of labels."""

    DRAW = "draw"
    STATUS = "status"
    READ = "read"


class Drawn(StrEnum):
    """How items are drawn."""

    RANDOM = "random"
    STRATIFIED = "stratified"
    DISAGREEMENT = "disagreement"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("label", cls=options.Command)(label)


def label(
    action: Annotated[SheetAction, typer.Argument(metavar="ACTION", help="What to do.")],
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATHS", help="For draw: result files or a store; otherwise the sheet.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The sheet, .csv or .json (Label Studio); for read, the table of labels.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="Items to draw; default: 100.", show_default=False)
    ] = None,
    how: Annotated[
        Drawn | None,
        typer.Option(
            "--how",
            help="random; stratified by the judge's score; disagreement: half where systems' scores differ. Default: random.",
            show_default=False,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", metavar="NAME", help="Systems to draw; may be repeated. Default: all.", show_default=False
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", metavar="NAME", help="The judge's metric.", show_default=False)
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show", metavar="COLUMN", help="Column to show in the sheet; may be repeated.", show_default=False
        ),
    ] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Hide which system answered.")] = False,
    half_width: Annotated[
        str | None,
        typer.Option(
            "--half-width",
            metavar="AMOUNT",
            help="For status: half-width wanted for the scores, such as 0.03 or 5pp.",
            show_default=False,
        ),
    ] = None,
    rater: Annotated[
        str | None, typer.Option("--rater", metavar="NAME", help="For read: name of the rater.", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Random seed.", show_default=False)] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="COLUMN=LEVEL", help="Draw from such rows; may be repeated.", show_default=False
        ),
    ] = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw answers for people to label, and read their labels.

    draw writes a sheet, and a key with the sampling probability of each item; status reports the precision of the corrected
    scores so far and what further labels would add; read writes the table for --labels.
    """
    of_draw = {
        "--n": n, "--how": how, "--system": system, "--metric": metric, "--show": show, "--blind": blind or None, "--seed": seed,
        "--where": where, "--map": map_, "--input-format": input_format,
    }  # fmt: skip
    own = {SheetAction.DRAW: [*of_draw], SheetAction.STATUS: ["--half-width"], SheetAction.READ: ["--rater"]}
    given = {**of_draw, "--half-width": half_width, "--rater": rater}
    for name, value in given.items():
        if value is not None and name not in own[action]:
            raise InputError(f"{name} is not an option of label {action.value}; leave it out")
    if action is not SheetAction.STATUS and output is None:
        raise InputError(f"label {action.value} needs a file to write; name it with --output FILE")
    if action is SheetAction.DRAW and output is not None:
        from evalstats.cli.load import column_map, load
        from evalstats.exporters.label_sheet import draw_labels

        # Columns of texts are read where they are named.
        named = {"by": show}
        data = load(paths, where=where, columns=column_map(map_), input_format=input_format, asked=named, quiet=quiet)
        sheet = draw_labels(
            data,
            system or None,
            n=100 if n is None else n,
            how=(how or Drawn.RANDOM).value,
            metric=metric,
            show=show or (),
            blind=blind,
            seed=seed or 0,
        )
        sheet.write(output)
        _tell_drawn(sheet, output, quiet=quiet)
        return
    from evalstats.exporters.label_sheet import key_path, open_labels

    if len(paths) != 1:
        raise InputError(f"label {action.value} takes one sheet, and {len(paths)} files were given")
    sheet = open_labels(paths[0])
    if action is SheetAction.STATUS:
        _tell_status(sheet, half_width)
    elif output is not None:
        if output.resolve() in {each.resolve() for each in (paths[0], key_path(paths[0]))}:
            raise InputError(f"{output}: is the sheet or its key, which labels must not replace; name another file")
        _write_ratings(sheet, output, rater or "person", quiet=quiet)


def _tell_drawn(sheet: "LabelSheet", output: Path, *, quiet: bool) -> None:
    from evalstats.cli.output import say
    from evalstats.exporters.label_sheet import key_path
    from evalstats.grammar import plural

    n, total = plural(len(sheet.places), "item"), f"{len(sheet.judged):,}"
    say(f"{n} of {total} drawn ({sheet.how}): {plural(len(sheet.rows), 'answer')} to label", quiet=quiet)
    say(
        f"written: {output}, and its key {key_path(output).name}, which shows who answered: keep it from those who label"
    )
    if not sheet.rows[0].shown:
        say("note: the sheet shows no text; name columns of the data with --show COLUMN", quiet=quiet)
    if n_named := sheet.n_naming():
        say(f"note: {plural(n_named, 'shown text')} name a system, so that these rows are not blind", quiet=quiet)
    if output.suffix == ".json":
        say("The project's labelling interface:", quiet=quiet)
        typer.echo(sheet.label_studio_config(), nl=False)


def _tell_status(sheet: "LabelSheet", half_width: str | None) -> None:
    from evalstats.document.escape import wrapped
    from evalstats.document.numbers import interval_words, scaled, with_unit
    from evalstats.grammar import plural
    from evalstats.stats.raters.correction import FEWEST_LABELS

    metric = sheet.metric
    typer.echo(f"{sheet.n_filled} of {plural(len(sheet.places), 'drawn item')} labelled, {len(sheet.judged):,} in all.")
    if n := sheet.n_partly:
        typer.echo(
            f"{plural(n, 'item')} labelled for some systems only: {'it counts' if n == 1 else 'they count'} once all are."
        )
    if sheet.n_filled < FEWEST_LABELS:
        typer.echo(f"With {FEWEST_LABELS} or more, the precision of scores and the value of more labels are known.")
        return
    for row in sheet.status(half_width).to_dicts():
        unit = metric.shown_unit if " minus " in row["name"] and row["name"] not in sheet.systems else metric.score_unit
        estimate = with_unit(scaled(row["estimate"], metric.scale, 1), unit)
        text = f"{row['name']}: {estimate}, no interval yet"
        if row["half_width"] is not None:
            reached, wanted = (scaled(row[name], metric.scale, 1) for name in ("half_width", "wanted"))
            ends = interval_words(row["conf_low"], row["conf_high"], metric.scale)
            text = f"{row['name']}: {estimate} (95% CI {ends}), ±{reached}. "
            more = (row["n_needed"] or 0) - row["n_labels"]
            if row["n_needed"] is None:
                text += f"Labels for all items would not reach ±{wanted}."
            elif more <= 0:
                text += f"±{wanted} is reached."
            else:
                text += f"About {more:,} more items give ±{wanted}."
        typer.echo("\n".join(wrapped(text, 80)))


def _write_ratings(sheet: "LabelSheet", output: Path, rater: str, *, quiet: bool) -> None:
    import polars as pl

    from evalstats.atomic import write_whole
    from evalstats.cli.output import say
    from evalstats.grammar import plural

    ratings = sheet.ratings(rater).ratings
    names = [
        name
        for name in ("task", "item", "variant", "model", "rater", "rater_kind", "value", "label_prob")
        if name in ratings.columns
    ]
    # Names stay what they are, or no answer is found again: a mark before a formula alone, which reading takes away.
    marked = pl.col(pl.String).str.replace(r"^([=+@\t\r-])", "'$1")
    write_whole(output, ratings.select(names).with_columns(marked).write_csv())
    if n := sheet.n_partly:
        say(f"note: {plural(n, 'item')} labelled for some systems only, and dropped", quiet=quiet)
    say(f"written: {output}, {plural(ratings.height, 'label')} of {plural(sheet.n_filled, 'item')}", quiet=quiet)
