"""Simulated live arenas: votes in the spirit of Inclusion Arena, in an assumed format, whose truth is known.

Published are the numbers of comparisons, models and users, two apps, and which five models lead in which order. How strong
they are, and everything else, is invented (`evalstats.simulate.arena_world`).
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from evalstats.simulate.arena_events import ArenaAttack, Batch, Schedule, sent_twice
from evalstats.simulate.arena_world import (
    APPS,
    LANGUAGES,
    SCENARIOS,
    ArenaDesign,
    ArenaEffects,
    Sampling,
    SamplingRule,
    make_world,
    truth_frame,
)
from evalstats.simulate.draws import VOTE_LABELS, generator, named, numbered, times_after
from evalstats.stats.arena.votes import OUTCOMES
from evalstats.stats.checks import check_count

N_VOTES = 50_000
RUN = "simulated arena"
FILE = "simulated_arena_votes.jsonl"
START = datetime(2025, 4, 1, tzinfo=UTC)  # invented; the published votes end in July 2025

_MADE_AS = ("honest", "ring", "side", "copy")
_COPY = 3
_DAY = 86_400_000  # milliseconds


def simulate_arena(
    n_votes: int = N_VOTES,
    *,
    seed: int = 0,
    design: ArenaDesign | None = None,
    effects: ArenaEffects | None = None,
    sampling: Sampling | SamplingRule = "random",
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
    sampling
        Which models meet: a name, or a rule with its numbers.
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
    rule = sampling if isinstance(sampling, SamplingRule) else SamplingRule(sampling=sampling)
    pairs = design.event_size - 1
    if rule.sampling == "placement" and pairs > 1:
        raise InputError("placement matches are between two models; use event_size=2 with them")
    n_events = check_count(n_votes, "n_votes", least=pairs) // pairs
    rng = generator(seed, "arena", "votes")
    world = make_world(design, effects, n_votes=n_votes, seed=seed)
    schedule = Schedule(
        world=world, design=design, effects=effects, rule=rule, attack=attack, rng=rng, n_events=n_events
    )
    codes = _codes(list(schedule.run())).head(n_events * pairs)
    return _tables(_with_copies(codes, rng, attack.duplicate_share), world.names, design, seed)


def arena_truth(
    *, n_votes: int = N_VOTES, seed: int = 0, design: ArenaDesign | None = None, effects: ArenaEffects | None = None
) -> pl.DataFrame:
    """Return what simulated votes are drawn from. `n_votes` only sets the number of raters where the design leaves it open.

    Returns
    -------
    polars.DataFrame
        One row per model, best first: `model`, `rank` (by `marginal`), `strength` (log-odds for one rater and prompt, at
        equal lengths, in the middle of the time), `marginal` (strengths of a Bradley-Terry fit, ties as half, to the shares
        that each pair would get from endless raters, prompts and lengths, all pairs weighing alike: what ratings without
        covariates aim at), `drift` (log-odds per 30 days), `mean_log_length`, and for each app and scenario the deviation
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
    sampling: Sampling | SamplingRule = "random",
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
    data = simulate_arena(n_votes, seed=seed, design=design, effects=effects, sampling=sampling, attack=attack)
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


def _codes(batches: Sequence[Batch]) -> pl.DataFrame:
    """Return all votes as numbers, in order of time."""
    phases = list(dict.fromkeys(batch.phase for batch in batches))
    parts: list[pl.DataFrame] = []
    first = 0
    for batch in batches:
        events, votes = batch.events, batch.votes
        of = votes.event
        asked = {
            name: getattr(events, name)[of]
            for name in ("rater", "prompt", "app", "scenario", "language", "turn", "time")
        }
        voted = {
            name: getattr(votes, name)
            for name in ("first", "second", "outcome", "rank_a", "rank_b", "length_a", "length_b")
        }
        named = {"event": of + first, "made_as": events.kind[of]}
        phase = pl.lit(batch.phase).alias("phase")
        parts.append(pl.DataFrame({**asked, **voted, **named}).with_columns(phase.cast(pl.Enum(phases))))
        first += events.n_events
    return pl.concat(parts).sort("time", maintain_order=True)


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
            "phase": codes["phase"].cast(pl.String),
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
