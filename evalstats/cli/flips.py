"""`evalstats flips`: the items on which two systems differ, a view of what `compare` answers."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from evalstats.cli.command import Showing, add_command
from evalstats.cli.gate import CANNOT_ANSWER
from evalstats.cli.question import Planned, answer
from evalstats.cli.reading import Call, TwoSides
from evalstats.cli.texts import Texts
from evalstats.cli.values import read_values
from evalstats.errors import InputError
from evalstats.options import Offered, offered
from evalstats.questions import QUESTIONS, signature_of

_HELP = """List the items on which two systems differ, losses first.

Asked as compare is, or of what compare saved (RESULT.json). Slices of the items (category, scenario, tags) are named where losses
concentrate in them beyond chance, all slices counted."""
_HINT = "More: --full (all items), --texts (what was asked and answered), --report FILE."


def register(app: typer.Typer) -> None:
    """Add the command: the data, options and plan of a comparison."""
    options = list(offered(signature_of("compare")))
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
    from evalstats.analysis.compare.changed_items import ChangedItems
    from evalstats.analysis.compare.result import Comparison
    from evalstats.analysis.result import load_result

    saved = [target for target in form.targets if _is_saved(Path(target))]
    if saved and len(form.targets) > 1:
        raise InputError(
            f"{saved[0]} is a saved comparison and stands alone; found {len(form.targets) - 1} more beside it"
        )
    data: list[Any] = []
    if saved:
        given = [each for each in options if typed.get(each.name) not in (None, (), [], each.default)]
        if given:
            raise InputError(
                f"{saved[0]} is a saved comparison, which was asked already; leave out {given[0].flags[0]}, or give the result "
                "files"
            )
        result = load_result(saved[0])
    else:
        given, declared = read_values(options, typed), planned.declared(quiet=showing.quiet)
        call = Call(question=QUESTIONS["compare"], given=given, declared=declared, quiet=showing.quiet)
        result, data = answer(call, form, options, showing)
    if not isinstance(result, Comparison):
        raise InputError(
            f"items flip by one metric, and this is a {type(result).__name__}; name one metric with --metric"
        )
    result = texts.of(result, data, paths=form.targets, every=showing.full)
    showing.present(ChangedItems(result), page=result, hint=_HINT)
    if not result.answered:
        raise typer.Exit(CANNOT_ANSWER)


def _is_saved(path: Path) -> bool:
    """Whether a file is a result that `compare` saved."""
    from evalstats.loaders.base import read_head

    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    return read_head(path).members.get("result") in ("Comparison", "Comparisons")
