"""Records: frozen, slotted dataclasses made by keyword, whose methods are written only for those that are used.

`dataclasses` compiles up to eight methods for every class when it is defined: half a millisecond each, and a short command
defines 170 of them.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform, overload

Class = TypeVar("Class")


@overload
def record(cls: type[Class], /) -> type[Class]: ...
@overload
def record(*, repr: bool = True, eq: bool = True) -> Callable[[type[Class]], type[Class]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, repr: bool = True, eq: bool = True) -> Any:  # noqa: A002 - as in `dataclass`
    """Return the class as `dataclass(frozen=True, slots=True, kw_only=True)` would, `fields` and `replace` included.

    Parameters
    ----------
    cls
        A class with annotated fields; its bases are records too, or have no fields.
    repr, eq
        Whether to add `__repr__`; `__eq__` and `__hash__` by value. What the class itself defines stays.

    Examples
    --------
    >>> @record
    ... class Interval:
    ...     low: float
    ...     high: float = 1.0
    >>> Interval(low=0.5)
    Interval(low=0.5, high=1.0)
    """

    def recorded(of: type) -> type:
        own = vars(of)
        shared: dict[str, Any] = {
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            "__getstate__": _state,
            "__setstate__": _restore,
            **({"__repr__": _text} if repr else {}),
            **({"__eq__": _equal, "__hash__": _hash} if eq else {}),
        }
        shared = {name: method for name, method in shared.items() if own.get(name) is None}
        made = cast("Any", dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=True, slots=True)(of))
        for name, method in shared.items():
            setattr(made, name, method)
        made.__init__ = _Unwritten(made)
        return made

    return recorded if cls is None else recorded(cls)


class _Unwritten:
    """The `__init__` of a class that nobody has called or asked for its signature yet."""

    def __init__(self, of: type) -> None:
        self.of = of

    def __get__(self, instance: object, owner: type) -> Any:
        written: Any = _init(self.of)
        self.of.__init__ = written
        return written.__get__(instance, owner)


def _init(of: Any) -> Callable[..., None]:
    """Write the `__init__` of a class, as `dataclass` does."""
    after = {"__post_init__": of.__post_init__} if hasattr(of, "__post_init__") else {}
    like: Any = make_dataclass(
        of.__name__,
        [(each.name, each.type, copy(each)) for each in fields(of)],
        namespace=after, frozen=True, slots=True, kw_only=True, repr=False, eq=False,
    )  # fmt: skip
    written = like.__init__
    written.__qualname__ = f"{of.__qualname__}.__init__"
    written.__module__ = of.__module__
    return written


@cache
def _values(of: Any, used: str) -> Callable[[Any], Any]:
    """Return what reads the fields of a class that its `used` ("compare", "repr") says."""
    names = [each.name for each in fields(of) if getattr(each, used)]
    return attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)


def _equal(self: object, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _values(self.__class__, "compare")
    return values(self) == values(other)


def _hash(self: object) -> int:
    return hash(_values(self.__class__, "compare")(self))


def _text(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r} of {self.__class__.__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
