"""Arena votes as rows of `comparisons`, whole columns at a time; only what nests is looked at cell by cell."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from evalstats.loaders.arena_cells import (
    SIDES,
    VoteOutcome,
    accepted,
    as_truth,
    labelled,
    names_itself,
    one_hot,
    side_last,
    structured,
    tags_of,
)
from evalstats.loaders.arena_records import (
    KNOWN_NAMES,
    METADATA,
    NAMING,
    NESTED,
    NOT_SAMPLED,
    NUMBER,
    OF_BLOCKS,
    PLACE,
    TEXTS,
    TOKENS,
    WINNER,
    Tally,
    column,
    texts,
)
from evalstats.loaders.record_columns import counts, floats, series
from evalstats.loaders.roles import ROLES
from evalstats.loaders.values import (
    as_dict,
    as_list,
    as_number,
    as_text,
    dicts,
    digests_of,
    units_of_times,
)
from evalstats.schema.columns import COMPARISONS, column_names
from evalstats.schema.tables import at_codes, coded, columns_of_rows, levels_of

# Stand for the two models where a label is read apart from its row.
_FIRST, _SECOND = "\x00a", "\x00b"
_Read = Callable[[str | None, str | None], VoteOutcome]


def winners_of(
    label: pl.Series, sides: Sequence[pl.Series], labels: Mapping[str, str], tally: Tally, read: "_Read | None" = None
) -> dict[str, pl.Series]:
    """Return outcome, strength, status, status_reason and value_raw of every vote, and take note of its label.

    Each label that differs is read once: by `labels`, in lower case, or by `read`.
    """
    model_a, model_b = sides
    read, itself = read or _by_label, model_a == model_b
    named = pl.when(itself).then(None).when(label == model_a).then(pl.lit("a")).when(label == model_b).then(pl.lit("b"))
    keys = pl.select(label=label, named=named, itself=itself)
    first, codes = coded(keys)
    found: list[VoteOutcome] = []
    for (text, side, is_itself), n in zip(keys[first].iter_rows(), np.bincount(codes).tolist(), strict=True):
        own = labels.get(text.strip().lower()) if text is not None else None
        winner = read(text, side) if own is None else replace(labelled(own, _FIRST, _SECOND), raw=text, words=None)
        if is_itself:
            winner = VoteOutcome(raw=text, reason="a model against itself")
        tally.count_winner(winner, against_itself=is_itself, n=n)
        found.append(winner)
    return _outcomes(found, codes)


def _outcomes(found: Sequence[VoteOutcome], codes: npt.NDArray[np.int64]) -> dict[str, pl.Series]:
    reading = {"outcome": "outcome", "strength": "strength", "status_reason": "reason", "value_raw": "raw"}
    made = {name: [getattr(winner, field) for winner in found] for name, field in reading.items()}
    made["status"] = ["unscored" if winner.outcome is None else "scored" for winner in found]
    return {name: at_codes(pl.Series(name, texts, dtype=pl.String), codes) for name, texts in made.items()}


def _by_label(label: str | None, named: str | None) -> VoteOutcome:
    """Read a label that is the name of the model on the side `named`, or of none."""
    name = label or _FIRST
    return labelled(label, name if named == "a" else _FIRST, name if named == "b" else _SECOND)


def _won(frame: pl.DataFrame, sides: Sequence[pl.Series], arena: "Arena", tally: Tally) -> dict[str, pl.Series]:
    """Read who won: of an event as it says itself, else by an index, three columns with a mark, or a label."""
    names = {*frame.columns}
    if WINNER in names:
        winners, itself = frame[WINNER].to_list(), (sides[0] == sides[1]).to_list()
        for winner, is_itself in zip(winners, itself, strict=True):
            tally.count_winner(winner, against_itself=is_itself)
        return _outcomes(winners, np.arange(len(winners)))
    label, read = column(frame, "winner", "win"), _by_label
    if "acceptedIndex" in names:
        label, read = frame["acceptedIndex"], accepted
    elif label is None and "winner_model_a" in names:
        marks = [texts(frame[name]).fill_null("") if name in names else pl.lit("") for name in _ONE_HOT]
        label, read = pl.select(pl.concat_str(marks, separator=",")).to_series(), one_hot
    label = nothing(frame) if label is None else texts(label)
    return winners_of(label, sides, arena.labels, tally, read)


_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
# Longer texts are prompts or answers, and more columns than this are no table.
MAX_FACTOR_CHARS = 500
MAX_FACTORS = 200
_LABEL_CHARS = 60
# Longer texts are no names of items.
_NAME_CHARS = 200

# Judges by these names are people.
_PEOPLE = ("arena_user", "expert", "author", "human", "user", "worker", "annotator")
_USED = frozenset(
    {
        *("battle_id", "battle", "id", "question_id", "event_id", "event_size", "rank_a", "rank_b"),
        *("prompt", "prompt_id", "item", "model_a", "model_b", "left", "right", "model_x", "model_y"),
        *("winner", "win", "winner_model_a", "winner_model_b", "winner_tie", "acceptedIndex"),
        *("judge", *ROLES["rater"].names, "session", "session_id", "evaluation_session_id", "app", "scenario"),
        *("weight", "language", "turn", "phase", "tstamp", "timestamp", "is_code", "anony", "is_refusal"),
        "evaluation_order",
    }
)
_STANDARD = frozenset(column_names("comparisons"))
_LEVELS = {column.name: column.levels for column in COMPARISONS if column.name in {"strength", "order"}}
_STRUCTURES = (METADATA, "category_tag", "dedup_tag", "occupational_tags")
_WHOLE = r"^(?:0|-?[1-9]\d{0,14})$"
# Numbers as programs write them.
_WRITTEN = r"^-?(?:0|[1-9]\d{0,15})(?:\.(?:0|\d{0,17}[1-9]))?(?:e[-+]\d{2,3})?$"
_LARGEST = 2.0**63  # for a whole number of 64 bits


class Arena(msgspec.Struct, frozen=True, kw_only=True):
    """What a file's columns tell of where its votes come from.

    `id_names` are the fields that together name a vote; without them its number does. `item_name` and `session_name`
    are the fields that hold the question's id and the session's; `judge` is the model behind all votes, if there is one.
    `rater_names` are the fields that may name who voted, the first that a file has. `labels` are what further labels of the
    winner stand for, in lower case.
    """

    benchmark: str
    setting: str = "live"
    id_names: tuple[str, ...] = ()
    item_name: str | None = None
    session_name: str | None = None
    judge: str | None = None
    rater_names: tuple[str, ...] = (*ROLES["rater"].names,)
    labels: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def comparisons(frame: pl.DataFrame, arena: Arena, tally: Tally) -> tuple[pl.DataFrame, pl.Series]:
    """Make the rows of the votes in a block (without their run), and say where each stands.

    Votes that do not name two models are left out, and told. A column that the block has not is none of the rows'.
    """
    both = [column(frame, *names) for names in (("model_a", "left"), ("model_b", "right"))]
    sides = [nothing(frame) if side is None else texts(side) for side in both]
    levels = [side.gather(side.hash(seed=0).arg_unique()).str.strip_chars().fill_null("") for side in sides]
    if any((names == "").any() for names in levels):
        named = pl.select(pl.all_horizontal(side.str.strip_chars().fill_null("") != "" for side in sides)).to_series()
        tally.add_without_model(frame.filter(~named)[PLACE].to_list())
        frame, sides = frame.filter(named), [side.filter(named) for side in sides]
    if not frame.height:
        return pl.DataFrame(), frame[PLACE]
    made = {"battle": _battles(frame, arena), "model_a": sides[0], "model_b": sides[1]}
    sources = {**_SOURCES, "item": (arena.item_name, _items), "session": (arena.session_name, texts)}
    for name, (source, read) in sources.items():
        if (cells := column(frame, source)) is not None:
            made[name] = read(cells)
    made |= {**_times(frame, tally), **_won(frame, sides, arena, tally), **_who_judged(frame, arena)}
    tally.counts[KNOWN_NAMES] += int((~made["anony"]).sum()) if "anony" in made else 0
    made |= {**_nested(frame, tally), **_naming(frame, tally)}
    factors = _factors(frame, tally)
    made |= {name: cells.fill_null(made[name]) if name in made else cells for name, cells in factors.items()}
    if (turn := column(frame, "turn")) is not None:
        made["turn"] = made["turn"].fill_null(whole(turn)) if "turn" in made else whole(turn)
    return pl.DataFrame(made).with_columns(setting=pl.lit(arena.setting)), frame[PLACE]


def nothing(frame: pl.DataFrame) -> pl.Series:
    """Return a column of nulls."""
    return pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)


def _items(cells: pl.Series) -> pl.Series:
    """Return names of items; a longer text is a prompt, of which a digest stays."""
    items = texts(cells)
    return items.zip_with((items.str.len_chars() <= _NAME_CHARS).fill_null(value=True), digests_of(items))


def whole(cells: pl.Series) -> pl.Series:
    """Return cells as `as_whole` reads each of them."""
    number = floats(cells)
    fits = (number == number.round()) & (number.abs() < _LARGEST)
    return number.set(~fits.fill_null(value=True), None).cast(pl.Int64)


def truths(cells: pl.Series) -> pl.Series:
    """Return cells as `as_truth` reads each of them."""
    if cells.dtype == pl.Boolean:
        return cells
    read = texts(cells)
    known = {text: as_truth(text) for text in levels_of(read)}
    return read.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.Boolean)


# What a column of the rows is read from, and how.
_SOURCES: dict[str, tuple[str | None, Callable[[pl.Series], pl.Series]]] = {
    "event": ("event_id", texts),
    **{name: (name, counts) for name in ("event_size", "rank_a", "rank_b")},
    "weight": ("weight", floats),
    **{name: (name, texts) for name in ("app", "scenario", "language", "phase")},
    **{name: (name, truths) for name in ("anony", "is_code", "is_refusal")},
    "evaluation_order": ("evaluation_order", whole),
}


def _battles(frame: pl.DataFrame, arena: Arena) -> pl.Series:
    """Name votes by their ids, and those that lack one by their number."""
    ids = [texts(frame[name]).replace("", None) for name in arena.id_names if name in frame.columns]
    whole_ids = len(ids) == len(arena.id_names)  # a block of a JSON file may lack a column that others have
    named = pl.select(pl.concat_str(ids, separator=".")).to_series() if ids and whole_ids else None
    if named is not None and not named.null_count():
        return named
    number = frame[NUMBER].cast(pl.String)
    return number if named is None else named.fill_null(number)


def _who_judged(frame: pl.DataFrame, arena: Arena) -> dict[str, pl.Series]:
    """Tell people from models that judge: arena users, experts and workers are people. Of a list of judges the first counts."""
    rater, judge = column(frame, *arena.rater_names), None
    found = {} if rater is None else {"rater": texts(rater)}
    of_all = pl.Series([arena.judge], dtype=pl.String).new_from_index(0, frame.height)
    if "judge" in frame.columns:
        cells = frame["judge"]
        judge = texts(
            series([next(iter(as_list(each)), each) for each in cells]) if cells.dtype == pl.Object else cells
        )
    if judge is None or judge.null_count() == len(judge):
        return {**found, "judge": of_all}
    person = judge.str.to_lowercase().str.contains(f"^(?:{'|'.join(_PEOPLE)})").fill_null(value=False)
    rater = found.get("rater", nothing(frame))
    return {
        "rater": rater.zip_with(~person, rater.replace("", None).fill_null(judge)),
        "judge": of_all.zip_with(person | judge.is_null() | (judge == ""), judge),
    }


def _times(frame: pl.DataFrame, tally: Tally) -> dict[str, pl.Series]:
    name = "tstamp" if "tstamp" in frame.columns else "timestamp"
    cells = column(frame, name)
    if cells is None:
        return {}
    read, units = units_of_times(cells)
    tally.count_times(read, units)
    odd = cells.filter(read.is_null() & cells.is_not_null())
    if n_unread := len(odd) if odd.dtype == pl.Duration else int((texts(odd).str.to_lowercase() != "nan").sum()):
        tally.unread[name] += n_unread
    return {"timestamp": read}


def _naming(frame: pl.DataFrame, tally: Tally) -> dict[str, pl.Series]:
    """Mark answers that say whose they are; nothing is said where no answer was kept."""
    found: dict[str, pl.Series] = {}
    for side in SIDES:
        columns = [
            names_itself(frame[name], plain=name.startswith("response"))
            for name in (f"conversation_{side}", f"response_{side}")
            if name in frame.columns
        ]
        named = pl.select(pl.coalesce(*columns)).to_series() if columns else None
        if named is not None and named.null_count() < len(named):
            found[f"names_itself_{side}"] = named
    if found:
        tally.counts[NAMING] += int(pl.DataFrame(found).select(pl.any_horizontal(pl.all())).to_series().sum())
    return found


def _nested(frame: pl.DataFrame, tally: Tally) -> dict[str, pl.Series]:
    """Read covariates, tags and the marks of deduplication, of which no two arenas nest theirs alike."""
    there = [name for name in _STRUCTURES if name in frame.columns and frame.schema[name] != pl.Struct]
    parts = {name: _objects(frame, name, tally) for name in there}
    members: Iterable[tuple[str, list[object] | pl.Series]] = _members(parts.get(METADATA, []))
    if METADATA in frame.columns and METADATA not in parts:  # of a Parquet file
        members = frame[METADATA].struct.unnest().to_dict().items()
    found: dict[str, pl.Series] = {}
    for name, values in chain(_tokens(frame), members):
        if name == "turns":
            found["turn"] = whole(_sums(values))
        elif (amounts := _sums(values)).null_count() < len(values) and _may_keep(own := side_last(name), tally):
            found[own] = amounts.fill_null(found[own]) if own in found else amounts
    for name, values in _members(parts.get("dedup_tag", [])):
        marks = pl.Series([as_truth(value) for value in values], dtype=pl.Boolean)
        if marks.null_count() < len(marks) and _may_keep(f"dedup_{name}", tally):
            found[f"dedup_{name}"] = marks
            tally.counts[NOT_SAMPLED] += int((~marks).sum()) if name == "sampled" else 0
    return found | _tags(frame, parts)


def _objects(frame: pl.DataFrame, name: str, tally: Tally) -> list[dict[str, object]]:
    """Return the objects of a column, empty where there is none; cells that hold anything else are counted."""
    cells = frame[name].to_list()
    read = [structured(cell) for cell in cells]
    if n := sum(each is None and cell not in (None, {}, "", "{}") for each, cell in zip(read, cells, strict=True)):
        tally.unread[name] += n
    return [each or {} for each in read]


def _members(objects: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, list[object]]]:
    """Yield each member that objects have, with what each of them holds there."""
    for name in dict.fromkeys(chain.from_iterable(objects)):
        yield name, [each.get(name) for each in objects]


def _sums(values: list[object] | pl.Series) -> pl.Series:
    """Return numbers as a column; a count that is split up by kind is added up."""
    if isinstance(values, pl.Series):
        split = [floats(part) for part in (values.struct.unnest() if values.dtype == pl.Struct else [values])]
        known = pl.any_horizontal(part.is_not_null() for part in split)
        return pl.select(pl.when(known).then(pl.sum_horizontal(split))).to_series()
    if not any(isinstance(value, dict) for value in values):
        return floats(values)
    parts = [[as_number(part) for part in as_dict(value).values() or [value]] for value in values]
    known = [[part for part in some if part is not None] for some in parts]
    return pl.Series([sum(some) if some else None for some in known], dtype=pl.Float64)


def _tokens(frame: pl.DataFrame) -> Iterator[tuple[str, list[object] | pl.Series]]:
    """Add up the tokens of the answers where conversations count them and no metadata do."""
    if METADATA in frame.columns and frame.schema[METADATA] != pl.String:
        return
    for side in SIDES:
        names = (f"{TOKENS}_{side}", f"conversation_{side}")
        talks = next((frame[name].to_list() for name in names if frame.schema.get(name) == pl.Object), list[object]())
        counted = [
            [as_number(message.get("num_tokens")) for message in dicts(talk) if message.get("role") == "assistant"]
            for talk in talks
        ]
        if any(counted):
            yield (
                f"assistant_tokens_{side}",
                [None if None in each or not each else sum(part or 0.0 for part in each) for each in counted],
            )


def _tags(frame: pl.DataFrame, parts: Mapping[str, list[dict[str, object]]]) -> dict[str, pl.Series]:
    """Return the categories that hold for a vote's prompt, and the scores among them."""
    is_code = column(frame, "is_code")
    code = [None] * frame.height if is_code is None else truths(is_code).to_list()
    if not ({"category_tag", "occupational_tags"} & parts.keys() or "tags" in frame.columns or any(code)):
        return {}
    nothing_said: list[dict[str, object]] = [{}] * frame.height
    categories, jobs = parts.get("category_tag", nothing_said), parts.get("occupational_tags", nothing_said)
    own_tags = frame["tags"].to_list() if "tags" in frame.columns else nothing_said
    rows: list[dict[str, object]] = []
    known: dict[str, tuple[list[str], dict[str, int]]] = {}
    for of_all, job, own, holds_code in zip(categories, jobs, own_tags, code, strict=True):
        key = repr(of_all)  # few differ
        known[key] = known.get(key) or tags_of(of_all)
        tags, scores = [*known[key][0]], known[key][1]
        tags += [name for name, holds in job.items() if holds is True]
        tags += [text for tag in as_list(own) if (text := as_text(tag)) is not None]
        tags += ["code"] if holds_code else []
        rows.append({**scores, "tags": list(dict.fromkeys(tags)) if of_all or job or tags else None})
    return columns_of_rows(rows, "comparisons").to_dict()


