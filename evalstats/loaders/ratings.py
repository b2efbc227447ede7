"""Tables of ratings as `EvalData`: one row for each rating, or one for each thing with a column for each rater."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import cast

import polars as pl

from evalstats.errors import InputError, Option, may_fit
from evalstats.grammar import comma_list
from evalstats.loaders.arena_cells import labelled
from evalstats.loaders.base import read_head
from evalstats.loaders.binder import as_options, assigned, thinned
from evalstats.loaders.blocks import column_list, open_table
from evalstats.loaders.bound_columns import no_column, surveyed
from evalstats.loaders.column_map import ROW
from evalstats.loaders.frames import (
    digest_of_rows,
    in_standard_columns,
    of_known_format,
    plain_table,
    runs_of_frame,
)
from evalstats.loaders.registry import list_files, read, sniffed
from evalstats.loaders.roles import ROLES, SCORERS, SURE, is_called_score, names_a_judge, names_a_model, words_of
from evalstats.loaders.sampled_column import NAME_CHARS, AskedNames, SampledColumn
from evalstats.loaders.values import NO_VALUE, as_number, as_text, text_of, word_score
from evalstats.loaders.voted_columns import votes_in
from evalstats.schema.columns import KEYS, is_answer
from evalstats.schema.data import EvalData
from evalstats.schema.in_memory import as_polars
from evalstats.schema.names import names_of
from evalstats.schema.tables import check_table, levels_of

# What these hold are names, also where all are digits: "007" is not 7.
_NAMES = frozenset({"task", "item", "variant", "model", "run", "rater"})
# Who rated, where a column of ratings is named so and is no judge's.
_PEOPLE = frozenset({"human", "humans", "person", "expert", "annotator"})
_MOST_LABELS = 20
# So many columns of a role are tried, and so many maps.
_TRIED, _MOST_MAPS = 4, 200
# Words for the steps of a scale, the lowest first.
_STEPS = (
    "very poor, poor, fair, good, very good, excellent",
    "very bad, bad, neutral, good, very good",
    "strongly disagree, disagree, neutral, agree, strongly agree",
    "never, rarely, sometimes, often, always",
    "low, medium, high",
)


def from_ratings(
    frame: object,
    *,
    item: str | None = None,
    rater: str | None = None,
    value: str | None = None,
    raters: Sequence[str] = (),
    humans: str | Sequence[str] = (),
    benchmark: str = "ratings",
    **columns: str,
) -> EvalData:
    """Make `EvalData` of ratings that people and judges gave to the same things.

    Parameters
    ----------
    frame
        A pandas, Polars, pyarrow or DuckDB table, lazy or not, or a dict of columns.
    item, rater, value
        Columns with what was rated (or ``"#row"``, each row), who rated it, and the rating, a number or a label; by themselves
        those called so (the rating also label), else the one column with another name for it (`question_id`, `annotator`,
        `score`).
    raters
        Instead of these two: columns that hold one rater's ratings each. An empty cell is no rating.
    humans
        Raters who are people; all others are judges. Not needed where a column `rater_kind` says it, where they are called so
        (`human_1`), where models rated among annotators, or where all raters are alike and their agreement is asked.
    benchmark
        What to call the ratings.
    **columns
        Any other standard column of `ratings` and the column that holds it (`model="system"`, `label_prob="p"`); further
        columns are kept as factors.

    Raises
    ------
    InputError
        If a column is not there, or somebody rated the same thing twice.

    Examples
    --------
    >>> wide = {"id": [1, 2, 3], "ann": [1, 0, 1], "gpt": [1, 1, None]}
    >>> data = from_ratings(wide, item="id", raters=["ann", "gpt"], humans="ann")
    >>> data.ratings.select("item", "rater", "rater_kind", "value").rows()[-2:]
    [('1', 'gpt', 'judge', 1.0), ('2', 'gpt', 'judge', 1.0)]
    """
    table = as_polars(frame)
    if not table.height:
        raise InputError("the frame holds no rows")
    given = {"item": item, "rater": rater, "value": value, **columns}
    named = {name: column for name, column in given.items() if column is not None}
    read = partial(_read, raters=_each(names_of(raters), table.columns), people=names_of(humans), benchmark=benchmark)
    try:
        return read(table, named)
    except InputError as error:
        if (offer := _offered(table, named, read)) is None:
            raise
        raise InputError(f"{str(error).partition('; ')[0]}. {may_fit([as_options(offer)])}") from error


def _each(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return names, of which one that is not known may be several with commas between them."""
    return [part for name in names for part in ([name] if name in known else name.split(","))]


