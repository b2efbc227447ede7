"""What was typed as values of Python: texts, NAME=VALUE pairs and files become what a question's function takes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalstats.errors import InputError
from evalstats.options import Offered

if TYPE_CHECKING:
    import polars as pl

    from evalstats.schema.data import EvalData
    from evalstats.schema.plan import LiveMix

SHIPPED_MIX = "rutbench"


def read_values(options: Sequence[Offered], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a question as its function takes them; names of systems and metrics stay as they were typed.

    InputError if a text or a file is not what it must be.
    """
    given = {each.name: _value(each, typed[each.name]) for each in options}
    if (weights := typed.get("weights")) is not None and isinstance(weights, Path):
        from evalstats.loaders.declarations import read_live_mix

        mix = read_live_mix(weights, factor=given["over"] or "")
        given |= {"over": given["over"] or mix.factor or None, "weights": mix.shares}
    if typed.get("mix") is not None:
        given["mix"] = _mix_of(typed["mix"], given["by"])
    return given


def _value(option: Offered, value: Any) -> Any:
    if value is None or value is option.default:
        return value
    if option.flag.reads in _READERS:
        return _READERS[option.flag.reads](value, option)
    if option.flag.reads:  # shares and a mix need another option, names the data
        return value
    if option.takes(Mapping):
        return pairs_of(option, value)
    if option.takes(tuple):
        return _trials(value)
    if Sequence[int] in option.kinds:
        return whole_numbers(value, option.flags[0])
    return _unless_alone(option, value) if option.several else value


def _unless_alone(option: Offered, values: Sequence[str]) -> str | Sequence[str]:
    """Return one value by itself where the function takes that; a word that means all or none stands beside no other."""
    for word in option.flag.alone:
        if word in values and len(values) > 1:
            raise InputError(f"{option.flags[0]} {word} stands beside other columns; give {word} alone, or columns")
    return values[0] if len(values) == 1 and option.takes(str) else values


def pairs_of(option: Offered, texts: Sequence[str]) -> Any:
    """Read NAME=VALUE; what follows the last equals sign is the value. A bare word or number, where taken, is all there is."""
    flag, numbers = option.flags[0], Mapping[str, float] in option.kinds
    like = option.flag.metavar if "=" in option.flag.metavar else "NAME=NUMBER, such as item=2"
    if len(texts) == 1 and "=" not in texts[0] and option.takes(str):
        return texts[0]
    if len(texts) == 1 and "=" not in texts[0] and option.takes(float):
        return _number(texts[0], f"{flag} {texts[0]!r} is no number; give one, or {like}")
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        refused = f"{flag} {text!r} is not understood; give {like}"
        if not equals or not name or not value:
            raise InputError(refused)
        if name in found:
            raise InputError(f"{flag} names {name!r} twice; give it once")
        found[name] = _number(value, refused) if numbers else value
    return found


