"""Frozen dataclasses that share their methods.

`dataclasses` compiles five methods for each class; hundreds of classes made that a sixth of the time of a short answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from inspect import Parameter, Signature
from typing import Any, NamedTuple, NoReturn, TypeVar, cast, dataclass_transform

Kind = TypeVar("Kind")
_BARE = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(of: type[Kind]) -> type[Kind]:
    """Make of a class what `dataclass(frozen=True, slots=True, kw_only=True)` makes; a `__repr__` that it inherits stays.

    >>> @frozen
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(x=1.0), Point(x=1.0) == Point(x=1.0, y=0.0)
    (Point(x=1.0, y=0.0), True)
    """
    return cast("type[Kind]", _made(of))


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(field,))
def frozen_by_identity(of: type[Kind]) -> type[Kind]:
    """Make the same, but one is equal to itself alone: for fields that are arrays or tables."""
    return cast("type[Kind]", _made(of, equal=False))


def _made(of: Any, *, equal: bool = True) -> Any:
    of.__doc__ = of.__doc__ or of.__name__  # else `dataclass` writes a signature
    made = _BARE(of)
    own = made.__dict__
    methods: dict[str, Any] = {
        "__init__": _init,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__getstate__": _values,
        "__setstate__": _restore,
        "__signature__": _Constructor(),
    }
    if equal:
        methods |= {"__eq__": _equal, "__hash__": _hash}
    if made.__repr__ is object.__repr__:
        methods["__repr__"] = _repr
    for name, method in methods.items():
        # A class that defines `__eq__` alone has None for `__hash__`.
        if own.get(name) is None:
            setattr(made, name, method)
    return made


class _Shape(NamedTuple):
    """How the fields of a class are set, and what those hold that are not given."""

    setters: Mapping[str, Callable[[object, object], None]]
    defaults: Mapping[str, object]
    factories: Mapping[str, Callable[[], object]]
    checked: bool


@cache
def _shape(of: Any) -> _Shape:
    known = fields(of)
    return _Shape(
        setters={each.name: getattr(of, each.name).__set__ for each in known},
        defaults={each.name: each.default for each in known if each.default is not MISSING},
        factories={each.name: each.default_factory for each in known if each.default_factory is not MISSING},
        checked=hasattr(of, "__post_init__"),
    )


def _init(self: Any, /, **values: object) -> None:
    shape = _shape(type(self))
    if len(values) < len(shape.setters):
        made = {name: make() for name, make in shape.factories.items() if name not in values}
        values = {**shape.defaults, **made, **values}
    if values.keys() != shape.setters.keys():
        unknown = [name for name in values if name not in shape.setters]
        wrong = unknown or [name for name in shape.setters if name not in values]
        what = "an unexpected" if unknown else "no"
        raise TypeError(f"{type(self).__name__}() got {what} keyword argument {wrong[0]!r}")
    for name, value in values.items():
        shape.setters[name](self, value)
    if shape.checked:
        self.__post_init__()


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r} of a {type(self).__name__}")


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, each.name) for each in fields(self) if each.compare)


def _equal(self: object, other: object) -> bool:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: object) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _values(self: Any) -> dict[str, object]:
    return {each.name: getattr(self, each.name) for each in fields(self)}


def _restore(self: object, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        _shape(type(self)).setters[name](self, value)


class _Constructor:
    """The signature of the constructor of a class, made when it is asked for."""

    def __get__(self, one: object, of: Any) -> Signature:
        if one is not None:
            raise AttributeError("__signature__")
        return Signature(
            [
                Parameter(
                    each.name,
                    Parameter.KEYWORD_ONLY,
                    default=each.default_factory()
                    if each.default_factory is not MISSING
                    else Parameter.empty
                    if each.default is MISSING
                    else each.default,
                    annotation=each.type,
                )
                for each in fields(of)
            ],
            return_annotation=None,
        )
