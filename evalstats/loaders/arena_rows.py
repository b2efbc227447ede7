"""Arena votes as rows of `comparisons`: whole columns at a time, and single cells only where a column is not of one kind."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.loaders.arena_cells import (
    WITH_ANSWERS,
    VoteOutcome,
    as_truth,
    covariates_of,
    may_name_itself,
    names_itself,
    structured,
    tags_of,
    winner_of,
)
from evalstats.loaders.arena_records import (
    KNOWN_NAMES,
    NAMING,
    NESTED,
    NOT_SAMPLED,
    TEXTS,
    Cells,
    Tally,
    VoteBlock,
    texts,
)
from evalstats.loaders.values import (
    TIME,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    dicts,
    digests_of,
    plain_numbers,
    unit_of_count,
    units_of_times,
)
from evalstats.schema.columns import COMPARISONS, column_names
from evalstats.schema.tables import factor_series, levels_of

# What a label is read by. A record that lacks the first is read by the next.
_LABELS = ("winner", "win")
_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
# Stand for the two models where a label is read apart from its row.
_PLACE = "\x00place"
_FIRST, _SECOND = "\x00a", "\x00b"


def winners_of(
    block: VoteBlock, model_a: pl.Series, model_b: pl.Series, labels: Mapping[str, str], tally: Tally
) -> dict[str, pl.Series]:
    """Return outcome, strength, status, status_reason and value_raw of every vote, and take note of its label."""
    said = _said(block)
    names = list(said.columns)
    itself = (model_a == model_b).alias("itself")
    label = said["winner"] if "winner" in names else pl.Series([None], dtype=pl.String).new_from_index(0, said.height)
    named = pl.select(
        pl.when(itself).then(None).when(label == model_a).then(pl.lit("a")).when(label == model_b).then(pl.lit("b"))
    ).to_series()
    keys = said.with_columns(named.alias("named"), itself)
    distinct = keys.group_by([*names, "named", "itself"], maintain_order=True).len("n")
    read: list[VoteOutcome] = []
    for row in distinct.iter_rows(named=True):
        if block.winners is not None:
            place: int = row[_PLACE]
            winner = block.winners[place]
        else:
            winner = _winner({name: row[name] for name in names}, row["named"], labels)
            winner = VoteOutcome(raw=winner.raw, reason="a model against itself") if row["itself"] else winner
        tally.count_winner(winner, against_itself=row["itself"], n=row["n"])
        read.append(winner)
    reading = {
        "outcome": [winner.outcome for winner in read],
        "strength": [winner.strength for winner in read],
        "status_reason": [winner.reason for winner in read],
        "value_raw": [winner.raw for winner in read],
    }
    read_off = distinct.drop("n").with_columns(
        pl.Series(name, cells, dtype=pl.String) for name, cells in reading.items()
    )
    joined = keys.join(read_off, on=[*names, "named", "itself"], how="left", nulls_equal=True, maintain_order="left")
    status = pl.when(pl.col("outcome").is_null()).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
    return {series.name: series for series in joined.select(*reading, status=status).iter_columns()}


def _said(block: VoteBlock) -> pl.DataFrame:
    """Return the columns that say who won, as text."""
    if block.winners is not None:
        return pl.DataFrame({_PLACE: range(len(block.winners))})
    names = block.columns.keys()
    if "acceptedIndex" in names:
        return pl.DataFrame({"acceptedIndex": texts(block.get("acceptedIndex"))})
    if names.isdisjoint(_LABELS) and "winner_model_a" in names:
        return pl.DataFrame({name: texts(block.get(name)) for name in _ONE_HOT})
    return pl.DataFrame({"winner": texts(block.first_of(*_LABELS))})


def _winner(record: Mapping[str, str | None], named: str | None, labels: Mapping[str, str]) -> VoteOutcome:
    label = record.get("winner")
    own = labels.get(label.strip().lower()) if label is not None else None
    if own is not None:
        return replace(winner_of({"winner": own}, _FIRST, _SECOND), raw=label, words=None)
    sides = (label or _FIRST) if named == "a" else _FIRST, (label or _SECOND) if named == "b" else _SECOND
    return winner_of(record, *sides)


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
_STRUCTURES = ("conv_metadata", "category_tag", "dedup_tag", "occupational_tags")
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
    named = _is_named(sides[0]) & _is_named(sides[1])
    if not named.all():
        tally.add_without_model([place for place, has in zip(block.places, named, strict=True) if not has])
        block, sides = block.filter(named), [side.filter(named) for side in sides]
    if not block.height:
        return pl.DataFrame(), ()
    won = winners_of(block, sides[0], sides[1], arena.labels, tally)
    made: dict[str, pl.Series] = {
        "battle": _battles(block, arena),
        "event": texts(block.get("event_id")),
        **{name: counts(block.get(name)) for name in ("event_size", "rank_a", "rank_b")},
        "item": _short(texts(block.get(arena.item_name))),
        "model_a": sides[0],
        "model_b": sides[1],
        "weight": numbers(block.get("weight")),
        "session": texts(block.get(arena.session_name)),
        **{name: texts(block.get(name)) for name in ("app", "scenario", "language", "phase")},
        **_times(block, tally),
        **won,
        **_who_judged(block, arena),
        **_marks(block, tally),
        **_nested(block, tally),
        **_naming(block, tally),
    }
    factors = _factors(block, tally)
    made |= {name: cells.fill_null(made[name]) if name in made else cells for name, cells in factors.items()}
    turn = _whole(numbers(block.get("turn")))
    made["turn"] = made["turn"].cast(pl.Int64).fill_null(turn) if "turn" in made else turn
    made["setting"] = _repeated(arena.setting, block)
    return pl.DataFrame([cells.alias(name) for name, cells in made.items()]), block.places


def _short(items: pl.Series) -> pl.Series:
    """Return items, of which long texts are named by their digests: texts are read from the file when somebody asks."""
    return items.zip_with((items.str.len_chars() <= _NAME_CHARS).fill_null(value=True), digests_of(items))


def numbers(cells: Cells) -> pl.Series:
    """Return cells as `as_number` reads each of them."""
    if isinstance(cells, pl.Series):
        if cells.null_count() == len(cells):
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, len(cells))
        if cells.dtype == pl.String:
            return plain_numbers(cells)
        if cells.dtype.is_numeric() or isinstance(cells.dtype, pl.Boolean | pl.Null):
            number = cells.cast(pl.Float64, strict=False)
            return number.set(~number.is_finite().fill_null(value=True), None)
        cells = cells.to_list()
    return pl.Series([as_number(cell) for cell in cells], dtype=pl.Float64)


def counts(cells: Cells) -> pl.Series:
    """Return cells as `as_count` reads each of them."""
    whole = _whole(numbers(cells))
    return whole if whole.null_count() == len(whole) else whole.set((whole < 0).fill_null(value=False), None)


def truths(cells: Cells) -> pl.Series:
    """Return cells as `as_truth` reads each of them."""
    if isinstance(cells, pl.Series) and cells.dtype == pl.Boolean:
        return cells
    read = texts(cells)
    known = {text: as_truth(text) for text in levels_of(read)}
    return read.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.Boolean)


def _whole(number: pl.Series) -> pl.Series:
    if number.null_count() == len(number):
        return number.cast(pl.Int64)
    fits = (number == number.round()) & (number.abs() < _LARGEST)
    return number.set(~fits.fill_null(value=True), None).cast(pl.Int64)


def _repeated(value: str | None, block: VoteBlock) -> pl.Series:
    return pl.Series([value], dtype=pl.String).new_from_index(0, block.height)


def _is_named(names: pl.Series) -> pl.Series:
    return (names.str.strip_chars().str.len_bytes() > 0).fill_null(value=False)


def _battles(block: VoteBlock, arena: Arena) -> pl.Series:
    """Name votes by their ids, and those that lack one by their number."""
    number = pl.Series(block.numbers, dtype=pl.Int64).cast(pl.String)
    if not arena.id_names:
        return number
    ids = [texts(block.get(name)) for name in arena.id_names]
    frame = pl.DataFrame(
        [cells.set((cells == "").fill_null(value=False), None).alias(f"{k}") for k, cells in enumerate(ids)]
    )
    return frame.select(pl.concat_str(pl.all(), separator=".")).to_series().fill_null(number)


def _who_judged(block: VoteBlock, arena: Arena) -> dict[str, pl.Series]:
    """Tell people from models that judge: arena users, experts and workers are people."""
    rater = texts(block.first_of(*arena.rater_names))
    cells = block.get("judge")
    if not isinstance(cells, pl.Series):
        cells = [as_list(cell)[0] if as_list(cell) else cell for cell in cells]
    judge = texts(cells)
    if judge.null_count() == block.height:
        return {"rater": rater, "judge": _repeated(arena.judge, block)}
    lower = judge.str.to_lowercase()
    person = pl.Series([False]).new_from_index(0, block.height)
    for start in _PEOPLE:
        person |= lower.str.starts_with(start).fill_null(value=False)
    own = _repeated(arena.judge, block)
    named = rater.set((rater == "").fill_null(value=False), None).fill_null(judge)
    return {
        "rater": rater.zip_with(~person, named),
        "judge": own.zip_with(person | judge.is_null() | (judge == ""), judge),
    }


def _times(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    name = "tstamp" if "tstamp" in block.columns else "timestamp"
    cells = block.get(name)
    if isinstance(cells, pl.Series):
        read, units = units_of_times(cells)
        given = cells.is_not_null()
        if cells.dtype.is_float():
            given &= ~cells.is_nan().fill_null(value=False)
        elif cells.dtype == pl.String:
            given &= cells.str.to_lowercase() != "nan"
    else:
        times = [as_time(cell) for cell in cells]
        read = pl.Series(times, dtype=TIME)
        units = pl.Series(
            [None if time is None else unit_of_count(cell) for time, cell in zip(times, cells, strict=True)]
        )
        given = pl.Series([cell is not None and as_text(cell) != "nan" for cell in cells])
    tally.count_times(read, units)
    if n_unread := int((read.is_null() & given).sum()):
        tally.unread[name] += n_unread
    return {"timestamp": read}


def _marks(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Read what an arena says of a vote by a flag, and the order in which a session's votes were given."""
    found = {name: truths(block.columns[name]) for name in ("anony", "is_code", "is_refusal") if name in block.columns}
    tally.counts[KNOWN_NAMES] += int((~found["anony"]).sum()) if "anony" in found else 0
    if "evaluation_order" in block.columns:
        found["evaluation_order"] = _whole(numbers(block.columns["evaluation_order"]))
    if "is_code" in found:
        code = pl.Series([["code"]], dtype=pl.List(pl.String)).new_from_index(0, block.height)
        found["tags"] = code.set(~found["is_code"].fill_null(value=False), None)
    return found


