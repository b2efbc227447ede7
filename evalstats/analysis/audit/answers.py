"""Multiple choice by the answers behind the scores: wrong keys, guesses, favourite positions, errors that two models share."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from evalstats.analysis.audit.items import differing_items, first_rows
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.document.numbers import number, share_in_percent
from evalstats.grammar import and_list, conjugate, has_have, plural
from evalstats.schema.columns import ANSWER_KEYS, CHOSEN
from evalstats.stats.answer_choices import (
    PositionBias,
    RivalOptions,
    chance_level,
    position_bias,
    rival_options,
    shared_errors,
    unread_answers,
)
from evalstats.stats.item_quality import FEWEST_MODELS, ItemSlopes, item_slopes
from evalstats.table.items import Bools, Ints

_OPTIONS = ("n_options", "num_options", "n_choices", "num_choices")
_MOST_LABELS, _FEWEST_ROWS = 26, 20
# So many scores must be what answer and key say.
_AGREE = 0.99
_FEW = 0.05
_CLEAR = 0.05
# A favourite position, and a shared error, that somebody should know of.
_FAVOURED, _SHARED = 0.10, 0.5
_FEWEST_READ = 500
_SHOWN = 5
_NO_ANSWERS = "the answers behind the scores are not kept, or not as options beside a key"


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers behind a panel's scores.

    Attributes
    ----------
    choices
        Code of the option, shape (n_items, n_models), -1 where there is none.
    keys
        Code of the right option of every item.
    labels
        The options by code.
    chosen
        The same for every row, shape (n_rows,).
    rekeyed
        Items that have another key in some rows, shape (n_items,); answers under the rarer one are left out of `choices`.
    options
        Number of options of every item; None where not told.
    ordered
        Whether codes are positions.
    """

    choices: Ints
    keys: Ints
    labels: tuple[str, ...]
    chosen: Ints
    rekeyed: Bools
    options: Ints | None
    ordered: bool


