"""Simulated live arenas: votes in the spirit of Inclusion Arena, in an assumed format, whose truth is known.

Published are the numbers of comparisons, models and users, two apps, and which five models lead in which order. How strong
they are, and everything else, is invented (`evalstats.simulate.arena_world`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from evalstats.simulate.arena_world import (
    APPS,
    LANGUAGES,
    SCENARIOS,
    ArenaDesign,
    ArenaEffects,
    ArenaWorld,
    draw_pairs,
    make_world,
    truth_frame,
)
from evalstats.simulate.draws import VOTE_LABELS, check_share, generator, named, numbered, times_after
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, OUTCOMES, TIE
from evalstats.stats.checks import FloatArray, IntArray, check_count

N_VOTES = 50_000
RUN = "simulated arena"
FILE = "simulated_arena_votes.jsonl"
START = datetime(2025, 4, 1, tzinfo=UTC)  # invented; the published votes end in July 2025

_MADE_AS = ("honest", "ring", "side", "copy")
_COPY = 3
_DAY = 86_400_000  # milliseconds
N_DAYS = 90.0  # in which votes are given
# What a manipulated event is; honest ones are 0.
HONEST, RING, SIDE = 0, 1, 2


@record(eq=False)
class Events:
    """What is asked in each event; arrays of shape (n_events,) but for `members`, (n_events, K), in the order shown.

    `time` is in days; `kind` is HONEST, RING or SIDE; `target` is the model that the ring pushes, -1 for none.
    """

    members: IntArray
    rater: IntArray
    prompt: IntArray
    app: IntArray
    scenario: IntArray
    language: IntArray
    turn: IntArray
    time: FloatArray
    kind: IntArray
    target: int = -1

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.rater.size


@record(eq=False)
class DrawnVotes:
    """Pairs that events were reduced to; arrays of shape (n_votes,).

    `event` is the event's number, `rank_a` and `rank_b` are 1 for the chosen model and 2 for the others (0 where there was
    no choice or only two models), lengths are in tokens.
    """

    event: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    rank_a: IntArray
    rank_b: IntArray
    length_a: IntArray
    length_b: IntArray


def ask(rng: np.random.Generator, world: ArenaWorld, members: IntArray) -> Events:
    """Draw everything about events but their outcome; times are sorted."""
    n = len(members)
    rater = drawn(rng, world.activity, n)
    prompt = np.full(n, -1, dtype=np.int64) if world.prompts is None else rng.integers(len(world.prompts), size=n)
    scenario = rng.integers(len(SCENARIOS), size=n)
    turn = rng.geometric(0.25, size=n)
    time = rng.uniform(0.0, N_DAYS, size=n)
    kind = np.full(n, HONEST, dtype=np.int64)
    return Events(
        members=rng.permuted(members, axis=1),
        rater=rater,
        prompt=prompt,
        app=world.rater_app[rater],
        scenario=scenario,
        language=world.rater_language[rater],
        turn=turn,
        time=np.sort(time),
        kind=kind,
    )


def decide(rng: np.random.Generator, world: ArenaWorld, effects: ArenaEffects, events: Events) -> DrawnVotes:
    """Let every rater choose, and reduce each event of K models to K - 1 pairs.

    The chosen model is paired with each of the others; without a choice the model shown first is, as ties. In a pair side a
    is the model that was shown earlier.
    """
    n, k = (int(size) for size in events.members.shape)
    lengths = np.maximum(
        1, np.exp(world.log_length[events.members] + effects.sd_length * rng.standard_normal((n, k)))
    ).astype(np.int64)
    utility = _utility(rng, world, effects, events, lengths)
    place = np.argmax(events.members == events.target, axis=1)
    pushed = (events.kind == RING) & (events.members == events.target).any(axis=1)
    chosen = np.where(pushed, place, np.where(events.kind == SIDE, 0, choose(rng, utility, effects.tie)))
    bad = rng.random(n) < effects.both_bad
    tied = chosen == k
    # The chosen model (or the first) against the others, in the order shown.
    head = np.where(tied, 0, chosen)[:, None]
    rest = np.arange(k - 1)[None, :]
    other = rest + (rest >= head)
    left, right = np.minimum(head, other), np.maximum(head, other)
    won = np.where(left == head, A_WINS, B_WINS)
    outcome = np.where(tied[:, None], np.where(bad, BOTH_BAD, TIE)[:, None], won).ravel()
    ranked = np.repeat(~tied, k - 1) & (k > 2)
    return DrawnVotes(
        event=np.repeat(np.arange(n), k - 1),
        first=np.take_along_axis(events.members, left, axis=1).ravel(),
        second=np.take_along_axis(events.members, right, axis=1).ravel(),
        outcome=outcome,
        rank_a=np.where(ranked, 1 + (outcome == B_WINS), 0),
        rank_b=np.where(ranked, 1 + (outcome == A_WINS), 0),
        length_a=np.take_along_axis(lengths, left, axis=1).ravel(),
        length_b=np.take_along_axis(lengths, right, axis=1).ravel(),
    )


def choose(rng: np.random.Generator, utility: FloatArray, tie: float) -> IntArray:
    """Return which of K models is chosen, K for none: P(m) : P(none) = exp(u_m) : tie x exp(mean of u).

    `utility`, of shape (..., K), is in log-odds. R. R. Davidson (1970), doi:10.1080/01621459.1970.10481082, for K = 2; ties of
    more by the geometric mean: Turner, van Etten, Firth & Kosmidis (2020), doi:10.1007/s00180-020-00959-3.
    """
    none = np.full_like(utility[..., :1], -np.inf)
    if tie > 0:
        none = utility.mean(axis=-1, keepdims=True) + np.log(tie)
    every = np.concatenate([utility, none], axis=-1)
    # The largest of utilities with Gumbel noise is the m-th with a probability proportional to exp(u_m).
    return np.argmax(every + rng.gumbel(size=every.shape), axis=-1)


def _utility(
    rng: np.random.Generator, world: ArenaWorld, effects: ArenaEffects, events: Events, lengths: IntArray
) -> FloatArray:
    """Return the utilities, shape (n_events, K)."""
    models = events.members
    utility = world.strengths[models]
    utility += world.apps[events.app[:, None], models] + world.scenarios[events.scenario[:, None], models]
    utility += world.tastes[events.rater[:, None], models]
    if world.prompts is None:
        utility += effects.sd_prompt * rng.standard_normal(models.shape)
    else:
        utility += world.prompts[events.prompt[:, None], models]
    utility[:, 0] += effects.side
    return utility + effects.style * (lengths / lengths.mean(axis=1, keepdims=True) - 1) / 2


def drawn(rng: np.random.Generator, shares: FloatArray, n: int) -> IntArray:
    """Draw indices by their shares; by bisection, since `choice` with shares is slower for many votes."""
    ends = np.cumsum(shares)
    return np.searchsorted(ends / ends[-1], rng.random(n), side="right").astype(np.int64)


_MINUTE = 1.0 / (24 * 60)  # days


@record
class ArenaAttack:
    """What is wrong with some votes; by default nothing.

    Attributes
    ----------
    ring_share, ring_raters, target
        Share of the events that a ring of so many raters votes in; it chooses `target` (a name) wherever it is shown, and
        votes honestly elsewhere.
    waits
        The ring votes only where its model is shown: it asks again until it is.
    side_share, side_raters
        Share of the events in which raters choose what is shown first, and how many raters these are.
    duplicate_share
        Share of votes that are sent a second time, within a minute, as a vote of the same event.
    """

    ring_share: float = 0.0
    ring_raters: int = 10
    target: str | None = None
    waits: bool = False
    side_share: float = 0.0
    side_raters: int = 5
    duplicate_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ring_share", "side_share", "duplicate_share"):
            check_share(name, getattr(self, name))
        check_count(self.ring_raters, "ring_raters", least=1)
        check_count(self.side_raters, "side_raters", least=1)
        if self.ring_share and self.target is None:
            raise InputError("a ring votes, but for nobody: name its target")

    def target_code(self, names: tuple[str, ...]) -> int:
        """Return the number of the ring's model; -1 for none."""
        if self.target is None:
            return -1
        if self.target not in names:
            raise InputError(f"the ring's target {self.target!r} is no model of this arena")
        return names.index(self.target)