def _factors(frame: pl.DataFrame, tally: Tally) -> dict[str, pl.Series]:
    """Keep every further plain column under its own name."""
    kept: dict[str, pl.Series] = {}
    for given in frame.iter_columns():
        name = given.name
        if name in _USED or name in NESTED or name in TEXTS or name in OF_BLOCKS or name.startswith(TOKENS):
            continue
        if given.dtype == pl.Object:
            _drop(name, tally)
        cells = texts(given) if given.dtype == pl.Object else given
        is_long = cells.str.len_chars() > MAX_FACTOR_CHARS if cells.dtype == pl.String else None
        if is_long is not None and is_long.any():
            _drop(name, tally)
            cells = cells.set(is_long.fill_null(value=False), None)
        inside = None
        if name == "preference":
            kept[name] = floats(cells)
            inside = kept[name].is_between(0, 1)
        elif name in _LEVELS:
            kept[name] = texts(cells)
            inside = kept[name].is_in(list(_LEVELS[name]))
        if inside is not None:
            inside = inside.fill_null(value=False)
            kept[name], cells = kept[name].set(~inside, None), cells.set(inside, None)
        own = f"source_{name}" if name in _STANDARD else name
        if cells.null_count() < len(cells) and _may_keep(own, tally):
            kept[own] = _plain(cells)
    return kept


def _drop(name: str, tally: Tally) -> None:
    if len(tally.left_out) < MAX_FACTORS:
        tally.left_out[name[:_LABEL_CHARS]] = None


def _may_keep(name: str, tally: Tally) -> bool:
    if name not in tally.factors and len(tally.factors) < MAX_FACTORS:
        tally.factors[name] = None
    return name in tally.factors


def _plain(cells: pl.Series) -> pl.Series:
    """Return what the texts of a column stand for, if writing that out again gives the same texts."""
    if cells.dtype != pl.String:
        return cells if cells.dtype.is_numeric() or cells.dtype == pl.Boolean else texts(cells)
    present = cells.drop_nulls()
    if present.is_in(["True", "False"]).all():
        return cells == "True"
    if present.str.contains(_WHOLE).all():
        return cells.cast(pl.Int64)
    return cells.cast(pl.Float64) if present.str.contains(_WRITTEN).all() else cells
