"""How simulations are cut up, seeded, added up and judged."""

import json
import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dev.validation import clusters, false_claims, mean_score, pairs, peeking, power, ranks
from dev.validation.__main__ import main
from dev.validation.running import Journal, digest_of_code, processor_seconds, run
from dev.validation.storing import record, text_of
from dev.validation.study import (
    Case,
    Promise,
    Question,
    Tally,
    Task,
    added,
    of_claims,
    of_ends,
    of_intervals,
    simulated,
)
from evalstats.stats.estimate import IntervalEstimate


def coin(rng: np.random.Generator, count: int) -> dict[str, Tally]:
    return {"coin": of_claims(rng.random(count) < 0.3)}


def coins(share: float = 1.0) -> list:
    return [
        *simulated("coins", "first", coin, replicates=400, part=40, share=share),
        *simulated("coins", "second", coin, replicates=400, part=40, share=share),
    ]


def question(*promises: Promise) -> Question:
    return Question(
        name="coins",
        question="How often?",
        design="Coins.",
        measure="false claims",
        nominal=0.3,
        methods={"coin": "ours"},
        cases=[Case(name=name, group="coins", design={"n": 1}) for name in ("first", "second")],
        tasks=coins,
        promises=promises,
    )


def test_numbers_do_not_depend_on_processes_or_on_what_else_is_run() -> None:
    every = added(run(coins(), jobs=1))
    assert every["first", "coin"].total == every["second", "coin"].total == 400
    assert every["first", "coin"] != every["second", "coin"]
    alone = added(run([task for task in coins() if task.cell == "second"], jobs=1))
    assert alone["second", "coin"] == every["second", "coin"]


def busy() -> dict[tuple[str, str], Tally]:
    """Take some time of a processor."""
    began = time.process_time()
    while time.process_time() - began < BUSY:
        pass
    return {("busy", "loop"): Tally(1.0, 1.0)}


BUSY = 0.2


def test_two_processes_give_what_one_gives_and_their_time_counts() -> None:
    draw = partial(peeking.three, items=100, gained=0.15, lost=0.15)
    tasks = simulated("peeking", "100 items", partial(peeking.replicate, draw=draw), replicates=20, part=10)
    assert len(tasks) == 2
    loops = [Task(study="busy", cell="busy", part=part, work=busy) for part in range(2)]
    before, own = processor_seconds(), time.process_time()
    found = added(run([*loops, *tasks], jobs=2))
    own = time.process_time() - own
    assert processor_seconds() - before - own >= 2 * BUSY
    assert found.pop(("busy", "loop")) == Tally(2.0, 2.0)
    assert found == added(run(tasks, jobs=1))


def test_a_quick_run_is_the_beginning_of_the_full_one() -> None:
    full, quick = run(coins(), jobs=1), run(coins(0.1), jobs=1)
    assert quick == [full[0], full[10]]
    assert len(run(coins(1e-9), jobs=1)) == 2


def test_parts_differ() -> None:
    parts = [tallies["first", "coin"].errors for tallies in run(coins()[:10], jobs=1)]
    assert len(set(parts)) > 3


def test_ends_that_touch_the_truth_cover_it_and_a_refusal_is_a_point() -> None:
    tally = of_ends(np.array([0.1, 0.2, 0.31]), np.array([0.3, 0.25, 0.5]), 0.3)
    assert (tally.errors, tally.total) == (2.0, 3.0)
    assert tally.width == pytest.approx(0.44)
    none = IntervalEstimate(estimate=0.3, method="m", conf_level=0.95, n=1, reason="no spread")
    assert of_intervals([none], 0.3).errors == 0
    assert of_intervals([none], 0.31).errors == 1


class BrokenOffError(Exception):
    """Stands for a kill in the middle of a run."""


def breaks() -> None:
    raise BrokenOffError