def infiltrated(
    rng: np.random.Generator, events: Events, attack: ArenaAttack, *, n_raters: int, target: int, allowed: FloatArray
) -> Events:
    """Give some events to the ring (the last raters of the list) and to raters of one side (those before them)."""
    if not (attack.ring_share or attack.side_share):
        return events
    n = events.n_events
    what = rng.random(n)
    ring = what < attack.ring_share
    side = ~ring & (what < attack.ring_share + attack.side_share)
    n_ring = min(attack.ring_raters, n_raters)
    n_side = min(attack.side_raters, n_raters)
    rater = np.where(ring, n_raters - 1 - rng.integers(n_ring, size=n), events.rater)
    rater = np.where(side, (n_raters - 1 - n_ring - rng.integers(n_side, size=n)) % n_raters, rater)
    members = events.members
    if attack.waits:
        members = _with_target(rng, members, ring, target, allowed)
    kind = np.where(ring, RING, np.where(side, SIDE, HONEST))
    return replace(events, rater=rater, kind=kind, target=target, members=members)


def sent_twice(rng: np.random.Generator, time: FloatArray, share: float) -> tuple[IntArray, FloatArray]:
    """Return which votes are sent a second time, and when (days)."""
    rows = np.flatnonzero(rng.random(time.size) < share)
    return rows, time[rows] + rng.uniform(0.0, _MINUTE, size=rows.size)


