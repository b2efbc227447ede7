"""Which model of the lab is which of the live side: joined by the exact name or a declared alias, never by likeness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstats.analysis.gaps.likeness import MAX_NAMES, near_names
from evalstats.errors import InputError
from evalstats.schema.plan import Plan

_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMatch:
    """How the names of two sides belong together. Names are as the sides write them unless said otherwise.

    Attributes
    ----------
    pairs
        (lab name, live name) of every model that both have, in the order of the lab.
    shared
        For each pair the name that both have once aliases are applied.
    by_alias
        The pairs that are not the same name without an alias.
    only_lab, only_live
        Names that the other side does not have.
    near
        (lab name, live name) that look alike and were NOT joined, the likest first; each name stands in one at most.
    near_why
        For each proposal, in what the two differ, in words.
    notes
        What a reader should know of the aliases and the proposals.
    """

    pairs: tuple[tuple[str, str], ...]
    shared: tuple[str, ...]
    by_alias: tuple[tuple[str, str], ...] = ()
    only_lab: tuple[str, ...] = ()
    only_live: tuple[str, ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    near_why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def match_models(lab: Sequence[str], live: Sequence[str], aliases: Mapping[str, str] | None) -> NameMatch:
    """Join the models of two sides by name.

    Names are joined where they are the same string, as they stand or with their aliases. Other names that look alike are
    proposed only: gpt-4 and gpt-4o are one letter apart and are two models.

    Parameters
    ----------
    lab, live
        Names of the models of each side; none twice on a side.
    aliases
        A name as a side writes it to the name that it shall have; holds for both sides, so that two names may be led to a
        third.

    Raises
    ------
    InputError
        If a side has a name twice, aliases make one name of two on a side, or an alias has an alias itself.

    Examples
    --------
    >>> match = match_models(["gpt-x", "openai/o-y"], ["o-y", "gpt-x", "z"], {"openai/o-y": "o-y"})
    >>> match.pairs, match.only_live
    ((('gpt-x', 'gpt-x'), ('openai/o-y', 'o-y')), ('z',))
    >>> match_models(["GPT-X"], ["gpt-x-20240513"], None).near
    (('GPT-X', 'gpt-x-20240513'),)
    """
    aliases = Plan(aliases=dict(aliases or {})).aliases  # a plan knows what aliases may not be
    of_lab = _called(lab, aliases, "lab")
    of_live = _called(live, aliases, "live side")
    named = [name for name in of_lab if name in of_live]
    pairs = tuple((of_lab[name], of_live[name]) for name in named)
    only_lab = {name: own for name, own in of_lab.items() if name not in of_live}
    only_live = {name: own for name, own in of_live.items() if name not in of_lab}
    near = near_names(tuple(only_lab), tuple(only_live))
    return NameMatch(
        pairs=pairs,
        shared=tuple(named),
        by_alias=tuple(pair for pair in pairs if pair[0] != pair[1]),
        only_lab=tuple(only_lab.values()),
        only_live=tuple(only_live.values()),
        near=tuple((only_lab[each.lab], only_live[each.live]) for each in near[:_SHOWN]),
        near_why=tuple(each.why for each in near[:_SHOWN]),
        notes=(*_idle_aliases(aliases, lab, live, named), *_limits(len(near), len(only_lab), len(only_live))),
    )


def _called(names: Sequence[str], aliases: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the names of one side by the name that each shall have."""
    called: dict[str, str] = {}
    for own in names:
        name = aliases.get(own, own)
        other = called.get(name)
        if other == own:
            message = f"the {side} has the model {own!r} twice; keep one row for each model"
            raise InputError(message)
        if other is not None:
            message = (
                f"aliases make one model of {other!r} and {own!r}, both of the {side} ({name!r}); "
                "leave one of the two out of the data, or alias only one of them"
            )
            raise InputError(message)
        called[name] = own
    return called


def _idle_aliases(
    aliases: Mapping[str, str], lab: Sequence[str], live: Sequence[str], named: Sequence[str]
) -> list[str]:
    present, joined = {*lab, *live}, set(named)
    absent = [name for name in aliases if name not in present]
    idle = [name for name in aliases if name in present and aliases[name] not in joined]
    notes: list[str] = []
    if absent:
        notes.append(f"no model of either side has the name {_some(absent)}, which the aliases rename")
    if idle:
        led = [f"{name} (to be {aliases[name]})" for name in idle]
        notes.append(f"the alias of {_some(led)} joins nothing: the other side has no model of the new name")
    return notes


def _limits(n_near: int, n_lab: int, n_live: int) -> list[str]:
    notes: list[str] = []
    if n_near > _SHOWN:
        notes.append(f"{n_near} names look like one of the other side; the likest {_SHOWN} are shown")
    if max(n_lab, n_live) > MAX_NAMES and min(n_lab, n_live):
        notes.append(
            f"more than {MAX_NAMES} names are left over; only those that differ in spelling or date are compared"
        )
    return notes


def _some(names: Sequence[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
