"""Score against cost of systems that served different users: whose rows count, what dominates, and how often falsely."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.cli.advice import as_typed
from evalstats.errors import CannotAnswerError, written_by
from evalstats.stats.many.pareto import certain_dominance, frontier_shares
from evalstats.stats.unpaired import TwoProportions, fisher_exact, miettinen_nurminen, welch
from tests.analysis.builders import printed

# Sums in another order.
ROUNDING = 1e-9
SYSTEMS = {"cheap": (200, 0.3, 0.01), "strong": (260, 0.8, 0.1), "waste": (240, 0.3, 0.2), "near": (150, 0.75, 0.11)}


def visits(*, rows: int = 1, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    parts = []
    for name, (n, share, price) in SYSTEMS.items():
        user = np.repeat(np.arange(n), rows)
        frame = {
            "visit": [f"{name}-{i}" for i in range(user.size)],
            "user": [f"{name}-u{u}" for u in user],
            "model": name,
            "solved": (rng.random(user.size) < share).astype(int),
            "cost": price * rng.lognormal(sigma=0.4, size=user.size),
        }
        parts.append(pl.DataFrame(frame))
    return pl.concat(parts)


def read(table: pl.DataFrame, item: str = "visit", **more: Any) -> es.EvalData:
    return es.from_frame(table, item=item, model="model", score="solved", cost_usd="cost", user="user", **more)


def test_every_system_stands_on_its_own_rows() -> None:
    table = visits()
    found = es.frontier(read(table), paired=False, n_resamples=1_000)
    assert found.different == "users"
    assert found.n_items == table.height
    for row in found.rows:
        own = table.filter(model=row.name)
        alone = es.score(read(own), row.name).rows[0]
        assert (row.estimate, row.cost) == pytest.approx((own["solved"].mean(), own["cost"].mean()), abs=ROUNDING)
        assert (row.conf_low, row.conf_high) == pytest.approx((alone.conf_low, alone.conf_high), abs=ROUNDING)
    assert found.row("waste").dominated_by == ("strong", "near")
    assert found.row("cheap").standing == "on the frontier"
    assert found.row("near").standing == "open"
    text = printed(found)
    assert "on different users" in text
    assert "that every system has" not in text


def test_who_dominates_is_the_larger_p_of_two_groups_by_holms_method() -> None:
    table = visits(seed=4)
    values = {
        name: (own["solved"].to_numpy().astype(float), own["cost"].to_numpy())
        for (name,), own in table.group_by("model", maintain_order=True)
    }
    names, p, claims = list(values), dict[tuple[str, str], float](), set[tuple[str, str]]()
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            (s, c), (t, d) = values[one], values[other]
            counts = TwoProportions(
                baseline=int(t.sum()), n_baseline=t.size, candidate=int(s.sum()), n_candidate=s.size
            )
            opposed = (s.mean() - t.mean()) * (c.mean() - d.mean()) < 0
            p[one, other] = max(
                miettinen_nurminen(counts).p_value or 1, fisher_exact(counts, mid=True), welch(d, c).p_value or 1
            )
            p[one, other] = p[one, other] if opposed else 1.0
    for k, (pair, own) in enumerate(sorted(p.items(), key=lambda each: each[1])):
        if own * (len(p) - k) > 0.05:
            break
        better, worse = pair if values[pair[0]][0].mean() > values[pair[1]][0].mean() else pair[::-1]
        claims.add((worse, better))
    found = es.frontier(read(table), paired=False, n_resamples=1_000)
    assert {(row.name, name) for row in found.rows for name in row.dominated_by} == claims
    assert len(claims) == 2


def test_shares_are_those_of_users_drawn_anew() -> None:
    rng = np.random.default_rng(2)
    sizes, draws = (40, 90, 60), 4_000
    parts = [(rng.normal(3 + 0.1 * j, 1, n), rng.normal(3 + 0.1 * j, 1, n)) for j, n in enumerate(sizes)]
    whole, start = np.full((2, sum(sizes), 3), np.nan), 0
    for j, both in enumerate(parts):
        whole[:, start : start + sizes[j], j] = both
        start += sizes[j]
    found = frontier_shares(whole[0], whole[1], n_resamples=draws)
    hits = np.zeros(3)
    for _ in range(draws):
        drawn = [rng.integers(0, n, n) for n in sizes]
        means = np.array([[x[at].mean() for x in both] for both, at in zip(parts, drawn, strict=True)])
        s, c = means.T
        hits += [not any(s[k] >= s[j] and c[k] <= c[j] for k in range(3) if k != j) for j in range(3)]
    assert found.shares == pytest.approx(hits / draws, abs=0.04)


def test_users_are_drawn_whole_and_count_as_one() -> None:
    once = es.frontier(read(visits()), paired=False, n_resamples=500)
    four = pl.concat([visits().with_columns(visit=pl.format("{}/{}", "visit", pl.lit(k))) for k in range(4)])
    copied = es.frontier(read(four), paired=False, cluster="user", n_resamples=500)
    assert copied.n_clusters == visits().height
    assert [row.dominated_by for row in copied.rows] == [row.dominated_by for row in once.rows]
    widths = [[(row.cost_high or 0) - (row.cost_low or 0) for row in each.rows] for each in (once, copied)]
    assert widths[1] == pytest.approx(widths[0], rel=0.01)


def test_few_users_with_many_rows_can_show_dominance() -> None:
    rng = np.random.default_rng(5)
    codes, s, c = np.repeat(np.arange(24), 10), np.full((240, 2), np.nan), np.full((240, 2), np.nan)
    for j, rows in enumerate((codes < 12, codes >= 12)):
        s[rows, j], c[rows, j] = rng.random(120) < 0.3 + 0.5 * j, rng.normal(3 - j, 0.2, 120)
    found = certain_dominance(s, c, clusters=[codes], bounds=(0.0, 1.0))
    assert found.tolist() == [[False, True], [False, False]]
    few = np.where(codes < 12, codes % 3, 12 + codes % 3)
    assert not certain_dominance(s, c, clusters=[few], bounds=(0.0, 1.0)).any()


def test_numbered_rows_are_never_joined_and_ids_that_share_nothing_ask(tmp_path: Path) -> None:
    found = es.frontier(read(visits(), item="#row"), n_resamples=500)
    assert found.different
    with pytest.raises(CannotAnswerError, match="if each system has different users or items, add paired=False"):
        es.frontier(es.from_frame(visits().drop("user"), item="visit", model="model", score="solved", cost_usd="cost"))
    found.save(tmp_path / "f.json")
    assert es.load_result(tmp_path / "f.json") == found


def test_a_saving_that_rare_dear_visits_could_undo_is_left_open() -> None:
    rng = np.random.default_rng(3)
    s, c = np.full((120, 2), np.nan), np.full((120, 2), np.nan)
    s[:60, 0], s[60:, 1] = rng.random(60) < 0.9, rng.random(60) < 0.4
    c[:60, 0], c[60:, 1] = rng.lognormal(-0.6, 1.1, 60), rng.normal(1.6, 0.1, 60)
    assert welch(c[:60, 0], c[60:, 1]).p_value < 0.01  # pyright: ignore[reportOptionalOperand]
    assert not certain_dominance(s, c, binary=True).any()
    c[:60, 0] = rng.normal(1.0, 0.1, 60)
    assert certain_dominance(s, c, binary=True).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize(("lost", "claimed"), [(3, True), (60, False)])
def test_rows_without_a_score_are_told_and_many_allow_no_claim(lost: int, claimed: bool) -> None:
    table = visits().filter(pl.col("model").is_in(["strong", "waste"])).with_row_index()
    solved = pl.when(pl.col("index") < lost).then(None).otherwise("solved")
    found = es.frontier(read(table.with_columns(solved=solved).drop("index")), paired=False, n_resamples=200)
    text = f"Only {260 - lost} of 260 items of strong have a score and cost_usd"
    assert [note.text.split(";")[0] for note in found.notes if note.kind == "missing"] == [text]
    assert found.row("waste").dominated_by == (("strong",) if claimed else ())


@pytest.mark.parametrize("n", [2, 3])
def test_only_one_of_several_systems_can_be_left_out(n: int) -> None:
    table = pl.concat([own.head(1 if name == ("near",) else 20) for name, own in visits().group_by("model")])
    names = ["near", "strong", "waste"][:n]
    with pytest.raises(CannotAnswerError) as raised, written_by(as_typed):
        es.frontier(read(table.filter(pl.col("model").is_in(names))), paired=False)
    said = str(raised.value)
    assert said.endswith("'near' has the fewest, 1" + (": leave it out, with --models NAMES" if n > 2 else ""))


def test_few_failures_in_unlike_groups_show_no_dominance_that_fishers_test_does_not() -> None:
    counts = TwoProportions(baseline=23, n_baseline=25, candidate=398, n_candidate=400)
    assert (miettinen_nurminen(counts).p_value or 1) < 0.001 < fisher_exact(counts, mid=True)
    s, c = np.full((425, 2), np.nan), np.full((425, 2), np.nan)
    s[:25, 0], s[25:, 1] = np.arange(25) >= 2, np.arange(400) >= 2
    c[:25, 0], c[25:, 1] = 2.0 + 0.01 * np.arange(25), 1.0 + 0.0001 * np.arange(400)
    assert certain_dominance(s, c, binary=True, conf_level=0.99).any()
    assert not certain_dominance(s, c, binary=True, conf_level=0.999).any()


@pytest.mark.parametrize(("users", "shown"), [(3, False), (6, True)])
def test_three_users_a_side_show_no_dominance(users: int, shown: bool) -> None:
    s, c = np.full((2 * users, 2), np.nan), np.full((2 * users, 2), np.nan)
    for j, rows in enumerate((slice(users), slice(users, None))):
        s[rows, j] = 0.5 + 0.4 * j + 0.003 * np.random.default_rng(j).random(users)
        c[rows, j] = 2.0 - j + 0.003 * np.random.default_rng(j + 2).random(users)
    assert certain_dominance(s, c, bounds=(0.0, 1.0)).tolist() == [[False, shown], [False, False]]


# .05 and three Monte Carlo standard errors of 2,000 tables.
LIMIT = 0.05 + 3 * 0.0049


@pytest.mark.slow
@pytest.mark.parametrize("world", ["equal scores", "equal costs", "equal heavy costs", "equal scores of users"])
def test_false_dominance(world: str) -> None:
    """Four systems of 40 to 120 users, equal in one of the two and far apart in the other: any claim is false, 2,000 tables."""
    rng, hits, tables = np.random.default_rng(8), 0, 2_000
    sizes = (40, 120, 80, 60)
    for _ in range(tables):
        rows = [np.repeat(np.arange(n), rng.geometric(0.3, n) if "users" in world else 1) for n in sizes]
        start, total = 0, sum(map(len, rows))
        s, c, codes = np.full((total, 4), np.nan), np.full((total, 4), np.nan), np.empty(total, dtype=np.int64)
        for j, own in enumerate(rows):
            at = slice(start, start := start + own.size)
            rate = 0.2 + 0.2 * j if "costs" in world else 0.6
            ability = np.clip(rng.normal(rate, 0.2 if "users" in world else 0.0, sizes[j]), 0, 1)[own]
            s[at, j] = rng.random(own.size) < ability
            spread = (0.3, 0.8, 0.8, 0.8)[j] if "heavy" in world else 0.4
            c[at, j] = rng.lognormal(-(spread**2) / 2, spread, own.size) * (1.0 if "costs" in world else 2.0**j)
            codes[at] = 1_000 * j + own
        clusters = [codes] if "users" in world else []
        hits += bool(certain_dominance(s, c, clusters=clusters, binary=not clusters, bounds=(0.0, 1.0)).any())
    assert hits / tables <= LIMIT, hits / tables
