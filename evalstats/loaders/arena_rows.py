"""Arena votes as rows of `comparisons`, whole columns at a time; only what nests is looked at cell by cell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import msgspec
import numpy as np
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
    TEXTS,
    TOKENS,
    Tally,
    VoteBlock,
    texts,
)
from evalstats.loaders.format_columns import series
from evalstats.loaders.values import (
    as_dict,
    as_list,
    as_number,
    as_text,
    as_whole,
    dicts,
    digests_of,
    plain_numbers,
    units_of_times,
)
from evalstats.schema.columns import COMPARISONS, column_names
from evalstats.schema.tables import coded, columns_of_rows, levels_of

# What a label is read by. A record that lacks the first is read by the next.
_LABELS = ("winner", "win")
_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
# Stand for the two models where a label is read apart from its row.
_FIRST, _SECOND = "\x00a", "\x00b"


_Read = Callable[[str | None, str | None], VoteOutcome]


def winners_of(
    block: VoteBlock, model_a: pl.Series, model_b: pl.Series, labels: Mapping[str, str], tally: Tally
) -> dict[str, pl.Series]:
    """Return outcome, strength, status, status_reason and value_raw of every vote, and take note of its label.

    Each label that differs is read once: by `labels`, in lower case, or as the columns say that have it.
    """
    names, winners = {*block.frame.columns}, block.winners
    read: _Read = _by_label
    if winners is not None:
        label = pl.Series(range(len(winners))).cast(pl.String)
        of_event = dict(zip(label, winners, strict=True))
        read = partial(_of_event, of_event)
    elif "acceptedIndex" in names:
        label, read = texts(block.get("acceptedIndex")), accepted
    elif names.isdisjoint(_LABELS) and "winner_model_a" in names:
        cells = [texts(block.get(name)).fill_null("") for name in _ONE_HOT]
        label, read = pl.select(pl.concat_str(cells, separator=",")).to_series(), one_hot
    else:
        label = texts(block.first_of(*_LABELS))
    itself = model_a == model_b
    named = pl.when(itself).then(None).when(label == model_a).then(pl.lit("a")).when(label == model_b).then(pl.lit("b"))
    keys = pl.select(label=label, named=named, itself=itself)
    first, codes = coded(keys)
    found: list[VoteOutcome] = []
    for (text, side, is_itself), n in zip(keys[first].iter_rows(), np.bincount(codes).tolist(), strict=True):
        own = labels.get(text.strip().lower()) if text is not None else None
        winner = read(text, side) if own is None else replace(labelled(own, _FIRST, _SECOND), raw=text, words=None)
        if is_itself and winners is None:
            winner = VoteOutcome(raw=winner.raw, reason="a model against itself")
        tally.count_winner(winner, against_itself=is_itself, n=n)
        found.append(winner)
    reading = {"outcome": "outcome", "strength": "strength", "status_reason": "reason", "value_raw": "raw"}
    made = {name: [getattr(winner, field) for winner in found] for name, field in reading.items()}
    made["status"] = ["unscored" if winner.outcome is None else "scored" for winner in found]
    return {name: pl.Series(name, texts, dtype=pl.String).gather(codes) for name, texts in made.items()}


def _of_event(events: Mapping[str, VoteOutcome], at: str | None, _: str | None) -> VoteOutcome:
    return events[at or ""]


def _by_label(label: str | None, named: str | None) -> VoteOutcome:
    """Read a label that is the name of the model on the side `named`, or of none."""
    name = label or _FIRST
    return labelled(label, name if named == "a" else _FIRST, name if named == "b" else _SECOND)


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
        *("judge", "user_id", "worker", "rater", "session", "session_id", "evaluation_session_id", "app", "scenario"),
        *("weight", "language", "turn", "phase", "tstamp", "timestamp", "is_code", "anony", "is_refusal"),
        "evaluation_order",
    }
)
_STANDARD = frozenset(column_names("comparisons"))
_LEVELS = {column.name: column.levels for column in COMPARISONS if column.name in {"strength", "order"}}
_STRUCTURES = (METADATA, "category_tag", "dedup_tag", "occupational_tags")
_WHOLE = r"^(?:0|-?[1-9]\d{0,14})$"
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
    rater_names: tuple[str, ...] = ("user_id", "worker", "rater")
    labels: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def comparisons(block: VoteBlock, arena: Arena, tally: Tally) -> tuple[pl.DataFrame, Sequence[int]]:
    """Make the rows of the votes in a block (without their run), and say where each stands.

    Votes that do not name two models are left out, and told.
    """
    sides = [texts(block.first_of(*names)) for names in (("model_a", "left"), ("model_b", "right"))]
    levels = [side.gather(side.hash(seed=0).arg_unique()).str.strip_chars().fill_null("") for side in sides]
    if any((names == "").any() for names in levels):
        named = pl.select(pl.all_horizontal(side.str.strip_chars().fill_null("") != "" for side in sides)).to_series()
        tally.add_without_model([place for place, has in zip(block.places, named, strict=True) if not has])
        block, sides = block.filter(named), [side.filter(named) for side in sides]
    if not block.frame.height:
        return pl.DataFrame(), ()
    items = texts(block.get(arena.item_name))
    made: dict[str, pl.Series] = {
        "battle": _battles(block, arena),
        "event": texts(block.get("event_id")),
        **{name: counts(block.get(name)) for name in ("event_size", "rank_a", "rank_b")},
        "item": items.zip_with((items.str.len_chars() <= _NAME_CHARS).fill_null(value=True), digests_of(items)),
        "model_a": sides[0],
        "model_b": sides[1],
        "weight": numbers(block.get("weight")),
        "session": texts(block.get(arena.session_name)),
        **{name: texts(block.get(name)) for name in ("app", "scenario", "language", "phase")},
        **_times(block, tally),
        **winners_of(block, sides[0], sides[1], arena.labels, tally),
        **_who_judged(block, arena),
        **_marks(block, tally),
        **_nested(block, tally),
        **_naming(block, tally),
    }
    factors = _factors(block, tally)
    made |= {name: cells.fill_null(made[name]) if name in made else cells for name, cells in factors.items()}
    turn = _whole(numbers(block.get("turn")))
    made["turn"] = made["turn"].cast(pl.Int64).fill_null(turn) if "turn" in made else turn
    return pl.DataFrame(made).with_columns(setting=pl.lit(arena.setting)), block.places


def numbers(cells: pl.Series) -> pl.Series:
    """Return cells as `as_number` reads each of them."""
    if cells.dtype == pl.String:
        return plain_numbers(cells)
    if not (cells.dtype.is_numeric() or isinstance(cells.dtype, pl.Boolean)):
        return pl.Series([None], dtype=pl.Float64).new_from_index(0, len(cells))
    number = cells.cast(pl.Float64, strict=False)
    return number.set(~number.is_finite().fill_null(value=True), None)


def counts(cells: pl.Series) -> pl.Series:
    """Return cells as `as_count` reads each of them."""
    whole = _whole(numbers(cells))
    return whole if whole.null_count() == len(whole) else whole.set((whole < 0).fill_null(value=False), None)


def truths(cells: pl.Series) -> pl.Series:
    """Return cells as `as_truth` reads each of them."""
    if cells.dtype == pl.Boolean:
        return cells
    read = texts(cells)
    known = {text: as_truth(text) for text in levels_of(read)}
    return read.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.Boolean)


def _whole(number: pl.Series) -> pl.Series:
    if number.null_count() == len(number):
        return number.cast(pl.Int64)
    fits = (number == number.round()) & (number.abs() < _LARGEST)
    return number.set(~fits.fill_null(value=True), None).cast(pl.Int64)


def _battles(block: VoteBlock, arena: Arena) -> pl.Series:
    """Name votes by their ids, and those that lack one by their number."""
    ids = [texts(block.get(name)).replace("", None) for name in arena.id_names]
    named = pl.select(pl.concat_str(ids, separator=".")).to_series() if len(ids) > 1 else next(iter(ids), None)
    if named is not None and not named.null_count():
        return named
    number = pl.Series(block.numbers, dtype=pl.Int64).cast(pl.String)
    return number if named is None else named.fill_null(number)


def _who_judged(block: VoteBlock, arena: Arena) -> dict[str, pl.Series]:
    """Tell people from models that judge: arena users, experts and workers are people."""
    rater, judge = texts(block.first_of(*arena.rater_names)), texts(block.get("judge"))
    of_all = pl.Series([arena.judge], dtype=pl.String).new_from_index(0, len(judge))
    if judge.null_count() == len(judge):
        return {"rater": rater, "judge": of_all}
    person = judge.str.to_lowercase().str.contains(f"^(?:{'|'.join(_PEOPLE)})").fill_null(value=False)
    return {
        "rater": rater.zip_with(~person, rater.replace("", None).fill_null(judge)),
        "judge": of_all.zip_with(person | judge.is_null() | (judge == ""), judge),
    }


def _times(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    name = "tstamp" if "tstamp" in block.frame.columns else "timestamp"
    cells = block.get(name)
    read, units = units_of_times(cells)
    tally.count_times(read, units)
    odd = cells.filter(read.is_null() & cells.is_not_null())
    if n_unread := len(odd) if odd.dtype == pl.Duration else int((texts(odd).str.to_lowercase() != "nan").sum()):
        tally.unread[name] += n_unread
    return {"timestamp": read}


def _marks(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Read what an arena says of a vote by a flag, and the order in which a session's votes were given."""
    there = block.frame.columns
    found = {name: truths(block.get(name)) for name in ("anony", "is_code", "is_refusal") if name in there}
    tally.counts[KNOWN_NAMES] += int((~found["anony"]).sum()) if "anony" in found else 0
    if "evaluation_order" in there:
        found["evaluation_order"] = _whole(numbers(block.get("evaluation_order")))
    return found