def _number(text: str, refused: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(refused) from None


def whole_numbers(texts: Sequence[str], flag: str) -> tuple[int, ...]:
    """Read whole numbers, each given alone or several with commas between them; anything else is an InputError.

    >>> whole_numbers(["1,3", "5"], "--top")
    (1, 3, 5)
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(part.isdecimal() and part.isascii() for part in parts):
        raise InputError(f"{flag} is {','.join(texts)!r}; give whole numbers from 1, such as 1,3,5")
    return tuple(map(int, parts))


def _trials(text: str) -> float | tuple[float, float]:
    refused = f"--trials {text!r} is no number of trials; write 3, or 3,5 for baseline and candidate"
    counts = [_number(part, refused) for part in text.split(",")]
    if len(counts) > 2:
        raise InputError(refused)
    return counts[0] if len(counts) == 1 else (counts[0], counts[1])


def weights_of(texts: Sequence[str]) -> str | dict[str, float]:
    """Read equal, observed, or shares of scenarios; a share may be a percentage.

    A level whose name has a comma or an equals sign in it goes into a `--weights` of its own: what follows the last equals
    sign is the share. InputError if the text is neither, or a level is named twice.

    >>> weights_of(["observed"]), weights_of(["ideal=60%,hostile=0.4"])
    ('observed', {'ideal': 0.6, 'hostile': 0.4})
    """
    if len(texts) == 1 and texts[0] in ("equal", "observed"):
        return texts[0]
    shares: dict[str, float] = {}
    for text in texts:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        # Where one of the parts would have no share, a name holds a comma.
        for part in parts if parts and all("=" in part for part in parts) else [text]:
            refused = f"--weights {text!r} is not understood at {part!r}; give equal, observed, or LEVEL=SHARE,..."
            level, equals, share = part.rpartition("=")
            if not equals or not level:
                raise InputError(refused)
            if level in shares:
                raise InputError(f"--weights names {level!r} twice; give every scenario once")
            value = _number(share.strip().removesuffix("%"), refused)
            shares[level] = value / 100 if share.strip().endswith("%") else value
    return shares


def _label_table(path: Path) -> "EvalData | pl.DataFrame":
    """Read people's labels: the ratings of a store, or a table with its own columns."""
    import polars as pl

    from evalstats.cli.load import load
    from evalstats.exporters.label_sheet import key_path, open_labels
    from evalstats.loaders.ratings import read_table
    from evalstats.store.manifest import is_store

    if is_store(path):
        return load((), store=path, quiet=True)
    if key_path(path).is_file():
        return open_labels(path).ratings()
    # What `label read` disarmed for spreadsheets is the name again.
    return read_table(path).with_columns(pl.col(pl.String).str.replace(r"^'([=+@\t\r-])", "$1"))


def _results(path: Path) -> "EvalData":
    """Read results beside those that a question is about, from a store or files: people's votes, a new model's answers."""
    from evalstats.cli.load import load
    from evalstats.store.manifest import is_store

    return load((), store=path, quiet=True) if is_store(path) else load((path,), quiet=True)


def _mix_of(given: str, by: str | Sequence[str] | None) -> "LiveMix":
    """Return the live mix that --mix names: the one that ships, or that of a file."""
    if given == SHIPPED_MIX:
        from evalstats.datasets.tables import rutbench_live_mix

        return rutbench_live_mix()
    from evalstats.loaders.declarations import read_live_mix

    factors = [by] if isinstance(by, str) else by or ()
    return read_live_mix(given, factor=factors[0]) if len(factors) == 1 else read_live_mix(given)


def _amount(text: str, option: Offered) -> float:
    from evalstats.analysis.power.basis import plain_amount

    return plain_amount(text, option.name)


def _aliases(path: Path, _: Offered) -> dict[str, str]:
    from evalstats.loaders.declarations import read_aliases

    return read_aliases(path)


_READERS: Mapping[str, Callable[[Any, Offered], Any]] = {
    "amount": _amount,
    "weights": lambda texts, _: weights_of(texts),
    "labels": lambda path, _: _label_table(path),
    "results": lambda path, _: _results(path),
    "aliases": _aliases,
}


def with_names(options: Sequence[Offered], given: Mapping[str, Any], sides: Sequence["EvalData"]) -> dict[str, Any]:
    """Return the options with A,B,C split at its commas, except where the whole is itself a name in the data."""
    found = dict(given)
    for each in options:
        value = given[each.name]
        if each.flag.reads == "names" and value:
            aliases: Mapping[str, str] = given.get("aliases") or {}
            have = names_in(sides) | {*aliases, *aliases.values()}
            found[each.name] = [
                name
                for text in ([value] if isinstance(value, str) else cast("Sequence[str]", value))
                for name in ([text] if text in have else text.split(","))
                if name
            ]
        elif each.flag.reads == "metrics" and value:
            found[each.name] = _metrics(value, {name for data in sides for name in data.outcomes["metric"].unique()})
    return found


def names_in(sides: Sequence["EvalData"]) -> set[str]:
    """Return all names of runs, systems and models."""
    columns = ("run", "system", "model", "model_a", "model_b")
    return {
        name
        for data in sides
        for table in (data.outcomes, data.aggregates, data.comparisons)
        for column in columns
        if column in table.columns
        for name in table[column].unique().to_list()
    }


def _metrics(value: str, have: set[str]) -> str | list[str]:
    """Split A,B at the commas, except within the name of a metric that holds one, such as "acc,none"."""
    if value in have or "," not in value:
        return value
    parts, found = [part.strip() for part in value.split(",") if part.strip()], list[str]()
    while parts:
        taken = next((n for n in range(len(parts), 1, -1) if ",".join(parts[:n]) in have), 1)
        found.append(",".join(parts[:taken]))
        parts = parts[taken:]
    return found