def _read(
    table: pl.DataFrame, named: Mapping[str, str], *, raters: Sequence[str], people: Sequence[str], benchmark: str
) -> EvalData:
    table, voters = _in_words_of_sides(table)
    columns = dict(named)
    item, rater, value = (columns.pop(role, None) for role in ("item", "rater", "value"))
    item = item or _called(table, "item", "item")
    if item == ROW:
        table = table.with_row_index(ROW, offset=1)
    rated: Mapping[str, tuple[str, str]] = {name: (name, "") for name in raters}
    if rater is None and not rated:
        asked = _each(people, table.columns)
        found = {name: (name, "") for name in voters} or _raters_in(table, asked)
        who_rated = (_called(table, role, role) for role in ("rater", "judge"))
        rater = next((name for name in who_rated if name in table.columns), None)
        # Beside a person's ratings a column called judge may hold the judge's: where no other column holds ratings, or as asked.
        beside = rater in found and (value or _called(table, "score", "value", "label")) not in table.columns
        if rater is None or beside or {*asked} & {*table.columns}:
            rated = found
    raters = [*rated]
    named = {"item": item, **columns}
    if raters:
        in_standard_columns(table, {"item": item}, "ratings")
        if lacking := [name for name in raters if name not in table.columns]:
            raise no_column(lacking[0], "raters", table.columns)
        table, names = _unpivoted(table, rated)
        named |= names
    elif len(several := [] if value else _criteria(table, item)) > 1:
        table = table.unpivot(
            several, index=pl.selectors.exclude(several), variable_name="criterion", value_name="value"
        )
        named |= {"rater": rater or "rater", "criterion": "criterion", "value": "value"}
    else:
        named |= {"rater": rater or "rater", **_rating_column(table, value or next(iter(several), None))}
    made = in_standard_columns(table, named, "ratings")
    texts = [
        name for name in ("item", "rater", "model", "run", "variant", "criterion", "label") if name in made.columns
    ]
    made = made.with_columns(text_of(made[name]) for name in texts)
    if "label" in made.columns and "value" not in made.columns:
        made = _in_one_vocabulary(made)
    if "value" in made.columns:
        made = made.with_columns(pl.col("value").cast(pl.Float64))
    made = _with_kinds(made, people, of_people=ROLES["rater"].weight(words_of(rater or "")) > 0)
    digest = digest_of_rows(table)
    run = f"{benchmark}~{digest[:8]}"
    if "run" not in made.columns:
        made = made.with_columns(pl.lit(run).alias("run"))
    ratings = check_table(made, "ratings", source="frame")
    counts = {name: {"scored": ratings.filter(run=name).height} for name in levels_of(ratings["run"])}
    return EvalData(ratings=ratings, runs=runs_of_frame(benchmark, digest, "ratings", counts))


def _offered(
    table: pl.DataFrame, named: Mapping[str, str], read: Callable[[pl.DataFrame, Mapping[str, str]], EvalData]
) -> list[str] | None:
    """Return the shortest map that adds to what is named and by which the table reads, with several raters of most things.

    What was rated, who rated it and the ratings are told by name or by shape: raters and ratings have few levels.
    """
    some = table[thinned(range(table.height))]
    columns = [SampledColumn(name, some.to_dicts()) for name in table.columns if name not in named.values()]
    items = sorted((c for c in columns if c.as_item), key=lambda c: (-c.as_item, -len(c.levels)))
    few = [c for c in columns if 1 < len(c.levels) <= _MOST_LABELS and c.chars < NAME_CHARS]
    labels = [c for c in few if c.is_complete and not (c.scored or is_answer(c.name))]
    criteria = [c for c in labels if ROLES["metric"].weight(c.words.removesuffix("_id"))]
    models = [c for c in labels if c.holds_models]
    others = [c for c in labels if c not in (*criteria, *models) and c.named("item") < SURE]
    likely = {
        "item": [*items[: _TRIED - 1], SampledColumn(ROW, ())],
        "rater": sorted(others, key=lambda c: (not c.is_rater, len(c.levels))),
        "value": sorted(few, key=lambda c: -c.named("score")),
        "variant": others,
        "criterion": criteria,
        "model": models,
    }
    choices = [["", *(c.name for c in of[:_TRIED] if role not in named)] for role, of in likely.items()]
    unit = [name for name in KEYS["ratings"] if name != "rater"]
    for chosen in sorted(product(*choices), key=lambda names: -names.count(""))[1:_MOST_MAPS]:
        more = {role: name for role, name in zip(likely, chosen, strict=True) if name}
        with suppress(InputError):
            if len({*more.values()}) == len(more) and read(some, {**named, **more}):
                found = read(table, {**named, **more}).ratings
                said = pl.struct("value", "label").n_unique()
                rated = found.select(pl.n_unique("rater").over(unit), said.over(unit).alias("label"))
                # A fact of what was rated, on which all agree, is no rating of it.
                if 2 * (rated["rater"] > 1).sum() >= table.height and (rated["label"] > 1).any():
                    return [f"{role}={name}" for role, name in more.items()]
    return None