def _with_target(
    rng: np.random.Generator, members: IntArray, ring: np.ndarray, target: int, allowed: FloatArray
) -> IntArray:
    """Return members of which those of the ring hold the target, with opponents that it may meet."""
    rows = np.flatnonzero(ring & ~(members == target).any(axis=1))
    near = allowed[target]
    if not rows.size:
        return members
    changed = members.copy()
    k = members.shape[1]
    # The first opponents in a drawn order, one order an event.
    keys = np.log(np.maximum(near, 1e-300)) + rng.gumbel(size=(rows.size, near.size))
    keys[:, target] = -np.inf
    opponents = np.argsort(-keys, axis=1)[:, : k - 1]
    shown = np.concatenate([np.full((rows.size, 1), target), opponents], axis=1)
    changed[rows] = rng.permuted(shown, axis=1)
    return changed


_AT_ONCE = 100_000  # events whose further models are drawn at once: events x models numbers are held


def may_meet(n_models: int, n_islands: int) -> FloatArray:
    """Return 1 for pairs that may meet, those of two models of one island, and 0 for others."""
    island = np.arange(n_models) % n_islands
    same = island[:, None] == island[None, :]
    return (same & ~np.eye(n_models, dtype=np.bool_)).astype(np.float64)


def draw_members(rng: np.random.Generator, allowed: FloatArray, n: int, size: int) -> IntArray:
    """Draw the models of events, shape (n, size): a pair that may meet, and others that its first model may meet."""
    pairs = draw_pairs(rng, allowed, n)
    if size == 2:
        return pairs
    with np.errstate(divide="ignore"):
        liking = np.log(allowed)
    parts: list[IntArray] = []
    for first in range(0, n, _AT_ONCE):
        part = pairs[first : first + _AT_ONCE]
        keys = liking[part[:, 0]] + rng.gumbel(size=(part.shape[0], allowed.shape[0]))
        np.put_along_axis(keys, part, -np.inf, axis=1)
        parts.append(np.concatenate([part, np.argsort(-keys, axis=1)[:, : size - 2]], axis=1))
    return np.concatenate(parts)


# --- as tables and files ---


