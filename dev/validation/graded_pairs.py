"""Two models with graded scores on the same items: false claims, and what each method finds of a difference that is there."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dev.validation.deciding import LEVEL, compared, decided, metric
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, of_ends, of_worlds
from evalstats.analysis.compare.difference import PairedScores
from evalstats.stats.estimate import t_quantile
from evalstats.stats.one_sample import possible_failures
from evalstats.stats.paired.binary import MIN_DISCORDANT

NAME = "graded-pairs"
REPLICATES, PART = 10_000, 500
BOUNDED = 25  # of every part; methods that hold for any bounded scores are slow
DRAWS = 2_000  # of Gaffke's bound

VERDICT, CLEAR = "evalstats: verdict", "evalstats: verdict without caution"
PLAIN, PSEUDO, BEFORE = "t", "augmented t, c = Σd²/Σ|d|", "augmented t, c = 1 from a fifth of ties on"
GAFFKE, BETTING = "Gaffke's bound", "betting interval"
AGREED = "compare agrees"
MEASURED = (PLAIN, VERDICT, CLEAR, PSEUDO, BEFORE, GAFFKE, BETTING)
OF = metric("bounded", 0.0, 1.0)
Floats = np.ndarray
Draw = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]


def judge(
    rng: np.random.Generator, count: int, gain: float, *, items: int, levels: int, middle: float, spread: float
) -> tuple[Floats, Floats]:
    """Draw whole points from 1 to `levels`: items of unequal level, and as much noise again on either side."""
    level = rng.normal(middle, spread, (count, items))
    sides = (level + move + rng.normal(0, spread, level.shape) for move in (0.0, gain))
    a, b = ((np.clip(np.rint(each), 1, levels) - 1) / (levels - 1) for each in sides)
    return a, b


def shares(rng: np.random.Generator, count: int, gain: float, *, items: int, middle: float) -> tuple[Floats, Floats]:
    """Draw scores between 0 and 1, such as F1: a Beta law around an item's own level."""
    level = rng.beta(4 * middle, 4 * (1 - middle), (count, items))
    a, b = (rng.beta(10 * m, 10 * (1 - m)) for m in (np.clip(level + move, 0.02, 0.98) for move in (0.0, gain)))
    return a, b


def with_zeros(rng: np.random.Generator, count: int, gain: float, *, items: int) -> tuple[Floats, Floats]:
    """Draw the same, with hard items on which either side mostly scores 0, and a zero in twenty elsewhere."""
    a, b = shares(rng, count, gain, items=items, middle=0.6)
    rate = np.where(rng.random(a.shape) < 0.3, 0.7, 0.05)
    return tuple(np.where(rng.random(a.shape) < rate, 0.0, each) for each in (a, b))  # type: ignore[return-value] # two


def few(rng: np.random.Generator, count: int, gain: float, *, items: int) -> tuple[Floats, Floats]:
    """Draw a step of a quarter on one item in ten, up or down; `gain` leans it upwards."""
    base = rng.choice([0.25, 0.5, 0.75], (count, items))
    step = np.where(rng.random(base.shape) < 0.5 * (1 + gain), 0.25, -0.25)
    return base, base + np.where(rng.random(base.shape) < 0.1, step, 0.0)