def _unpivoted(table: pl.DataFrame, rated: Mapping[str, tuple[str, str]]) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """Return a row for each rating in columns of a rater each, and which columns these are then; `rated` is who rated what."""
    numbers = all(table[name].dtype.is_numeric() or table[name].dtype == pl.Boolean for name in rated)
    column = "value" if numbers else "label"
    # What the table itself calls so is kept beside the ratings, and is none of them.
    table = table.rename({name: f"source_{name}" for name in ("rater", column) if name not in rated}, strict=False)
    table = table.unpivot([*rated], index=pl.selectors.exclude(*rated), variable_name="rater", value_name=column)
    table = table.filter(pl.col(column).is_not_null())
    who, what = ({name: pair[k] for name, pair in rated.items()} for k in (0, 1))
    if not any(what.values()):
        return table, {"rater": "rater", column: column}
    kind = "model" if all(map(names_a_model, what.values())) else "criterion"
    of = pl.col("rater")
    table = table.with_columns(of.replace_strict(what).alias(kind), of.replace_strict(who))
    return table, {"rater": "rater", column: column, kind: kind}


def read_ratings(
    paths: Sequence[Path],
    *,
    raters: Sequence[str] = (),
    humans: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    rows: str | None = None,
) -> EvalData:
    """Read tables of ratings (CSV, JSON, Parquet) or folders of them as `from_ratings` reads frames; `columns` are its arguments.

    Raises
    ------
    UnreadableFileError
        If a file is no table.
    InputError
        As `from_ratings`.
    """
    frames = [read_table(path, rows) for path, _ in list_files(paths)]
    if not frames:
        raise InputError("nothing to read: give files with ratings")
    named = {"benchmark": paths[0].name.partition(".")[0] or "ratings", **(columns or {})}
    return from_ratings(pl.concat(frames, how="diagonal_relaxed"), raters=raters, humans=humans, **named)


def found_ratings(data: object, humans: Sequence[str] = ()) -> EvalData:
    """Read ratings of which only the raters who are people may be named: of a file or folder, or of a table in memory.

    Results and votes of a known format are read as what they are.
    """
    if isinstance(data, str | PathLike):
        paths = [Path(cast("str", data))]
        return read(*paths) if are_of_known_format(paths) else read_ratings(paths, humans=humans)
    table = plain_table(data)
    known = of_known_format(table)
    return from_ratings(table, humans=humans) if known is None else known


def are_of_known_format(paths: Sequence[Path]) -> bool:
    """Whether the files are results or votes that a loader knows, and not tables of one's own."""
    found = [sniffed(read_head(path))[0] for path, _ in list_files(paths)]
    known = [match for match in found if match is not None and not match[1].skip]
    return bool(known) and all(match[0].name != "table" for match in known)


def read_table(path: Path, rows: str | None = None) -> pl.DataFrame:
    """Read a table as it is; columns of numbers as numbers, but for those of names, and empty cells as null.

    Raises
    ------
    UnreadableFileError
        If the file is no table.
    InputError
        If it holds no rows.
    """
    survey, blocks = surveyed(open_table(read_head(path), rows))
    parts = [block.frame.select(pl.all().cast(pl.String)) for block in blocks]
    if not parts:
        raise InputError(f"{path}: holds no rows")
    table = pl.concat(parts, how="diagonal")
    return table.with_columns(
        pl.col(name).replace("", None).cast(survey.dtype(name))
        for name in table.columns
        if survey.dtype(name).is_numeric() and name not in _NAMES
    )


def _called(table: pl.DataFrame, role: str, *own: str) -> str:
    """Return the column called as a role is, else the only one with the surest name for it; `own[0]` where there is none.

    What is rated may have any name that an item has, and two that tell the same rows apart are one; who rated and the rating
    have a sure one.
    """
    weights = {name: ROLES[role].weight(words_of(name)) for name in table.columns}
    least = max(weights.values()) if role == "item" else SURE
    likely = [name for name, weight in weights.items() if weight >= least > 0]
    exact = [name for name in own if name in table.columns]
    alike = len({table.select(names).n_unique() for names in (likely, *likely)}) == 1 if likely else False
    return exact[0] if exact else likely[0] if alike else own[0]