def _naming(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Mark answers that say whose they are; nothing is said where no answer was kept."""
    found: dict[str, pl.Series] = {}
    for side in SIDES:
        columns = [
            names_itself(block.nested.get(name, block.get(name)), plain=name.startswith("response"))
            for name in (f"conversation_{side}", f"response_{side}")
            if name in block.frame.columns
        ]
        named = pl.select(pl.coalesce(*columns)).to_series() if columns else None
        if named is not None and named.null_count() < len(named):
            found[f"names_itself_{side}"] = named
    if found:
        tally.counts[NAMING] += int(pl.DataFrame(found).select(pl.any_horizontal(pl.all())).to_series().sum())
    return found


def _nested(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Read covariates, tags and the marks of deduplication, of which no two arenas nest theirs alike."""
    metadata = block.get(METADATA)
    of_numbers = isinstance(metadata.dtype, pl.Struct) and METADATA not in block.nested  # of a Parquet file
    there = [name for name in _STRUCTURES if name in block.frame.columns and not (of_numbers and name == METADATA)]
    parts = {name: _objects(block, name, tally) for name in there}
    members = metadata.struct.unnest().to_dict().items() if of_numbers else _members(parts.get(METADATA, []))
    found: dict[str, pl.Series] = {}
    for name, values in chain(_tokens(block), members):
        if name == "turns":
            found["turn"] = _whole(_sums(values))
        elif (numbers_ := _sums(values)).null_count() < len(values) and _may_keep(own := side_last(name), tally):
            found[own] = numbers_.fill_null(found[own]) if own in found else numbers_
    for name, values in _members(parts.get("dedup_tag", [])):
        marks = pl.Series([as_truth(value) for value in values], dtype=pl.Boolean)
        if marks.null_count() < len(marks) and _may_keep(f"dedup_{name}", tally):
            found[f"dedup_{name}"] = marks
            tally.counts[NOT_SAMPLED] += int((~marks).sum()) if name == "sampled" else 0
    return found | _tags(block, parts)


def _objects(block: VoteBlock, name: str, tally: Tally) -> list[dict[str, object]]:
    """Return the objects of a column, empty where there is none; cells that hold anything else are counted."""
    cells = block.nested.get(name) or block.get(name).to_list()
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
        split = [numbers(part) for part in (values.struct.unnest() if values.dtype == pl.Struct else [values])]
        known = pl.any_horizontal(part.is_not_null() for part in split)
        return pl.select(pl.when(known).then(pl.sum_horizontal(split))).to_series()
    if not any(isinstance(value, dict) for value in values):
        return numbers(series(values))
    parts = [[as_number(part) for part in as_dict(value).values() or [value]] for value in values]
    known = [[part for part in some if part is not None] for some in parts]
    return pl.Series([sum(some) if some else None for some in known], dtype=pl.Float64)


def _tokens(block: VoteBlock) -> Iterator[tuple[str, list[object]]]:
    """Add up the tokens of the answers where conversations count them and no metadata do."""
    if METADATA in block.nested or isinstance(block.get(METADATA).dtype, pl.Struct):
        return
    for side in SIDES:
        talks = block.nested.get(f"{TOKENS}_{side}", block.nested.get(f"conversation_{side}", []))
        counted = [
            [as_number(message.get("num_tokens")) for message in dicts(talk) if message.get("role") == "assistant"]
            for talk in talks
        ]
        if any(counted):
            yield (
                f"assistant_tokens_{side}",
                [None if None in each or not each else sum(part or 0.0 for part in each) for each in counted],
            )


def _tags(block: VoteBlock, parts: Mapping[str, list[dict[str, object]]]) -> dict[str, pl.Series]:
    """Return the categories that hold for a vote's prompt, and the scores among them."""
    tagged = [name for name in ("category_tag", "occupational_tags") if name in parts]
    n, code = block.frame.height, truths(block.get("is_code")).to_list()
    if not (tagged or "tags" in block.frame.columns or any(code)):
        return {}
    nothing: list[dict[str, object]] = [{}] * n
    categories, jobs = parts.get("category_tag", nothing), parts.get("occupational_tags", nothing)
    rows: list[dict[str, object]] = []
    known: dict[str, tuple[list[str], dict[str, int]]] = {}
    for of_all, job, own, is_code in zip(categories, jobs, block.nested.get("tags", [None] * n), code, strict=True):
        key = repr(of_all)  # few differ
        known[key] = known.get(key) or tags_of(of_all)
        tags, scores = [*known[key][0]], known[key][1]
        tags += [name for name, holds in job.items() if holds is True]
        tags += [text for tag in as_list(own) if (text := as_text(tag)) is not None]
        tags += ["code"] if is_code else []
        rows.append({**scores, "tags": list(dict.fromkeys(tags)) if of_all or job or tags else None})
    frame = columns_of_rows(rows, "comparisons")
    return {name: frame[name] for name in frame.columns}


def _factors(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Keep every further plain column under its own name."""
    kept: dict[str, pl.Series] = {}
    for column in block.frame.iter_columns():
        name, cells = column.name, column
        if name in _USED or name in NESTED or name in TEXTS or name.startswith(TOKENS):
            continue
        if name in block.nested:
            _drop(name, tally)
        is_long = cells.str.len_chars() > MAX_FACTOR_CHARS if cells.dtype == pl.String else None
        if is_long is not None and is_long.any():
            _drop(name, tally)
            cells = cells.set(is_long.fill_null(value=False), None)
        inside = None
        if name == "preference":
            kept[name] = numbers(cells)
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
    whole = present.str.contains(_WHOLE)
    if whole.all():
        return cells.cast(pl.Int64)
    number = present.cast(pl.Float64, strict=False)
    written = whole | ((number.cast(pl.String) == present) & number.is_finite()).fill_null(value=False)
    if all(text not in {"True", "False"} and _is_number(text) for text in present.filter(~written)):
        return cells.cast(pl.Float64)
    return cells


def _is_number(text: str) -> bool:
    """Whether a text is what Python writes for the number that it holds."""
    return any(str(number) == text for number in (as_whole(text), as_number(text)))