def test_a_run_broken_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What was found is taken as it is, to the last bit, and nothing is done twice."""
    whole, path = run(coins(), jobs=1), tmp_path / "coins.jsonl"
    tasks = coins()
    tasks[13] = replace(tasks[13], work=breaks)
    with pytest.raises(BrokenOffError):
        run(tasks, jobs=1, journal=Journal(path, code="a"))
    done_twice = [replace(task, work=breaks) for task in tasks[:13]]
    again = run([*done_twice, *coins()[13:]], jobs=1, journal=Journal(path, code="a"))
    assert again == whole
    assert run([replace(task, work=breaks) for task in tasks], jobs=1, journal=Journal(path, code="a")) == whole


def test_a_line_that_was_being_written_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "coins.jsonl"
    whole = run(coins(), jobs=1, journal=Journal(path, code="a"))
    path.write_bytes(path.read_bytes()[:-7])
    assert sum(Journal(path, code="a").of(task) is not None for task in coins()) == 19
    assert run(coins(), jobs=1, journal=Journal(path, code="a")) == whole
    assert sum(Journal(path, code="a").of(task) is not None for task in coins()) == 20


def test_what_other_code_has_found_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "coins.jsonl"
    run(coins(), jobs=1, journal=Journal(path, code="a"))
    assert all(Journal(path, code="b").of(task) is None for task in coins())


def test_the_digest_changes_with_a_module_and_not_with_stored_results(tmp_path: Path) -> None:
    (tmp_path / "validation").mkdir()
    (tmp_path / "module.py").write_text("a = 1", encoding="utf-8")
    first = digest_of_code([tmp_path])
    (tmp_path / "validation" / "coins.json").write_text("{}", encoding="utf-8")
    assert digest_of_code([tmp_path]) == first
    (tmp_path / "module.py").write_text("a = 2", encoding="utf-8")
    assert digest_of_code([tmp_path]) != first


@pytest.mark.parametrize(
    ("low", "high", "up_to_chance", "holds"),
    [(None, 0.6, False, True), (None, 0.05, False, False), (0.2, 0.4, False, True), (0.9, None, False, False)],
)
def test_a_promise_is_judged_by_the_rate_closest_to_its_limit(low, high, up_to_chance, holds) -> None:
    tallies = {("first", "coin"): Tally(600, 2000), ("second", "coin"): Tally(700, 2000)}
    stored = record(question(Promise(text="p", method="coin", low=low, high=high, up_to_chance=up_to_chance)), tallies)
    (claim,) = stored["claims"]
    assert claim["holds"] is holds
    assert claim["found"] == (0.35 if high is not None else 0.3)


def test_what_is_proved_may_be_exceeded_by_chance_and_no_more() -> None:
    promise = Promise(text="p", method="coin", high=0.3, up_to_chance=True)
    for errors, holds in ((630, True), (700, False)):
        tallies = {("first", "coin"): Tally(errors, 2000), ("second", "coin"): Tally(200, 2000)}
        assert record(question(promise), tallies)["claims"][0]["holds"] is holds


def test_a_promise_is_not_judged_on_fewer_than_two_thousand_tables_in_any_case() -> None:
    """Tables that got no interval were drawn all the same, and count."""
    promise = Promise(text="p", method="coin", high=0.5)
    first, second, refused = (("first", "coin"), ("second", "coin"), ("second", "no interval given"))
    for tallies, tables, holds in (
        ({first: Tally(600, 2000), second: Tally(600, 1999)}, 1999, None),
        ({first: Tally(600, 2000), second: Tally(600, 1800), refused: Tally(200, 2000)}, 2000, True),
        ({first: Tally(0.3, 1.0), second: Tally(0.3, 1.0)}, None, True),
    ):
        (claim,) = record(question(promise), tallies)["claims"]
        assert (claim["tables"], claim["holds"]) == (tables, holds)


def test_a_promise_about_cases_that_were_not_run_is_not_judged() -> None:
    promise = Promise(text="p", method="coin", cases=("first", "second"), high=0.5)
    assert record(question(promise), {("first", "coin"): Tally(1, 10)})["claims"] == []


def test_stored_text_is_json_with_one_row_a_line() -> None:
    tallies = {("first", "coin"): Tally(30, 100, 20.0), ("second", "coin"): Tally(0.25, 1.0, 0.5)}
    stored = record(question(), tallies)
    text = text_of(stored)
    assert json.loads(text) == stored
    assert sum(line.startswith('  {"case"') for line in text.splitlines()) == 4
    first, second = stored["rows"]
    assert first == {"case": "first", "method": "coin", "rate": 0.3, "replicates": 100, "low": first["low"],
                     "high": first["high"], "width": 0.2}  # fmt: skip
    assert second == {"case": "second", "method": "coin", "rate": 0.25, "width": 0.5}


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda rng: clusters.latent(rng, np.repeat(np.arange(400), 6), 0.3, clusters.MIDDLE).mean(), 0.1),
        (lambda rng: mean_score.grades(rng, items=4000).means.mean(), 0.95),
        (lambda rng: mean_score.trials(rng, items=4000, mean=0.95, spread=0.5).means.mean(), 0.95),
        (lambda rng: mean_score.clustered(rng, n_clusters=2000, mean=0.9).means.mean(), 0.9),
        (lambda rng: peeking.skewed(rng, items=40_000).mean(), 0.0),
        (lambda rng: false_claims.skewed(rng, items=40_000).scores(false_claims.UNBOUNDED).differences.mean(), 0.0),
        (
            lambda rng: (
                false_claims.clustered(rng, sizes=(5,) * 4000, trials=1).scores(false_claims.BINARY).differences.mean()
            ),
            0.0,
        ),
        (lambda rng: power.trials(rng, 0.1, items=20_000).differences.mean(), 0.1),
        (lambda rng: power.full_runs(rng, 0.1, items=20_000, run_sd=0.02).differences.mean(), 0.1),
        (lambda rng: power.pairs(rng, 0.1, items=20_000, discordance=0.2).differences.mean(), 0.1),
        (lambda rng: power.clustered_pairs(rng, 0.1, sizes=(5,) * 4000).differences.mean(), 0.1),
    ],
)
def test_worlds_have_the_truth_that_is_said_of_them(draw, truth: float) -> None:
    rng = np.random.default_rng(11)
    values = [draw(rng) for _ in range(20)]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4.5 * error


def test_cells_of_a_pair_have_its_rates_and_correlation() -> None:
    both, gained, lost, neither = pairs.cells(0.45, 0.6, 0.5)
    assert both + gained + lost + neither == pytest.approx(1.0)
    assert (both + lost, both + gained) == pytest.approx((0.45, 0.6))
    rho = (both - 0.45 * 0.6) / math.sqrt(0.45 * 0.55 * 0.6 * 0.4)
    assert rho == pytest.approx(0.5)


@pytest.mark.parametrize("four", [False, True])
def test_tables_left_out_weigh_nothing(four: bool) -> None:
    _, weight = pairs.tables(20, pairs.cells(0.9, 0.98, 0.5), four=four)
    assert weight.sum() == pytest.approx(1.0, abs=1e-8)


def test_equal_models_share_their_ranks() -> None:
    """Skills of the second world, best first: 1.2 | .6 .6 | .2 .2 | -.2 x3 | -.6 x2."""
    world = ranks.World(skills=ranks.SPREAD, n_items=10, sizes=None)
    best, worst = world.ranks()
    assert best.tolist() == [9, 9, 6, 6, 6, 4, 4, 2, 2, 1]
    assert worst.tolist() == [10, 10, 8, 8, 8, 5, 5, 3, 3, 1]
    assert int(world.equals().sum()) == 1 + 3 + 1 + 1


def test_t_after_every_item_is_the_t_test_of_the_first_items() -> None:
    from scipy import stats

    d = np.random.default_rng(3).normal(0.3, 1.0, 30)
    flags = peeking.significant(d)
    assert flags.size == 21
    assert flags.tolist() == [bool(stats.ttest_1samp(d[:n], 0.0).pvalue < 0.05) for n in range(10, 31)]


def test_some_cells_are_run_and_stored_where_one_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["one-score", "--cell", "n = 20, Wilson", "--jobs", "1", "--output", str(tmp_path)])
    done = capfd.readouterr()
    assert status == 0, done.err
    assert "100%  one-score: n = 20, Wilson" in done.err
    stored = json.loads((tmp_path / "one-score.json").read_text(encoding="utf-8"))
    assert {row["method"] for row in stored["rows"]} == {"Wilson"}
    assert [path.name for path in tmp_path.iterdir()] == ["one-score.json"]
    assert "n = 20, p = .99" in done.out


def test_an_unknown_question_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weather"]) == 2
    assert "there is no question 'weather'; there are one-score, pairs" in capsys.readouterr().err
