"""A record behaves as the frozen, slotted dataclass that it stands for."""

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from typing import Any

import msgspec
import pytest

from evalstats.record import record


def _family(frozen: Callable[[type], type]) -> tuple[Any, Any]:
    @frozen
    class Point:
        x: float
        label: str = "here"
        seen: list[int] = field(default_factory=list, compare=False)
        twice: float = field(init=False, default=0.0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.x)

    @frozen
    class Far(Point):
        far: bool
        hidden: str = field(default="", repr=False)

    return Point, Far


_RECORDS = _family(record)
_DATACLASSES = _family(dataclass(frozen=True, slots=True, kw_only=True))


@record
class Pair:
    one: int
    other: float | None = None


@pytest.mark.parametrize("which", [0, 1], ids=["base", "derived"])
def test_a_record_has_the_fields_signature_and_text_of_a_dataclass(which: int) -> None:
    ours, theirs = _RECORDS[which], _DATACLASSES[which]
    more = {"far": True} if which else {}
    assert is_dataclass(ours)
    assert [(each.name, each.type, each.init) for each in fields(ours)] == [
        (each.name, each.type, each.init) for each in fields(theirs)
    ]
    named = [(each.name, each.kind, each.annotation) for each in inspect.signature(ours).parameters.values()]
    assert named == [(each.name, each.kind, each.annotation) for each in inspect.signature(theirs).parameters.values()]
    one, other = ours(x=1.5, **more), theirs(x=1.5, **more)
    assert repr(one) == repr(other)
    assert (asdict(one), astuple(one), one.__slots__) == (asdict(other), astuple(other), other.__slots__)
    assert not hasattr(one, "__dict__")


def test_records_are_equal_by_the_fields_that_count_and_by_class() -> None:
    point, far = _RECORDS
    assert point(x=1.0, seen=[1]) == point(x=1.0)
    assert len({point(x=1.0, seen=[1]), point(x=1.0), point(x=2.0)}) == 2
    assert point(x=1.0) != point(x=1.0, label="there")
    assert point(x=1.0) != far(x=1.0, far=True)
    assert far(x=1.0, far=True) == far(x=1.0, far=True)


def test_each_record_has_a_list_of_its_own() -> None:
    point, _ = _RECORDS
    assert point(x=1.0).seen is not point(x=1.0).seen


def test_a_record_is_replaced_copied_pickled_and_decoded() -> None:
    one = Pair(one=1, other=2.0)
    assert replace(one, one=3) == Pair(one=3, other=2.0)
    assert copy.deepcopy(one) == copy.copy(one) == pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own
    assert msgspec.convert({"one": 1, "other": 2.0}, Pair) == one
    assert msgspec.json.decode(msgspec.json.encode(one), type=Pair) == one
    changed = replace(_RECORDS[1](x=1.0, far=False), x=4.0)
    assert (changed.x, changed.twice) == (4.0, 8.0)


def test_a_record_cannot_be_changed_nor_made_by_position_or_of_what_it_lacks() -> None:
    one = Pair(one=1)
    with pytest.raises(FrozenInstanceError, match="'one'"):
        one.one = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="'one'"):
        del one.one
    with pytest.raises(TypeError, match="positional"):
        Pair(1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'one'"):
        Pair()  # pyright: ignore[reportCallIssue]


def test_what_a_class_defines_itself_stays() -> None:
    @record(eq=False)
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @record(repr=False)
    class Plain(Pair):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Pair) and other.one == self.one

        def __hash__(self) -> int:
            return 7

    assert repr(Named(name="a")) == "<a>"
    assert Named(name="a") != Named(name="a")
    assert (Plain(one=1, other=2.0) == Plain(one=1), hash(Plain(one=2))) == (True, 7)


def test_a_class_whose_init_nobody_asks_for_has_none_written() -> None:
    @record
    class Unused:
        one: int

    assert type(vars(Unused)["__init__"]).__name__ == "_Unwritten"
    Unused(one=1)
    assert inspect.isfunction(vars(Unused)["__init__"])