def simulate_arena(
    n_votes: int = N_VOTES,
    *,
    seed: int = 0,
    design: ArenaDesign | None = None,
    effects: ArenaEffects | None = None,
    attack: ArenaAttack | None = None,
) -> EvalData:
    """Simulate the votes of a live arena.

    Parameters
    ----------
    n_votes
        Pairwise votes (copies of votes come on top). An event of K models makes K - 1 of them; a remainder is left out.
    seed
        Of the truth and of every draw.
    design
        Models, raters, prompts, size of events, time, islands.
    effects
        What moves a vote.
    attack
        Votes that are not honest; None: all are.

    Returns
    -------
    EvalData
        `comparisons` with one row per vote, in order of time, and one row of `runs` that says that all is simulated.
        Further columns are the lengths `assistant_tokens_a` and `assistant_tokens_b`, and `made_as` ("honest", "ring",
        "side", "copy"), which no file has.

    Raises
    ------
    InputError
        If a number is out of range or a name is unknown.

    Examples
    --------
    >>> votes = simulate_arena(1000, design=ArenaDesign(models=8)).comparisons
    >>> votes.height, votes["model_a"].n_unique(), votes["phase"].unique().to_list()
    (1000, 8, ['random'])
    """
    design, effects = design or ArenaDesign(), effects or ArenaEffects()
    attack = attack or ArenaAttack()
    pairs = design.event_size - 1
    n_events = check_count(n_votes, "n_votes", least=pairs) // pairs
    rng = generator(seed, "arena", "votes")
    world = make_world(design, effects, n_votes=n_votes, seed=seed)
    allowed = may_meet(world.n_models, design.n_islands)
    events = ask(rng, world, draw_members(rng, allowed, n_events, design.event_size))
    target = attack.target_code(world.names)
    events = infiltrated(rng, events, attack, n_raters=world.activity.size, target=target, allowed=allowed)
    codes = _codes(events, decide(rng, world, effects, events))
    return _tables(_with_copies(codes, rng, attack.duplicate_share), world.names, design, seed)


def arena_truth(
    *, n_votes: int = N_VOTES, seed: int = 0, design: ArenaDesign | None = None, effects: ArenaEffects | None = None
) -> pl.DataFrame:
    """Return what simulated votes are drawn from. `n_votes` only sets the number of raters where the design leaves it open.

    Returns
    -------
    polars.DataFrame
        One row per model, best first: `model`, `rank` (by `marginal`), `strength` (log-odds for one rater and prompt, at
        equal lengths), `marginal` (strengths of a Bradley-Terry fit, ties as half, to the shares
        that each pair would get from endless raters, prompts and lengths, all pairs weighing alike: what ratings without
        covariates aim at), `mean_log_length`, and for each app and scenario the deviation
        `app_<name>` and `scenario_<name>`.

    Examples
    --------
    >>> truth = arena_truth(design=ArenaDesign(models=8))
    >>> truth["strength"].round(2).to_list()[:2], truth["marginal"].abs().max() < truth["strength"].abs().max()
    ([0.77, 0.44], True)
    """
    design, effects = design or ArenaDesign(), effects or ArenaEffects()
    return truth_frame(make_world(design, effects, n_votes=n_votes, seed=seed), effects)


def write_arena(
    folder: str | Path,
    n_votes: int = N_VOTES,
    *,
    seed: int = 0,
    design: ArenaDesign | None = None,
    effects: ArenaEffects | None = None,
    attack: ArenaAttack | None = None,
) -> list[Path]:
    """Write simulated votes as JSON Lines, about 350 bytes a vote; same numbers and seed, same bytes.

    No format of Inclusion Arena is published. The keys are those of public arena data (model_a, model_b, winner, tstamp,
    language, conv_metadata) and of what the paper describes: battle_id, event_id, app, user_id, turn, phase, scenario. Where
    prompts are shared, `prompt_id` names them. Every line says that it is simulated.

    Raises
    ------
    InputError
        As `simulate_arena`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_arena(folder, 100)]
    ['simulated_arena_votes.jsonl']
    """
    data = simulate_arena(n_votes, seed=seed, design=design, effects=effects, attack=attack)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _records(data.comparisons, seed).write_ndjson(folder / FILE)
    return [folder / FILE]