def crashing(
    rng: np.random.Generator, count: int, gain: float, *, items: int, rates: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Draw scores near .75 that fall to 0 at these rates; steady gains make up for the difference, so there is none."""
    level = np.clip(rng.normal(0.75, 0.05, (count, items)), 0.3, 0.95)
    whole = 0.75 / (1 - np.array(rates))  # the level at which either side has a mean of .75
    sides = [level - 0.75 + w + rng.normal(0, 0.02, level.shape) for w in whole]
    fallen = [rng.random(level.shape) < rate for rate in rates]
    a, b = (np.where(down, 0.0, np.clip(each, 0.01, 1)) for down, each in zip(fallen, sides, strict=True))
    return a, b + gain


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A design, and a gain at which t finds a difference in half to nine tenths of tables; 0 for crashes."""

    name: str
    items: int
    draw: Draw
    gain: float = 0.0
    rates: tuple[float, float] = (0.0, 0.0)

    @property
    def group(self) -> str:
        """Whether either side falls to the worst score by itself."""
        return "rare crashes" if any(self.rates) else "nothing crashes"

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the design."""
        own: dict[str, float] = {"n_items": self.items}
        return {**own, "rate_baseline": self.rates[0], "rate_candidate": self.rates[1]} if any(self.rates) else own


def _crashes(words: str, items: int, first: float, second: float) -> World:
    draw = partial(crashing, items=items, rates=(first, second))
    return World(name=f"{words}, {items:,} items", items=items, draw=draw, rates=(first, second))


def _judged(words: str, items: int, levels: int, gain: float, *, middle: float, spread: float) -> World:
    draw = partial(judge, items=items, levels=levels, middle=middle, spread=spread)
    return World(name=f"{words}, {items} items", items=items, draw=draw, gain=gain)


WORLDS = (
    _judged("1 to 5, middle", 12, 5, 0.95, middle=3.0, spread=0.8),
    _judged("1 to 5, middle", 30, 5, 0.55, middle=3.0, spread=0.8),
    _judged("1 to 5, ceiling", 30, 5, 0.6, middle=4.8, spread=0.8),
    _judged("1 to 5, ceiling", 300, 5, 0.2, middle=4.8, spread=0.8),
    _judged("1 to 10", 60, 10, 0.65, middle=6.5, spread=1.5),
    _judged("1 to 10", 120, 10, 0.55, middle=6.5, spread=1.5),
    World(name="Beta, 12 items", items=12, draw=partial(shares, items=12, middle=0.5), gain=0.15),
    World(name="Beta, 100 items", items=100, draw=partial(shares, items=100, middle=0.7), gain=0.05),
    World(name="Beta, 1,000 items", items=1000, draw=partial(shares, items=1000, middle=0.7), gain=0.016),
    World(name="many zeros, 50 items", items=50, draw=partial(with_zeros, items=50), gain=0.19),
    World(name="many zeros, 200 items", items=200, draw=partial(with_zeros, items=200), gain=0.09),
    World(name="nine in ten tie, 100 items", items=100, draw=partial(few, items=100), gain=0.75),
    World(name="steady gains, 50 items", items=50, draw=partial(crashing, items=50, rates=(0.0, 0.0)), gain=0.011),
    _crashes("candidate fails 2%", 50, 0.0, 0.02),
    _crashes("baseline fails 2%", 50, 0.02, 0.0),
    _crashes("both fail 2%", 50, 0.02, 0.02),
    _crashes("fail 1% and 3%", 50, 0.01, 0.03),
    _crashes("candidate fails 3%", 30, 0.0, 0.03),
    _crashes("candidate fails 0.5%", 200, 0.0, 0.005),
    _crashes("candidate fails 0.2%", 1000, 0.0, 0.002),
)


def t_ends(d: Floats) -> tuple[Floats, Floats]:
    """Return Student's t, row by row; a row without spread is a point."""
    n = d.shape[1]
    mean, reach = d.mean(axis=1), t_quantile(LEVEL, n - 1) * d.std(axis=1, ddof=1) / np.sqrt(n)
    return mean - reach, mean + reach


def augmented_ends(d: Floats, *, floor: float = 0.0) -> tuple[Floats, Floats]:
    """Return augmented t, row by row."""
    n = d.shape[1]
    squares, sizes = np.square(d).sum(axis=1), np.abs(d).sum(axis=1)
    pseudo = np.maximum(floor, squares / np.maximum(sizes, 1e-300))
    pseudo = np.where(np.count_nonzero(d, axis=1) < 5, 1.0, pseudo)
    centre = d.sum(axis=1) / (n + 2)
    reach = t_quantile(LEVEL, n + 1) * np.sqrt(((squares + 2 * pseudo**2) / (n + 2) - centre**2) / (n + 1))
    return np.maximum(-1.0, centre - reach), np.minimum(1.0, centre + reach)


def former_ends(d: Floats) -> tuple[Floats, Floats]:
    """Apply the rule of earlier versions: t below a fifth of ties, else augmented t with pseudo-items at the full range."""
    smooth = (np.mean(d == 0, axis=1) < 0.2) & (np.ptp(d, axis=1) > 0)
    return tuple(np.where(smooth, *pair) for pair in zip(t_ends(d), augmented_ends(d, floor=1.0), strict=True))  # type: ignore[return-value] # two


def own_ends(d: Floats) -> tuple[Floats, Floats]:
    """Take the headline: t, and augmented t where all differences are equal."""
    flat = np.ptp(d, axis=1) == 0
    return tuple(np.where(flat, *pair) for pair in zip(augmented_ends(d), t_ends(d), strict=True))  # type: ignore[return-value] # two


def gaffke_ends(d: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return Gaffke's bounds for the mean of bounded scores, by draws of uniform order statistics (Learned-Miller & Thomas)."""
    order = np.sort(rng.random((DRAWS, d.shape[1])), axis=1)
    ends: list[Floats] = []
    for sign in (-1, 1):
        x = np.sort((sign * d + 1) / 2, axis=1)
        gaps = np.diff(np.hstack([x, np.ones((len(x), 1))]), axis=1)
        ends.append(sign * (2 * np.quantile(1 - gaps @ order.T, 0.5 + LEVEL / 2, axis=1) - 1))
    return ends[0], ends[1]


def betting_ends(d: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the hedged betting interval with predictable plug-in bets for this n (Waudby-Smith & Ramdas, section 4)."""
    x, alpha = rng.permuted((d + 1) / 2, axis=1), 1 - LEVEL
    n = x.shape[1]
    grid = np.linspace(0.001, 0.999, 999)
    up, down = np.zeros((len(x), grid.size)), np.zeros((len(x), grid.size))
    mean, total, variance = np.full(len(x), 0.5), np.full(len(x), 0.25), np.full(len(x), 0.25)
    for k in range(n):
        bet = np.sqrt(2 * np.log(2 / alpha) / (n * variance))[:, np.newaxis]
        away = x[:, k, np.newaxis] - grid
        up += np.log1p(np.minimum(bet, 0.75 / grid) * away)
        down += np.log1p(-np.minimum(bet, 0.75 / (1 - grid)) * away)
        mean = (0.5 + x[:, : k + 1].sum(axis=1)) / (k + 2)
        total += (x[:, k] - mean) ** 2
        variance = total / (k + 2)
    kept = np.maximum(up, down) + np.log(0.5) < np.log(1 / alpha)
    low, high = np.where(kept, grid, 1.0).min(axis=1), np.where(kept, grid, 0.0).max(axis=1)
    return 2 * low - 1, 2 * high - 1


def limits(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return where unseen failures would undo the difference, and where either side failed outright."""
    up = b.mean(axis=1) >= a.mean(axis=1)
    side, other = np.where(up[:, np.newaxis], b, a), np.where(up[:, np.newaxis], a, b)
    failures = np.count_nonzero((side <= 0) & (other > 0), axis=1)
    undoing = 1 - other.mean(axis=1) / np.maximum(side.mean(axis=1), 1e-300)
    return undoing <= possible_failures(failures, a.shape[1]), ((a <= 0) | (b <= 0)).any(axis=1)


def claims(a: Floats, b: Floats, rng: np.random.Generator) -> dict[str, Floats]:
    """Return by method on which tables it claims a difference."""
    d = b - a
    d[np.abs(d) < 1e-12] = 0.0
    within, seen = limits(a, b)
    own = _apart(own_ends(d)) & (np.count_nonzero(d, axis=1) >= MIN_DISCORDANT)
    some = slice(BOUNDED)
    return {
        PLAIN: _apart(t_ends(d)),
        VERDICT: own & ~(within & seen),
        CLEAR: own & ~within,
        PSEUDO: _apart(augmented_ends(d)),
        BEFORE: _apart(former_ends(d)),
        GAFFKE: _apart(gaffke_ends(d[some], rng)),
        BETTING: _apart(betting_ends(d[some], rng)),
    }


def _apart(ends: tuple[Floats, Floats]) -> Floats:
    return (ends[0] > 0) | (ends[1] < 0)


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally claims without a difference; with one, claims and misses of the intervals for the notes."""
    a, b = world.draw(rng, count, 0.0)
    found = claims(a, b, rng)
    tallies = {method: of_claims(claimed) for method, claimed in found.items()}
    scores = PairedScores(metric=OF, baseline=a[0], candidate=b[0], n_trials=1)
    whole = compared((a[0][:, np.newaxis], b[0][:, np.newaxis]), OF, None)
    alike = decided(scores).claims == whole.claims == bool(found[VERDICT][0])
    tallies[AGREED] = Tally(float(alike), 1.0)
    if world.gain:
        a, b = world.draw(rng, count, world.gain)
        tallies |= {f"power: {method}": of_claims(claimed) for method, claimed in claims(a, b, rng).items()}
    truth = _truth(world)
    d = b - a
    for name, ends in ((PLAIN, own_ends(d)), (PSEUDO, augmented_ends(d)), (BEFORE, former_ends(d))):
        tallies[f"misses: {name}"] = of_ends(*ends, truth)
    return tallies


_TRUTHS: dict[str, float] = {}


def _truth(world: World) -> float:
    """Return the true difference at the world's gain; drawn once a process, where it has no closed form."""
    if world.rates != (0.0, 0.0):
        return 0.0
    if world.name not in _TRUTHS:
        rng = np.random.default_rng(1)
        a, b = world.draw(rng, max(1, 4_000_000 // world.items), world.gain)
        _TRUTHS[world.name] = float((b - a).mean())
    return _TRUTHS[world.name]


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


def notes(tallies: Tallies) -> list[str]:
    """Say what each method finds where there is a difference, and how often the intervals hold it."""
    told = [_power_and_width(world, tallies) for world in WORLDS if world.gain and (world.name, PLAIN) in tallies]
    agreed = [tally for (_, method), tally in tallies.items() if method == AGREED]
    same, total = round(sum(t.errors for t in agreed)), round(sum(t.total for t in agreed))
    key = (
        "With a difference: tables in which it is found by t; the verdict; the verdict without caution; augmented t with c = "
        "Σd²/Σ|d|; the former rule; Gaffke's bound; the betting interval. Then coverage and width of t, augmented t and the "
        "former rule."
    )
    return [key, *told, f"On {total:,} of the tables compare() itself was run; its verdict was the same on {same:,}."]


def _power_and_width(world: World, tallies: Tallies) -> str:
    power = [_share(tallies[world.name, f"power: {name}"]) for name in MEASURED]
    missed = [tallies[world.name, f"misses: {name}"] for name in (PLAIN, PSEUDO, BEFORE)]
    widths = [f"{(tally.width or 0.0) / tally.total:.3f}" for tally in missed]
    held = [_share(tally, of=1.0) for tally in missed]
    return f"{world.name}: found {', '.join(power)}; held {', '.join(held)}; width {', '.join(widths)}."


def _share(tally: Tally, *, of: float = 0.0) -> str:
    return f"{abs(of - tally.errors / tally.total):.3f}".removeprefix("0")


def _named(group: str) -> tuple[str, ...]:
    return tuple(world.name for world in WORLDS if world.group == group)


QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed between graded scores of equal mean?",
    design=(
        "Two models answer the same items and are scored between 0 and 1: by a judge in whole points, by a share such as F1, "
        "with many zeros or many ties. Without crashes both have the same law. With crashes a side falls to 0 at the rate "
        "named and gains a little on every other item, so that the means are equal. Where a verdict carries a caution, its "
        "first line says that outright failures which the items cannot exclude would undo it."
    ),
    measure="false claims",
    nominal=0.05,
    methods={
        VERDICT: "ours",
        CLEAR: "ours",
        PSEUDO: "beside",
        PLAIN: "elsewhere",
        BEFORE: "elsewhere",
        GAFFKE: "elsewhere",
        BETTING: "elsewhere",
    },
    cases=[Case(name=world.name, group=world.group, design=world.numbers) for world in WORLDS],
    tasks=tasks,
    promises=[
        Promise(text="Graded scores, nothing crashes", method=VERDICT, cases=_named("nothing crashes"), high=0.06),
        Promise(text="Graded scores, claims without caution", method=CLEAR, high=0.06),
    ],
    notes=notes,
)