def _naming(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Mark answers that say whose they are; nothing is said where no answer was kept."""
    answers = block.select(WITH_ANSWERS)
    if not answers.columns:
        return {}
    answers = replace(answers, columns={name: may_name_itself(cells) for name, cells in answers.columns.items()})
    sides = {side: [names_itself(record, side) for record in answers.records()] for side in ("a", "b")}
    tally.counts[NAMING] += sum(True in pair for pair in zip(*sides.values(), strict=True))
    return {
        f"names_itself_{side}": pl.Series(named, dtype=pl.Boolean)
        for side, named in sides.items()
        if any(each is not None for each in named)
    }


def _nested(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Read covariates, tags and the marks of deduplication, cell by cell: no two arenas nest them alike."""
    counted = (name for name in ("conversation_a", "conversation_b") if isinstance(block.columns.get(name), list))
    nested = block.select((*_STRUCTURES, "tags", *counted))
    if not nested.columns:
        return {}
    codes: list[bool | None] = (
        truths(block.columns["is_code"]).to_list() if "is_code" in block.columns else [None] * block.height
    )
    rows = [
        _structures(record, tally, is_code=code is True) for record, code in zip(nested.records(), codes, strict=True)
    ]
    found: dict[str, pl.Series] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        found[name] = pl.Series(cells, dtype=pl.List(pl.String)) if name == "tags" else factor_series(name, cells)
    return found


def _structures(record: Mapping[str, object], tally: Tally, *, is_code: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    parts: dict[str, dict[str, object]] = {}
    for name in _STRUCTURES:
        value = record.get(name)
        read = structured(value)
        if read is None and value not in (None, {}, "", "{}"):
            tally.unread[name] += 1
        parts[name] = read or {}
    for name, number in (*_tokens(record), *covariates_of(parts["conv_metadata"])):
        if name == "turns":
            found["turn"] = as_whole(number)
        elif _may_keep(name, tally):
            found[name] = number
    tags, scores = tags_of(parts["category_tag"])
    tags += [name for name, holds in parts["occupational_tags"].items() if holds is True]
    tags += [text for tag in as_list(record.get("tags")) if (text := as_text(tag)) is not None]
    tags += ["code"] if is_code else []
    for name, mark in parts["dedup_tag"].items():
        if as_truth(mark) is not None and _may_keep(f"dedup_{name}", tally):
            found[f"dedup_{name}"] = as_truth(mark)
    tally.counts[NOT_SAMPLED] += found.get("dedup_sampled") is False
    known = bool(parts["category_tag"] or parts["occupational_tags"] or tags)
    return {**found, **scores, "tags": list(dict.fromkeys(tags)) if known else None}


def _tokens(record: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Add up the tokens of the answers where conversations count them and no metadata do."""
    if record.get("conv_metadata") is not None or record.keys().isdisjoint(WITH_ANSWERS):
        return
    for side in ("a", "b"):
        messages = [
            message for message in dicts(record.get(f"conversation_{side}")) if message.get("role") == "assistant"
        ]
        counts = [as_number(message.get("num_tokens")) for message in messages]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            yield f"assistant_tokens_{side}", sum(known)


def _factors(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    """Keep every further plain column under its own name."""
    kept: dict[str, pl.Series] = {}
    for name, cells in block.columns.items():
        if name in _USED or name in NESTED or name in TEXTS:
            continue
        usable = _without_long(cells, name, tally)
        if name == "preference":
            share = numbers(usable)
            inside = share.fill_null(0.0).is_between(0, 1) & _given(usable)
            kept[name] = share.set(~inside, None)
        elif name in _LEVELS:
            label = texts(usable)
            inside = label.is_in(list(_LEVELS[name])).fill_null(value=False)
            kept[name] = label.set(~inside, None)
        else:
            inside = None
        if inside is not None:
            rest = usable.to_list() if isinstance(usable, pl.Series) else usable
            usable = [None if taken else cell for cell, taken in zip(rest, inside, strict=True)]
        own = f"source_{name}" if name in _STANDARD else name
        if _given(usable).any() and _may_keep(own, tally):
            kept[own] = _plain(own, usable)
    return kept


def _given(cells: Cells) -> pl.Series:
    return cells.is_not_null() if isinstance(cells, pl.Series) else pl.Series([cell is not None for cell in cells])


def _without_long(cells: Cells, name: str, tally: Tally) -> Cells:
    """Leave out the cells that are nested, or longer than any label."""
    if isinstance(cells, pl.Series) and cells.dtype != pl.String:
        return cells
    if isinstance(cells, pl.Series):
        longest = cells.str.len_chars().max()
        if not isinstance(longest, int) or longest <= MAX_FACTOR_CHARS:
            return cells
        usable: Cells = cells.set((cells.str.len_chars() > MAX_FACTOR_CHARS).fill_null(value=False), None)
    else:
        usable = [None if _is_no_label(cell) else cell for cell in cells]
        if not any(map(_is_no_label, cells)):
            return usable
    if len(tally.left_out) < MAX_FACTORS:
        tally.left_out[name[:_LABEL_CHARS]] = None
    return usable


def _is_no_label(cell: object) -> bool:
    return isinstance(cell, dict | list) or (isinstance(cell, str) and len(cell) > MAX_FACTOR_CHARS)


def _may_keep(name: str, tally: Tally) -> bool:
    if name not in tally.factors and len(tally.factors) < MAX_FACTORS:
        tally.factors[name] = None
    return name in tally.factors


def _plain(name: str, cells: Cells) -> pl.Series:
    """Return what the texts of a column stand for, if writing that out again gives the same texts."""
    if isinstance(cells, pl.Series):
        if cells.dtype == pl.String:
            return _numbers_as_written(cells)
        if cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
            return cells
        return factor_series(name, [None if cell is None else str(cell) for cell in cells.to_list()])
    return factor_series(name, [_value_of(cell) for cell in cells])


def _numbers_as_written(texts_: pl.Series) -> pl.Series:
    present = texts_.drop_nulls()
    if present.is_in(["True", "False"]).all():
        return texts_ == "True"
    whole = present.str.contains(_WHOLE)
    if whole.all():
        return texts_.cast(pl.Int64)
    number = present.cast(pl.Float64, strict=False)
    written = whole | ((number.cast(pl.String) == present) & number.is_finite()).fill_null(value=False)
    if all(
        isinstance(_value_of(text), int | float) and text not in {"True", "False"} for text in present.filter(~written)
    ):
        return texts_.cast(pl.Float64)
    return texts_


def _value_of(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value in {"True", "False"}:
        return value == "True"
    number = as_number(value)
    if number is None:
        return value
    return next((read for read in (as_whole(value), number) if str(read) == value), value)
