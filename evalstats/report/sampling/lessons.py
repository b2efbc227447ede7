"""What the simulation teaches a reader of ratings, in sentences whose numbers come from the stored rows."""

from evalstats.datasets.arena_sampling import SamplingStudy
from evalstats.report.sampling.answers import PROXIMITY, amount

_ADAPTIVE = "Bramley & Vitello 2018, doi:10.1080/0969594X.2017.1418734"


def lessons(study: SamplingStudy) -> list[tuple[str, str]]:
    """Return (what it is about, what was found)."""
    return [
        ("Distances under proximity sampling", _distances(study)),
        ("Steady is not right", _steady(study)),
        ("Majorities of different schedules are not comparable", _majorities(study)),
        ("More votes", _more_votes(study)),
        ("Some random pairs", _some_random(study)),
    ]


def _distances(study: SamplingStudy) -> str:
    told = "; ".join(
        f"{world} arenas: {_of(study, 'far_bias', world, sign=True)} points against "
        f"{_random(study, 'far_bias', world, sign=True)}"
        for world in study.worlds
    )
    return (
        "How much further apart the first and the last model are rated than they are, on average, under wide and narrow "
        f"proximity and under random pairs ({told}). Pairs that look far apart by chance are not asked about again, so nothing "
        f"corrects them. That adaptive pairs spread a scale is known of comparative judgement in schools ({_ADAPTIVE})."
    )


def _steady(study: SamplingStudy) -> str:
    world = "crowded"
    return (
        f"In crowded arenas models move {_of(study, 'resample', world)} places when other raters are drawn (wide and narrow "
        f"proximity; random pairs {_random(study, 'resample', world)}), and the 95% interval of first against last holds the "
        f"truth in {_of(study, 'covered_far', world)} of arenas (random pairs {_random(study, 'covered_far', world)}). "
        "Resampling keeps the schedule, and with it what the schedule got wrong."
    )


def _majorities(study: SamplingStudy) -> str:
    told = "; ".join(
        f"{world}: {_of(study, 'violations', world)} against {_random(study, 'violations', world)}"
        for world in study.worlds
    )
    return (
        "True strengths are transitive in every arena here, yet majorities contradict it, more often the closer the models "
        f"that meet (wide and narrow proximity against random pairs; {told}). A raw rate says more of the schedule than of the "
        "votes: hold it against its expected value under the fit."
    )


def _more_votes(study: SamplingStudy) -> str:
    few, many = "spread out", "many votes"
    return (
        f"With ten times the votes the bias between first and last is {_of(study, 'far_bias', many, sign=True)} points in place "
        f"of {_of(study, 'far_bias', few, sign=True)}, and intervals of first against last hold the truth in "
        f"{_of(study, 'covered_far', many)} of arenas in place of {_of(study, 'covered_far', few)} (wide and narrow proximity)."
    )


def _some_random(study: SamplingStudy) -> str:
    mixed = "narrow + random"
    told = "; ".join(
        f"{world}: bias {_mean(study, 'far_bias', world, mixed, sign=True)} points, coverage "
        f"{_mean(study, 'covered_far', world, mixed, sign=False)}, pairs in order at the end {_in_order(study, world, mixed)} "
        f"(random pairs {_in_order(study, world, 'random')})"
        for world in study.worlds
    )
    return (
        "Narrow proximity with a fifth of the votes between random pairs keeps pairs in play that looked far apart. First "
        f"against last, {told}."
    )


def _in_order(study: SamplingStudy, world: str, sampling: str) -> str:
    return amount(study.measure("order"), study.of("order", world=world, sampling=sampling)[-1].estimate)


def _of(study: SamplingStudy, key: str, world: str, *, sign: bool = False) -> str:
    """Write the means of wide and narrow proximity."""
    return " and ".join(_mean(study, key, world, sampling, sign=sign) for sampling in PROXIMITY)


def _random(study: SamplingStudy, key: str, world: str, *, sign: bool = False) -> str:
    return _mean(study, key, world, "random", sign=sign)


def _mean(study: SamplingStudy, key: str, world: str, sampling: str, *, sign: bool) -> str:
    (row,) = study.of(key, world=world, sampling=sampling)
    return amount(study.measure(key), row.estimate, sign=sign)