def _criteria(table: pl.DataFrame, item: str) -> list[str]:
    """Return the columns of ratings that may be those of several criteria: scores in which those who rated an item differ."""
    if item not in table.columns or {"value", "label"} & {*table.columns}:
        return []
    rows = table[thinned(range(table.height))].to_dicts()
    best = assigned(table.columns, rows, AskedNames(question="judges"))[0]
    scores = next((each.removeprefix("score=") for each in best.options if each.startswith("score=")), "").split(",")
    numbers = [name for name in scores if name in table.columns and table[name].dtype.is_numeric()]
    return [
        name for name in numbers if name != item and table.group_by(item).agg(pl.col(name).n_unique())[name].max() != 1
    ]


def _in_words_of_sides(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Write a, b and tie in the columns of votes that say who won, and name these where there are two or more.

    Each may call a side by its place, its letter, its column or its name; the names of the sides are no ratings.
    """
    rows = table[thinned(range(table.height))].to_dicts()
    voted = votes_in([SampledColumn(name, rows) for name in table.columns], of_votes=False)
    roles = dict(each.split("=", 1) for each in (voted or ((), False))[0])
    sides = [roles.get(role, "") for role in ("model_a", "model_b")]
    if not {*sides} <= {*table.columns}:
        return table, []
    turned: dict[str, pl.Series] = {}
    for name in table.columns:
        if name not in sides and table[name].dtype == pl.String:
            found = [labelled(cell, a or "", b or "").outcome for cell, a, b in table.select(name, *sides).iter_rows()]
            if len({*found}) > 1 and found.count(None) == table[name].null_count():
                turned[name] = pl.Series(name, found)
    return (table.with_columns(turned.values()), [*turned]) if len(turned) > 1 else (table, [])


def _raters_in(table: pl.DataFrame, asked: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the columns that hold the ratings of one rater each, of two or more, with who rated what by name or as asked.

    What is "" where all rated one thing. Columns of one criterion, or of one system, are told from those of another one.
    """
    words = {name: {*words_of(name).split("_")} for name in table.columns}
    free = [name for name in table.columns if name in asked or ROLES["score"].never.isdisjoint(words[name])]
    rated = {name: found for name in free if (found := _who_and_what(name, asked)) is not None}
    named = not {*asked}.isdisjoint(rated)
    if named and {*rated} <= {*asked}:  # the other column of scores is the judge's
        rated |= {name: (name, "") for name in free if is_called_score(name)}
    people = [name for name, (who, _) in rated.items() if who in asked or _PEOPLE & words[name]]
    numbers = [
        name
        for name in rated
        if table[name].dtype.is_numeric() or table[name].dtype == pl.Boolean or (named and _are_rights(table[name]))
    ]
    # Labels are of a few words, of which raters share some; beside a column called label they may answer anything.
    few = {name: {*levels_of(table[name])} for name in rated if table[name].dtype == pl.String}
    few = {name: levels for name, levels in few.items() if len(levels) <= _MOST_LABELS}
    shared = [name for name in few if any(few[name] & few[other] for other in few if other != name)]
    labels = shared if {"label", "value"}.isdisjoint(table.columns) else []
    raters = numbers if len(numbers) > 1 else labels
    # Judges are not compared alone where a person rated beside them, in numbers.
    if len(raters) < 2 or not {*numbers}.intersection(people) <= {*raters}:
        return {}
    if len({rated[name][0] for name in raters}) == len(raters):
        return {name: (name, "") for name in raters}
    n_raters = Counter(rated[name][1] for name in raters)
    return {name: rated[name] for name in raters if n_raters[rated[name][1]] > 1}


def _are_rights(column: pl.Series) -> bool:
    """Whether a column holds words for right and wrong."""
    words = levels_of(column) if column.dtype == pl.String else []
    return bool(words) and all(word_score(word.strip().lower()) is not None for word in words)


def _who_and_what(name: str, asked: Collection[str] = ()) -> tuple[str, str] | None:
    """Return who rated and what by the name of a column; None where it names nobody. Numbers count raters.

    >>> [_who_and_what(name) for name in ("rater1_tone", "tone_gpt-4o", "gpt4_judge", "human_2", "tone")]
    [('rater1', 'tone'), ('gpt-4o', 'tone'), ('gpt4_judge', ''), ('human_2', ''), None]
    """
    whole, known = (name, ""), {*asked, *SCORERS, *_PEOPLE}
    parts = name.lower().split("_")  # names of models are parted by dashes
    halves = [("_".join(parts[:k]), "_".join(parts[k:])) for k in range(len(parts) - 1, 0, -1)]
    halves = [half for half in (*halves, *((b, a) for a, b in halves[::-1])) if len(half[1].strip("0123456789")) > 1]
    ways = (
        *((half, names_a_judge(half[0])) for half in halves),
        (whole, names_a_judge(words_of(name))),
        *((half, half[0] in known) for half in halves),
        *((half, names_a_model(half[0]) and not names_a_model(half[1])) for half in halves),
        (whole, names_a_model(name) or not known.isdisjoint(words_of(name).split("_"))),
    )
    return whole if name in asked else next((way for way, rates in ways if rates), None)


def _rating_column(table: pl.DataFrame, value: str | None) -> dict[str, str]:
    name = value or _called(table, "score", "value", "label")
    if value is None and name not in table.columns:
        raise InputError(
            f"no column is called value or label; name that of ratings with {Option('map', blank='COLUMN', of='value')} and that "
            f"of who rated with {Option('map', blank='COLUMN', of='rater')}; with one column for each rater, "
            f"{Option('raters', blank='COLUMN')}. The table has {column_list(table.columns)}"
        )
    if name not in table.columns:
        raise no_column(name, "value", table.columns)
    dtype = table[name].dtype
    return {"value" if dtype.is_numeric() or dtype == pl.Boolean else "label": name}


def _in_one_vocabulary(table: pl.DataFrame) -> pl.DataFrame:
    """Bring ratings that raters spell differently to one spelling, as agreement is of meanings: "PASS" is "pass", "1" is 1.0.

    Numbers in text are numbers, and so are words for right and wrong where one rater's "true" is another's "yes" or 1. Words for
    no value ("N/A") are no rating. Words for the steps of a scale ("poor", "fair", "good") are numbered. Labels that differ in
    case or blanks take the spelling that is used most.
    """
    text = table["label"].str.strip_chars()
    text = text.set(text.str.to_lowercase().is_in(list(NO_VALUE)).fill_null(value=False), None)
    text = text.replace({word: as_text(number) for word in levels_of(text) if (number := as_number(word)) is not None})
    folded = text.str.to_lowercase()
    words = levels_of(folded)
    numbers = [as_number(word) for word in words]
    # A single letter ("C", "N") may be a category and stands for no number.
    meant = [
        word_score(word) if each is None and len(word) > 1 else each for word, each in zip(words, numbers, strict=True)
    ]
    meanings = dict(zip(words, meant, strict=True))
    synonyms = len(set(meanings.values())) < len(meanings)
    if meanings and (None not in numbers or (None not in meanings.values() and synonyms)):
        value = folded.replace_strict(list(meanings), list(meanings.values()), default=None, return_dtype=pl.Float64)
        return table.drop("label").with_columns(value.alias("value"))
    for steps in _STEPS:
        # Numbered by their places in the whole scale, so that two files of one rubric are on one.
        places = {word: place for place, word in enumerate(steps.split(", "), 1) if word in meanings}
        if len(places) == len(meanings) > 2:
            value = folded.replace_strict([*places], [*places.values()], default=None, return_dtype=pl.Float64)
            return table.drop("label").with_columns(value.alias("value"))
    spellings = pl.DataFrame({"folded": folded, "label": text}).drop_nulls().group_by("folded", "label").len()
    usual = spellings.sort(["len", "label"], descending=[True, False]).unique("folded", keep="first")
    return table.with_columns(folded.replace_strict(usual["folded"], usual["label"], default=None).alias("label"))


def _with_kinds(table: pl.DataFrame, people: Sequence[str], *, of_people: bool) -> pl.DataFrame:
    """Say of every rater whether it is a person or a judge; those called so are people where nobody else is named.

    In a column `of_people` (annotators, users) models and what is called a judge are judges, and the others people.
    """
    raters = levels_of(table["rater"])
    for name in (people := _each(people, raters)):
        if name not in raters:
            raise InputError(f"{Option('humans')} names {name!r}, who rated nothing; raters: {comma_list(raters, 10)}")
    if not people and "rater_kind" in table.columns:
        return table
    people = people or [name for name in raters if _PEOPLE & {*words_of(name).split("_")}]
    if of_people and not people:
        judges = [name for name in raters if names_a_model(name) or "judge" in words_of(name).split("_")]
        people = [name for name in raters if name not in judges] if judges else []
    kind = pl.when(pl.col("rater").is_in(people)).then(pl.lit("human")).otherwise(pl.lit("judge"))
    return table.with_columns(kind.alias("rater_kind"))