def _records(votes: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the columns of the file."""
    columns: list[pl.Expr] = [
        pl.col("battle").alias("battle_id"),
        pl.col("event").alias("event_id"),
        pl.col("app"),
        pl.col("rater").alias("user_id"),
        pl.col("turn"),
        pl.col("model_a"),
        pl.col("model_b"),
        pl.col("value_raw").alias("winner"),
        (pl.col("timestamp").dt.epoch("ms") / 1000).alias("tstamp"),
        pl.col("phase"),
        pl.col("scenario"),
        pl.col("language"),
    ]
    if votes["event_size"].max() != 2:
        columns += [pl.col("rank_a"), pl.col("rank_b")]
    if votes["item"].null_count() < votes.height:
        columns.append(pl.col("item").alias("prompt_id"))
    lengths = (pl.col(f"assistant_tokens_{side}").cast(pl.Int64).alias(f"sum_assistant_{side}_tokens") for side in "ab")
    return votes.select(
        *columns, pl.struct(*lengths).alias("conv_metadata"), pl.lit(f"by evalstats, seed {seed}").alias("simulated")
    )


def _codes(events: Events, votes: DrawnVotes) -> pl.DataFrame:
    """Return all votes as numbers, in order of time."""
    asked = ("rater", "prompt", "app", "scenario", "language", "turn", "time")
    voted = ("first", "second", "outcome", "rank_a", "rank_b", "length_a", "length_b")
    columns = {name: getattr(events, name)[votes.event] for name in asked}
    columns |= {name: getattr(votes, name) for name in voted}
    columns |= {"event": votes.event, "made_as": events.kind[votes.event]}
    return pl.DataFrame(columns)


def _with_copies(codes: pl.DataFrame, rng: np.random.Generator, share: float) -> pl.DataFrame:
    if not share:
        return codes
    rows, time = sent_twice(rng, codes["time"].to_numpy(), share)
    copies = codes[rows].with_columns(pl.Series("time", time), made_as=pl.lit(_COPY, dtype=pl.Int64))
    return pl.concat([codes, copies]).sort("time", maintain_order=True)


def _tables(codes: pl.DataFrame, names: Sequence[str], design: ArenaDesign, seed: int) -> EvalData:
    """Return the votes in glossary columns."""
    n = codes.height
    ranked = pl.Series(codes["rank_a"]) > 0
    frame = pl.DataFrame(
        {
            "run": pl.repeat(RUN, n, eager=True),
            "battle": numbered("b", np.arange(1, n + 1)),
            # Numbered in order of time, as an arena would.
            "event": numbered("e", codes["event"].rank("dense").to_numpy()),
            "event_size": pl.repeat(design.event_size, n, eager=True, dtype=pl.Int64),
            "rank_a": pl.select(pl.when(ranked).then(codes["rank_a"])).to_series(),
            "rank_b": pl.select(pl.when(ranked).then(codes["rank_b"])).to_series(),
            "item": numbered("p", codes["prompt"].to_numpy())
            if design.n_prompts
            else pl.Series([None] * n, dtype=pl.String),
            "model_a": named(names, codes["first"]),
            "model_b": named(names, codes["second"]),
            "outcome": named(OUTCOMES, codes["outcome"]),
            "rater": numbered("u", codes["rater"].to_numpy() + 1),
            "app": named(APPS, codes["app"]),
            "scenario": named(SCENARIOS, codes["scenario"]),
            "language": named(LANGUAGES, codes["language"]),
            "turn": codes["turn"],
            "phase": pl.repeat("random", n, eager=True),
            "timestamp": times_after(START, (codes["time"] * _DAY).round()),
            "setting": pl.repeat("live", n, eager=True),
            "status": pl.repeat("scored", n, eager=True),
            "value_raw": named(VOTE_LABELS, codes["outcome"]),
            "assistant_tokens_a": codes["length_a"].cast(pl.Float64),
            "assistant_tokens_b": codes["length_b"].cast(pl.Float64),
            "made_as": named(_MADE_AS, codes["made_as"]),
        }
    )
    note = (
        "The counts of models and users, the apps and the order of the first five models follow what Inclusion Arena "
        "published, all else is invented"
    )
    runs = [
        {
            "run": RUN,
            "benchmark": "Inclusion Arena",
            "simulated": f"by evalstats, seed {seed}",
            "note": note,
            "n_scored": n,
            "n_error": 0,
            "n_unscored": 0,
        }
    ]
    return EvalData(comparisons=check_table(frame, "comparisons"), runs=frame_from_rows(runs, "runs"))
