"""`evalstats flips`: the items on which two systems differ, a view of what `compare` answers."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from evalstats.cli.command import Showing, add_command
from evalstats.cli.gate import CANNOT_ANSWER
from evalstats.cli.options import OutputStyle
from evalstats.cli.question import Planned, answer
from evalstats.cli.reading import Call, TwoSides
from evalstats.cli.texts import Texts
from evalstats.cli.values import read_values
from evalstats.errors import InputError
from evalstats.options import Offered, offered
from evalstats.questions import QUESTIONS, signature_of

_HELP = """List the items on which two systems differ, losses first.

Give two runs as for compare, or a saved comparison (RESULT.json). Slices of the items (category, scenario, tags) are named if
losses concentrate in them beyond chance, adjusted for all slices."""
# What of a comparison decides which items flipped, and in which slices losses concentrate.
_OF_ITEMS = (
    *("baseline", "candidate", "metric", "by", "cluster", "conf_level", "contrast", "higher_is_better"),
    *("paired", "pass_hat", "pass_at", "shared_trials", "accept", "seed"),
)
_HINT = "More: --full (all items), --texts (what was asked and answered), --report FILE."


def register(app: typer.Typer) -> None:
    """Add the command: the data and plan of a comparison, and of its options those that concern single items."""
    options = [each for each in offered(signature_of("compare")) if each.name in _OF_ITEMS]
    add_command(app, "flips", partial(flips, options), TwoSides, Planned, Texts, Showing, options=options, help=_HELP)


def flips(
    options: Sequence[Offered],
    form: TwoSides,
    planned: Planned,
    texts: Texts,
    showing: Showing,
    *,
    typed: Mapping[str, Any],
) -> None:
    """Compare, or open what was compared, and show the items that flipped."""
    from evalstats.analysis.compare.evidence import ChangedItems
    from evalstats.analysis.compare.result import Comparison
    from evalstats.analysis.saved import RESULTS, load_result

    saved = {target: name for target in form.targets if (name := _saved_as(Path(target))) in RESULTS}
    for target, name in saved.items():
        if name not in ("Comparison", "Comparisons") or len(form.targets) > 1:
            kind = next((each.name for each in QUESTIONS.values() if each.result == name), "compare")
            raise InputError(
                f"{target} is what {kind} saved; flips needs one saved comparison and nothing beside it, or the results of two "
                "runs"
            )
    data: list[Any] = []
    if saved:
        given = [each for each in options if typed.get(each.name) not in (None, (), [], each.default)]
        if given:
            raise InputError(
                f"{form.targets[0]} is a saved comparison, which was asked already; leave out {given[0].flags[0]}, or give the "
                "result files"
            )
        result = load_result(form.targets[0])
    else:
        given, declared = read_values(options, typed), planned.declared(quiet=showing.quiet)
        call = Call(
            question=QUESTIONS["compare"], given=given, declared=declared, full=showing.full, quiet=showing.quiet
        )
        result, data = answer(call, form, options, showing)
    if not isinstance(result, Comparison):
        raise InputError("items flip by one metric, and several were compared; name one with --metric")
    whole = showing.format in (OutputStyle.CSV, OutputStyle.JSON)
    result = texts.of(result, data, paths=form.targets, every=showing.full or whole, uncut=whole)
    showing.present(ChangedItems(result), page=result, hint=_HINT)
    if not result.answered:
        raise typer.Exit(CANNOT_ANSWER)


def _saved_as(path: Path) -> object:
    """Return the kind of result that a file holds; None where it is none."""
    from evalstats.loaders.base import read_head

    return read_head(path).members.get("result") if path.suffix.lower() == ".json" and path.is_file() else None
