"""Systems on different users or items: whether their rows are anybody's pairs, and what it is that they do not share."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.design.averages import Average
from evalstats.analysis.design.clusters import label_of
from evalstats.document.model import Note
from evalstats.document.numbers import p_words
from evalstats.errors import InputError, Option
from evalstats.grammar import plural_of
from evalstats.record import record
from evalstats.schema.columns import CONVERSATIONS, KEYS, PERSONS, column_names, plain
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_ITEMS
from evalstats.stats.unpaired import sample_ratio_p
from evalstats.table.items import Floats, Ints
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System

_KEY_OF = r"(?:^|_)({})(?:_?(?:id|key|hash|uuid|no|number))?s?$"
_USER = re.compile(_KEY_OF.format("|".join((*PERSONS, *CONVERSATIONS, "device"))))
# Who is one person: of one conversation or session there may be another like it on the other side.
_PERSON = re.compile(_KEY_OF.format("|".join(PERSONS)))
# Up to so large a share of users who met two arms, they strayed.
_FEW_MET = 0.05
# Clusters of whom so large a share met two arms are nothing in which the arms differ; persons of whom so many met all are pairs.
_MANY_MET = 0.5
# Below this p no chance explains the sizes.
_MISMATCH = 0.001
_WHOSE = ("on both sides", "for all systems")


def numbers_its_rows(data: EvalData, runs: Sequence[str], *, paired: bool | None = None) -> bool:
    """Whether the items of some run are the numbers of its rows, which pair up with nothing.

    Where each column is a model, a row is an item of all of them, unless the user says that they are not `paired`.
    """
    maps = [map_["columns"] for map_ in data.column_maps(runs)]
    across = [] if paired is False else ["#columns"]
    return any(columns.get("item") == ["#row"] and columns.get("model", "") != across for columns in maps)


def may_be_unpaired(data: EvalData, runs: Sequence[str]) -> bool:
    """Whether items may be users, or rows may be numbered, so that it is worth a look at all rows."""
    return numbers_its_rows(data, runs) or bool(_people(data, runs))


def persons_as_items(
    data: EvalData, arms: Sequence[System], *, paired: bool | None, within: Iterable[str] = ()
) -> tuple[EvalData, tuple[System, ...], tuple[Note, ...]]:
    """Return data and arms with persons as the items and their rows as trials, where most persons met every arm; else as given.

    Only unasked, and of rows that are no items of another arm: compared row by row, arms differ by how often each person met
    them, too (Simpson's paradox). `within` are the factors that the question names: of each, a person has one level. Fewer
    persons than items can be are no items.
    """
    runs = [run for arm in arms for run in arm.runs]
    people = [name for name in _people(data, runs) if name != "item"]
    if paired is not None or data.merged or len(arms) < 2 or not people:
        return data, tuple(arms), ()
    numbered = numbers_its_rows(data, runs) and not all(rows_align(data, arms[0], arm) for arm in arms[1:])
    met: dict[str, int] = {}
    for name in people if numbered or _share_hardly(data, arms, runs, ["item"]) else ():
        if any(arm.rows[name].null_count() for arm in arms):
            continue
        n_levels = [pl.col(factor).n_unique() for factor in {*within} - {name}]
        persons = pl.concat(arm.rows.group_by(pl.col(name).cast(pl.String)).agg(n_levels) for arm in arms)
        n_arms = persons[name].value_counts()["count"]
        one_level = not persons.drop(name).width or persons.drop(name).max_horizontal().max() == 1
        n_met = int((n_arms == len(arms)).sum())
        if one_level and n_met >= max(FEW_ITEMS, _MANY_MET * len(n_arms)):
            met[name] = n_met
    if not met:
        return data, tuple(arms), ()
    person = max(met, key=lambda name: met[name])
    label, whose = label_of(person, data.factor_names()), "both sides" if len(arms) == 2 else "all systems"
    user = _PERSON.search(plain(label))
    who = plural_of(user[1] if user else label)
    text = f"Most {who} met {whose}, so each is compared with itself, over all its rows"
    note = Note(kind="choice", text=text, remedy=("To compare rows: ", Option("paired", value=False)))
    systems = tuple(replace(arm, rows=_by_person(arm.rows, person)) for arm in arms)
    return _items_are(data, person), systems, (note,)


def _items_are(data: EvalData, person: str) -> EvalData:
    """Return data as if read with these persons as the items, of which they then are no clusters."""
    configs = [None if config is None else json.loads(config) for config in data.runs["config"]]
    for config in configs:
        if config is not None and "columns" in config:
            config["columns"]["item"] = [person]
    runs = data.runs.with_columns(
        pl.Series("config", [None if config is None else json.dumps(config) for config in configs], dtype=pl.String),
        pl.col("dependence").list.set_difference([person]),
    )
    return replace(data, outcomes=_by_person(data.outcomes, person), runs=runs)


def _by_person(rows: pl.DataFrame, person: str) -> pl.DataFrame:
    item = pl.col(person).cast(pl.String)
    key = [name for name in KEYS["outcomes"] if name not in ("item", "trial")]
    return rows.with_columns(item=item, trial=pl.int_range(pl.len()).over(*key, item))


def unpaired_arms(
    data: EvalData, arms: Sequence[System], *, paired: bool | None
) -> tuple[tuple[System, ...], bool, bool]:
    """Return the arms, whether they are different users or items, and whether that is so for their numbered rows alone.

    Unpaired when asked. Unasked where one table has users of each arm, of whom hardly any met another; and where rows are
    numbered that nothing aligns: these are no items of another arm, so the arm is put before each number.
    """
    runs = [run for arm in arms for run in arm.runs]
    numbered = numbers_its_rows(data, runs, paired=paired)
    numbered = numbered and not all(rows_align(data, arms[0], arm) for arm in arms[1:])
    unpaired = not paired
    if paired is None:  # users, or rows of users, of whom hardly any met two arms
        people = _people(data, runs)
        unpaired = numbered or (bool(people) and _share_hardly(data, arms, runs, ["item", *people]))
    if unpaired and numbered:
        items = [arm.rows.with_columns(item=pl.format("{}/{}", pl.lit(arm.name), "item")) for arm in arms]
        arms = [replace(arm, rows=rows) for arm, rows in zip(arms, items, strict=True)]
    return tuple(arms), unpaired, paired is None and numbered


def _share_hardly(data: EvalData, arms: Sequence[System], runs: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether the arms of one table have hardly a level in common of each of the columns."""

    def apart(column: str) -> bool:
        levels = [arm.rows[column].drop_nulls().cast(pl.String).unique() for arm in arms]
        n, met = pl.concat(levels).n_unique(), sum(map(len, levels))
        return all(map(len, levels)) and met - n <= _FEW_MET * n

    return data.rows_of_runs(runs)["source"].n_unique() == 1 and all(map(apart, columns))


def _people(data: EvalData, runs: Sequence[str]) -> list[str]:
    """Return the columns that say who one person is: of items where these were read from such a column, else of factors."""
    if any(map(_PERSON.search, _item_columns(data, runs))):
        return ["item"]
    rows = data.outcomes
    return [name for name in rows.columns if _PERSON.search(name) and rows[name].null_count() < rows.height]


def covariate_of(table: ScoreTable, name: str, average: Average | None) -> Floats:
    """Return the covariate that was measured before, of every item that a system met."""
    if average is not None:
        raise InputError(
            f"the average over {average.label} and a covariate are two adjustments; leave out {Option('covariate')}, or the "
            "average"
        )
    seen = table.seen.any(axis=1)
    found = np.where(seen, table.items[name].cast(pl.Float64, strict=False).to_numpy(), np.nan).astype(np.float64)
    lost = int((seen & ~np.isfinite(found)).sum())
    if lost:
        raise InputError(
            f"covariate {name!r} is no number for {lost:,} of {int(seen.sum()):,} items, or differs within an item; "
            "fill it, or leave the covariate out"
        )
    return found


def rows_align(data: EvalData, first: System, second: System) -> bool:
    """Whether numbered rows are the same items in the same order.

    They are where some text that names most rows is alike on both sides, and where two files were numbered by the user's own
    word; the rows of one table with both sides in it are nobody's pairs.
    """
    key = ["task", "item", "variant", "trial"]
    one, other = (system.rows.sort(key, nulls_last=True) for system in (first, second))
    if not one.select(key).equals(other.select(key)):
        return False
    files = [{*data.rows_of_runs(system.runs)["source"]} for system in (first, second)]
    own = {*column_names("outcomes")}
    texts = [name for name in one.columns if name not in own and one[name].dtype == pl.String and name in other.columns]
    return (None not in files[0] | files[1] and files[0].isdisjoint(files[1])) or any(
        one[name].equals(other[name]) and not one[name].null_count() and one[name].n_unique() > one.height / 2
        for name in texts
    )


def rows_may_align(table: ScoreTable) -> tuple[Note, ...]:
    """Say how numbered rows are paired, where each system has as many."""
    # Items that were made of counts, or of a table's own rows, are those of no other row.
    if len({*table.seen.sum(axis=0).tolist()}) > 1 or not table.items["item"].str.contains(r"/\d+$").all():
        return ()
    remedy = (f"If row k is the same item {_WHOSE[len(table.names) > 2]}, add ", Option("paired", value=True))
    return (Note(kind="choice", text="Rows are numbered by their place and not paired", remedy=remedy, caution=False),)


def _item_columns(data: EvalData, runs: Sequence[str]) -> list[str]:
    """Return the columns that items were read from, in plain words."""
    return [plain(name) for map_ in data.column_maps(runs) for name in map_["columns"].get("item", ())]


def unit_label(column: str, data: EvalData, runs: Sequence[str]) -> str:
    """Return what a column of clusters is called; where it is the item, what items were read from."""
    label = label_of(column, data.factor_names())
    sources = {name for map_ in data.column_maps(runs) for name in map_["columns"].get("item", ())} - {"#row"}
    return sources.pop() if label == "item" and len(sources) == 1 else label


@record
class Units:
    """What systems do not share: users, sessions, items, in the plural; `column` has one level for each, None where rows are.

    `assigned` tells persons and sessions, which somebody split over the systems.
    """

    noun: str
    column: str | None = None
    assigned: bool = False


def assigned_units(data: EvalData, table: ScoreTable, clusters: Sequence[str]) -> Units:
    """Find what the systems do not share, as its column is called: clusters that hardly two systems have in common, else rows."""

    def met(codes: Ints) -> float:
        seen = np.zeros((int(codes.max(initial=0)) + 1, len(table.names)), dtype=np.int64)
        np.add.at(seen, codes, table.seen)
        return float(((seen > 0).sum(axis=1) > 1).mean())

    for column in sorted(clusters, key=lambda name: len(np.unique(table.codes(name)))):
        if met(table.codes(column)) < _MANY_MET:
            label = unit_label(column, data, table.runs)
            user = _USER.search(plain(label))
            return Units(noun=plural_of(user[1] if user else label), column=column, assigned=user is not None)
    if float((table.seen.sum(axis=1) > 1).mean()) >= _MANY_MET:
        return Units(noun="rows")
    user = next(filter(None, map(_USER.search, _item_columns(data, table.runs))), None)
    return Units(noun="items" if user is None else plural_of(user[1]), assigned=user is not None)


def met_by_several(table: ScoreTable, units: Units, clusters: Sequence[str]) -> tuple[Note, ...]:
    """Say how many users or items met several systems though none is paired: a caution where most of them did."""
    several = int((table.seen.sum(axis=1) > 1).sum())
    if not several:
        return ()
    many = several >= _MANY_MET * len(table)
    remedy = (
        (f"If they are the same {_WHOSE[len(table.names) > 2]}, add ", Option("paired", value=True)) if many else ()
    )
    noun = "items" if units.noun == "rows" else units.noun
    text = f"{several:,} of {len(table):,} {noun} have scores of several systems; none is paired"
    text += "" if clusters else ", and each is one cluster"
    return (Note(kind="choice", text=text, remedy=remedy, caution=many),)


def split_mismatch(data: EvalData, table: ScoreTable, units: Units, *, ratio: str | None = None) -> Note | None:
    """Say that the systems have other numbers of users than their ratio lets expect: no chance explains it.

    Against a declared ratio of baseline to candidate that is a caution. Undeclared, equal shares may have been meant where one
    table holds persons or sessions of all systems: a note. Counted are users, or rows, that were assigned, with a score or
    without.
    """
    codes = np.arange(len(table)) if units.column is None else table.codes(units.column)
    counts = [len(np.unique(codes[seen])) for seen in table.seen.T]
    files: list[set[object]] = [{*data.rows_of_runs(system.runs)["source"]} for system in table.systems]
    if ratio is None and not (units.assigned and files[0].intersection(*files[1:])):
        return None
    shares = None if ratio is None else _shares(ratio)
    p = sample_ratio_p(counts, shares)
    if p >= _MISMATCH:
        return None
    one, other = (0, 1) if len(counts) == 2 else (int(np.argmax(counts)), int(np.argmin(counts)))
    counted = f"{table.names[one]} has {counts[one]:,} {units.noun} and {table.names[other]} {counts[other]:,}"
    if ratio is None or shares is None:
        split = "1:1 was" if len(counts) == 2 else "equal shares were"
        text = f"{counted}; if {split} meant, that is no chance ({p_words(p)})"
        remedy = ("Compare tests the ratio that was meant: ", Option("ratio", blank="A:B"))
        return Note(kind="comparability", text=text, remedy=remedy, caution=False)
    text = (
        f"{counted}; in a ratio of {ratio} that is no chance ({p_words(p)}), and the difference cannot be trusted until the "
        "assignment is checked"
    )
    turned = ":".join(ratio.split(":")[::-1])
    fits = sample_ratio_p(counts, shares[::-1]) >= _MISMATCH
    remedy = ("The ratio is baseline:candidate; the other way round it fits: ", Option("ratio", turned)) if fits else ()
    return Note(kind="comparability", text=text, remedy=remedy)


def _shares(ratio: str) -> list[float]:
    """Return the shares of baseline and candidate in a ratio such as 60:40."""
    shares = [float(part) if part.strip().replace(".", "", 1).isdecimal() else 0.0 for part in f"{ratio}".split(":")]
    if len(shares) != 2 or min(shares) <= 0:
        raise InputError(f"ratio is {ratio!r}; give the shares of baseline and candidate, such as 60:40")
    return shares
