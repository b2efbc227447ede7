"""Arena votes as rows of `comparisons`, whole columns at a time; only what nests is looked at cell by cell."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.loaders.arena_cells import (
    SIDES,
    VoteOutcome,
    as_truth,
    names_itself,
    side_last,
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
from evalstats.schema.tables import columns_of_rows, levels_of

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
    label = said["winner"] if "winner" in names else pl.lit(None, pl.String)
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
    names = {*block.frame.columns}
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
    if not block.frame.height:
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


def _repeated(value: str | None, block: VoteBlock) -> pl.Series:
    return pl.Series([value], dtype=pl.String).new_from_index(0, block.frame.height)


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
    judge = texts(block.get("judge"))
    if judge.null_count() == len(judge):
        return {"rater": rater, "judge": _repeated(arena.judge, block)}
    lower = judge.str.to_lowercase()
    person = lower.str.contains(f"^(?:{'|'.join(_PEOPLE)})").fill_null(value=False)
    own = _repeated(arena.judge, block)
    named = rater.set((rater == "").fill_null(value=False), None).fill_null(judge)
    return {
        "rater": rater.zip_with(~person, named),
        "judge": own.zip_with(person | judge.is_null() | (judge == ""), judge),
    }


def _times(block: VoteBlock, tally: Tally) -> dict[str, pl.Series]:
    name = "tstamp" if "tstamp" in block.frame.columns else "timestamp"
    cells = block.get(name)
    read, units = units_of_times(cells)
    given = texts(cells).str.to_lowercase() != "nan" if cells.dtype != pl.Duration else cells.is_not_null()
    tally.count_times(read, units)
    if n_unread := int((read.is_null() & given).sum()):
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
    parts = {name: _objects(block, name, tally) for name in _STRUCTURES if name in block.frame.columns}
    found: dict[str, pl.Series] = {}
    for name, values in chain(_tokens(block), _members(parts.get("conv_metadata", []))):
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


def _sums(values: list[object]) -> pl.Series:
    """Return numbers as a column; a count that is split up by kind is added up."""
    if not any(isinstance(value, dict) for value in values):
        return numbers(series(values))
    parts = [[as_number(part) for part in as_dict(value).values() or [value]] for value in values]
    known = [[part for part in some if part is not None] for some in parts]
    return pl.Series([sum(some) if some else None for some in known], dtype=pl.Float64)


def _tokens(block: VoteBlock) -> Iterator[tuple[str, list[object]]]:
    """Add up the tokens of the answers where conversations count them and no metadata do."""
    if "conv_metadata" in block.nested:
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