def multiple_choice(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Look at the keys, at answers that could not be read, at favourite positions and at shared errors."""
    answers = answers_of(panel)
    yield from _wrong_keys(panel, answers)
    if answers is None:
        for kind in ("guessed answers", "answer position", "agreement"):
            yield NotChecked(kind=kind, reason=_NO_ANSWERS)
        return
    if answers.rekeyed.any():
        n = int(answers.rekeyed.sum())
        yield Observation(
            kind="versions",
            text=f"{n:,} of {plural(panel.items.height, 'item')} {has_have(n)} different keys in different runs",
            remedy="Score every run by the newer keys",
            n_items=n,
            examples=panel.item_names(answers.rekeyed, _SHOWN),
            treatments=(Treatment(words="without these items", keep=panel.of_items(~answers.rekeyed)),),
        )
    yield from _guessed(panel, answers)
    yield from _positions(panel, answers)
    yield from _shared(panel, answers)


# --- the answers ---


def answers_of(panel: Panel) -> Answers | None:
    """Return the answers and keys, from the first two columns whose equality is what the scores say; None without such."""
    columns = panel.rows.columns
    known = panel.scored & np.isin(panel.score, (0.0, 1.0))
    number = panel.number
    if number(known) < max(_FEWEST_ROWS, 0.5 * number(panel.scored)):
        return None
    for chosen, key in product(CHOSEN, ANSWER_KEYS):
        if chosen not in columns or key not in columns:
            continue
        rekeyed = differing_items(panel, key)
        texts, keys = (panel.rows[name].cast(pl.String).str.strip_chars(" ().") for name in (chosen, key))
        both = known & texts.is_not_null().to_numpy() & keys.is_not_null().to_numpy()
        right = (texts == keys).fill_null(value=False).to_numpy()
        if rekeyed.mean() > _FEW or number(both) < max(_FEWEST_ROWS, 0.5 * number(known)):
            continue
        labels = sorted({*texts.filter(pl.Series(known)).drop_nulls().unique(), *keys.drop_nulls().unique()})
        agree = both & (right == (panel.score == 1))
        if len(labels) <= _MOST_LABELS and number(agree) >= _AGREE * number(both):
            return _coded(panel, texts, keys, labels, rekeyed)
    return None


def _coded(panel: Panel, texts: pl.Series, keys: pl.Series, labels: list[str], rekeyed: Bools) -> Answers | None:
    positions: dict[str, int] | None = None
    if all(len(label) == 1 and label.isascii() and label.isalpha() and label.isupper() for label in labels):
        positions = {label: ord(label) - ord("A") for label in labels}
    elif all(label.isascii() and label.isdigit() and int(label) <= _MOST_LABELS for label in labels):
        first = min(1, *(int(label) for label in labels)) if len(labels) > 1 else 0
        positions = {label: int(label) - first for label in labels}
    if positions is not None:
        known = {place: label for label, place in positions.items()}
        labels = [known.get(place, "") for place in range(max(known) + 1)]
    codes = {label: place for place, label in enumerate(labels) if label}

    def code(series: pl.Series) -> Ints:
        return series.replace_strict(codes, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy().astype(np.int64)

    chosen, keyed = code(texts), code(keys)
    width = len(labels)
    told = keyed >= 0
    cells = panel.item[told] * width + keyed[told]
    counts = np.bincount(cells, weights=panel.counts[told], minlength=panel.items.height * width)
    counts = counts.reshape(-1, width)
    if not counts.any(axis=1).all():
        return None
    of_items = counts.argmax(axis=1).astype(np.int64)
    fits = told & (keyed == of_items[panel.item])
    options = None
    for name in _OPTIONS:
        if options is None and name in panel.rows.columns and panel.rows[name].dtype.is_numeric():
            found = first_rows(panel, name).cast(pl.Int64, strict=False)
            if found.null_count() == 0 and int(found.to_numpy().min()) >= 1:
                options = found.to_numpy().astype(np.int64)
    return Answers(
        # Of several trials the first counts.
        choices=panel.firsts(np.where(fits, chosen, -1), -1),
        keys=of_items,
        labels=tuple(labels),
        chosen=chosen,
        rekeyed=rekeyed,
        options=options,
        ordered=positions is not None,
    )


# --- keys ---


def _wrong_keys(panel: Panel, answers: Answers | None) -> Iterator[Observation | NotChecked]:
    m = len(panel.models)
    if m < FEWEST_MODELS:
        yield NotChecked(kind="wrong keys", reason=f"{FEWEST_MODELS} models are needed, and there are {m}")
        return
    slopes = item_slopes(panel.scores if panel.metric.higher_is_better else -panel.scores)
    turned: Bools = slopes.p_adjusted <= _CLEAR
    rivals = None if answers is None else rival_options(answers.choices, answers.keys)
    suspect = turned if rivals is None else turned | rivals.suspect
    if suspect.any():
        yield _suspects(panel, slopes, rivals, suspect, answers)
    # Whether the least possible p could not stand out among those that lean the wrong way.
    elif rivals is None and 2.0 * slopes.least_p * max(int((slopes.p_value <= 0.5).sum()), 1) > _CLEAR:
        yield NotChecked(
            kind="wrong keys", reason=f"with {m} models no single item of {panel.items.height:,} could stand out"
        )


def _suspects(
    panel: Panel, slopes: ItemSlopes, rivals: RivalOptions | None, suspect: Bools, answers: Answers | None
) -> Observation:
    places = np.flatnonzero(suspect)
    p = np.where(np.isnan(slopes.p_value), 1.0, slopes.p_value)
    if rivals is not None:
        p = np.fmin(p, np.where(rivals.suspect, rivals.p_value, 1.0))
    places = places[np.argsort(p[places], kind="stable")]
    n = int(suspect.sum())
    told = f"{n:,} of {plural(panel.items.height, 'key')} {conjugate(n, 'look')} wrong: "
    told += "weak models match them, strong ones do not" if rivals is None else "strong models agree on another option"
    item, names = int(places[0]), panel.item_names(places, _SHOWN)
    told += f", as on {names[0]}"
    if rivals is not None and answers is not None and rivals.suspect[item]:
        key, other = (answers.labels[int(each[item])] for each in (answers.keys, rivals.option))
        told += f" ({rivals.n_chosen[item]} of {rivals.n_models[item]} say {other}, key {key})"
    treatments = [Treatment(words="without these items", keep=panel.of_items(~suspect))]
    if rivals is not None and answers is not None:
        chosen = rivals.suspect
        key = np.where(chosen, rivals.option, answers.keys)
        moved = panel.of_items(chosen) & (answers.chosen >= 0) & panel.scored
        score = np.where(moved, (answers.chosen == key[panel.item]).astype(np.float64), panel.score)
        treatments.append(Treatment(words="scored by the option that strong models choose", score=score))
    return Observation(
        kind="wrong keys",
        text=told,
        remedy="Read these items before trusting their keys; leave out those that are wrong",
        n_items=n,
        examples=names,
        treatments=tuple(treatments),
    )


# --- guesses ---


def _guessed(panel: Panel, answers: Answers) -> Iterator[Observation | NotChecked]:
    unread = panel.has_status("unscored") & (answers.chosen < 0)
    m = len(panel.models)
    n = np.bincount(panel.model, weights=panel.counts, minlength=m)
    n_unread = np.bincount(panel.model[unread], weights=panel.counts[unread], minlength=m)
    if unread.any():
        yield _unread(panel, answers, unread)
        share = n_unread / np.maximum(n, 1)
        none: Ints = np.flatnonzero((n_unread == 0) & (n >= _FEWEST_READ))
        others = share[n_unread > 0]
        if none.size and others.size >= none.size and float(np.median(others)) >= _CLEAR:
            yield Observation(
                kind="guessed answers",
                text=(
                    f"{plural(none.size, 'model')} {has_have(none.size)} no unread answer, the others up to "
                    f"{share_in_percent(float(share.max()))}: consistent with guesses that were stored as answers"
                ),
                remedy="Look in their files for answers that no text supports",
                models=tuple(panel.models[int(j)] for j in none[:_SHOWN]),
            )
    if answers.options is None:
        yield NotChecked(kind="guessed answers", reason="no column says how many options an item has")
        return
    blind: list[tuple[str, str]] = []
    for j, name in enumerate(panel.models):
        own = panel.each((panel.model == j) & panel.scored)
        if own.size < _FEWEST_ROWS:
            continue
        level = chance_level(panel.score[own] == 1, answers.options[panel.item[own]])
        if level.p_value > _CLEAR:
            blind.append((name, f"{number(100 * level.score, 1)}% right, chance {number(100 * level.chance, 1)}%"))
    if blind:
        yield Observation(
            kind="guessed answers",
            text=f"No better than a random pick: {and_list([f'{name} ({told})' for name, told in blind], 3)}",
            remedy="Check whether its answers were read at all",
            models=tuple(name for name, _ in blind),
        )


def _unread(panel: Panel, answers: Answers, unread: Bools) -> Observation:
    m = len(panel.models)
    of_model = [
        unread_answers(
            panel.score[own] == 1,
            unread[own],
            None if answers.options is None else answers.options[panel.item[own]],
            conf_level=panel.conf_level,
        )
        for own in (panel.each(panel.model == j) for j in range(m))
    ]
    order = sorted(range(m), key=lambda j: -of_model[j].share)
    first = of_model[order[0]]
    text = (
        f"{panel.number(unread):,} of {plural(panel.n_rows, 'answer')} could not be read, {share_in_percent(first.share)} of "
        f"{panel.models[order[0]]}'s"
    )
    if first.as_luck is not None and first.luck_sd is not None:
        gain = 100.0 * (first.as_luck - first.as_wrong.estimate)
        text += f"; a random pick instead would add {number(gain, 1)} points to it"
    treatments = (Treatment(words="counted as wrong", score=np.where(unread, 0.0, panel.score)),)
    if answers.options is not None:
        luck = 1.0 / answers.options[panel.item]
        picked = Treatment(words="with the chance of a random pick", score=np.where(unread, luck, panel.score))
        treatments = (*treatments, picked)
    return Observation(
        kind="guessed answers",
        text=text,
        remedy="Report how many answers were read, and never draw the others at random",
        n_rows=panel.number(unread),
        models=tuple(panel.models[j] for j in order[:_SHOWN] if of_model[j].n_unread),
        treatments=tuple(treatments),
    )


# --- positions and shared errors ---


def _positions(panel: Panel, answers: Answers) -> Iterator[Observation | NotChecked]:
    if not answers.ordered or answers.options is None:
        reason = "options have no order" if not answers.ordered else "no column says how many options an item has"
        yield NotChecked(kind="answer position", reason=reason)
        return
    m = len(panel.models)
    level = 1.0 - (1.0 - panel.conf_level) / m
    found: list[tuple[int, PositionBias]] = []
    for j in range(m):
        bias = position_bias(answers.choices[:, j], answers.keys, answers.options, conf_level=level)
        if bias is not None and (bias.excess.conf_low or 0.0) > _FAVOURED:
            found.append((j, bias))
    if not found:
        return
    found.sort(key=lambda pair: -pair[1].excess.estimate)
    first, bias = found[0]
    others = plural(len(found) - 1, "more model")
    rest = f"; {others} {'have favourites' if len(found) > 2 else 'has one'} too" if len(found) > 1 else ""
    yield Observation(
        kind="answer position",
        text=(
            f"When wrong, {panel.models[first]} says {answers.labels[bias.favourite]} {number(100 * bias.excess.estimate, 0)} "
            f"points more often than an even choice{rest}"
        ),
        remedy="Shuffle the options, or ask each question in several orders",
        models=tuple(panel.models[j] for j, _ in found),
    )


def _shared(panel: Panel, answers: Answers) -> Iterator[Observation | NotChecked]:
    found = shared_errors(answers.choices, answers.keys, conf_level=panel.conf_level)
    if found is None:
        yield NotChecked(kind="agreement", reason="four models with wrong answers on the same items are needed")
        return
    alike = np.flatnonzero(found.conf_low > _SHARED)
    if not alike.size:
        return
    alike = alike[np.argsort(-found.kappa[alike], kind="stable")]
    k = int(alike[0])
    first, second = panel.models[int(found.first[k])], panel.models[int(found.second[k])]
    rest = f"; {alike.size - 1} more pairs are alike" if alike.size > 1 else ""
    yield Observation(
        kind="agreement",
        text=(
            f"{first} and {second} give the same wrong answer on {share_in_percent(float(found.agreement[k]))} of the "
            f"{int(found.n_both_wrong[k]):,} items that both miss, others on {share_in_percent(float(found.expected[k]))}{rest}"
        ),
        remedy="Consistent with one model under two names, or one trained like the other: find out which",
        models=tuple(
            dict.fromkeys(panel.models[int(each[k])] for k in alike[:_SHOWN] for each in (found.first, found.second))
        ),
    )
