"""The pages of the Python reference, from signatures, types and docstrings alone: what is public has a page, and nothing else.

A class is shown with its fields, what it can do, and the records inside it. Constructors are not shown,
since functions make these; but those of designs, which need no argument, are.
"""

import dataclasses
import doctest
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

import evalstats
from evalstats.analysis.result import Estimate, Result
from evalstats.options import Flag
from evalstats.plots.style import svg

# Folder, title, what stands in it, in this order.
SECTIONS = {
    "read": ("Read", "Result files and frames in, one set of tidy tables out; and these as files for other programs."),
    "ask": ("Ask", "One function a question; each gives a result that says how it was reached."),
    "results": ("Results", "What the functions give: every field and method, and how to save, load and render it."),
    "more": ("Modules", "Figures of any table, shipped and simulated data, assertions for test suites, and errors."),
}
# The cells of a page of one's own import these by their own name: `evalstats.report` is a function to all others.
PAGES = "report.page"
SHARED, ERRORS = "results/shared.md", "more/errors.md"


def public(name: str) -> Any:
    """Return what a public name stands for; of a module that can be called, the function that it calls."""
    of = import_module(f"evalstats.{name}") if "." in name else getattr(evalstats, name)
    return import_module(f"{of.__name__}.render").report if inspect.ismodule(of) and callable(of) else of


def section_of(name: str) -> str:
    """Return the folder of a public name, by what it is and where it comes from."""
    of = public(name)
    if inspect.ismodule(of) or (inspect.isclass(of) and issubclass(of, Exception)):
        return "more"
    if inspect.isclass(of):
        return "results" if issubclass(of, Result) else "read"
    rooms = {"evalstats.analysis.saved": "results", "evalstats.report": "results", "evalstats.analysis": "ask"}
    rooms |= {"evalstats.simulate": "more"}
    return next((room for start, room in rooms.items() if of.__module__.startswith(start)), "read")


# --- docstrings ---

_SECTION = re.compile(r"^([A-Z][\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S.*)\n((?:[ \t]+.*(?:\n|\Z)|\n)*)", re.MULTILINE)


def parsed(of: object) -> dict[str, str]:
    """Return a docstring's sections by name; "" is what stands before them."""
    own = of.__dict__.get("__doc__") if inspect.isclass(of) else getattr(of, "__doc__", None)
    first, *rest = _SECTION.split(inspect.cleandoc(own or "") + "\n")
    return {"": first.strip(), **{name: body.rstrip() for name, body in zip(rest[::2], rest[1::2], strict=True)}}


def entries(body: str) -> Iterator[tuple[str, str]]:
    """Yield what a section of a docstring lists, each name with its meaning, also where several share one."""
    for names, meaning in _ENTRY.findall(body + "\n"):
        for name in re.split(r",\s*", names.partition(" : ")[0]):
            yield name.strip(), inspect.cleandoc(meaning)


def meanings(of: type) -> dict[str, str]:
    """Return what the fields of a class mean: its own docstring first, then those of its bases, then the shared words."""
    found: dict[str, str] = {}
    told = set(re.findall(r"`(\w+)`", parsed(of)[""]))
    for each in (*of.__mro__, Estimate, Result):
        for name, meaning in entries(parsed(each).get("Attributes", "")):
            # What the docstring says of a name in passing goes before what others say.
            if each in of.__mro__ or name not in told:
                found.setdefault(name, meaning)
    # `ratio_low` and `ratio_high` beside `ratio` need no words of their own.
    fields = [field.name for field in dataclasses.fields(of)] if dataclasses.is_dataclass(of) else []
    for name in fields:
        of_what, _, end = name.rpartition("_")
        if of_what in fields and end in {"low", "high"}:
            found.setdefault(name, f"Ends of the interval of `{of_what}`.")
    return found


def explained(of: Any) -> dict[str, str]:
    """Return what the parameters of a function mean: its docstring, else what the option or the package says everywhere."""
    package = import_module(of.__module__.rpartition(".")[0])
    known = dict(entries(parsed(package).get("Parameters", "")))
    for name, given in inspect.signature(of).parameters.items():
        flags = [each for each in getattr(given.annotation, "__metadata__", ()) if isinstance(each, Flag)]
        known |= {name: f"{flags[0].help[0].upper()}{flags[0].help[1:]}."} if flags else {}
    own = {name.lstrip("*"): meaning for name, meaning in entries(parsed(of).get("Parameters", ""))}
    return {name: meaning for name, meaning in {**known, **own}.items() if name in inspect.signature(of).parameters}


# --- types ---


def shown_type(of: Any) -> str:
    """Write a type as it stands in the source, without what only the command line needs."""
    if isinstance(of, str | ForwardRef):
        return of if isinstance(of, str) else of.__forward_arg__
    origin, inside = get_origin(of), get_args(of)
    if origin is Annotated:
        return shown_type(inside[0])
    if origin in {Union, UnionType}:
        return " | ".join(map(shown_type, inside))
    if origin is Literal:
        return " | ".join(f'"{each}"' if isinstance(each, str) else repr(each) for each in inside)
    if of in {None, NoneType}:
        return "None"
    name = getattr(origin or of, "__name__", str(of))
    if not inside or name == "Callable":
        return name
    return f"{name}[{', '.join('...' if each is ... else shown_type(each) for each in inside)}]"


def records_in(of: Any) -> Iterator[type]:
    """Yield the dataclasses that a type is made of."""
    if inspect.isclass(of) and dataclasses.is_dataclass(of):
        yield of
    for each in get_args(of):
        yield from records_in(each)


def public_fields(of: type) -> Iterator["dataclasses.Field[Any]"]:
    """Yield the fields of a dataclass that a reader may use."""
    return (field for field in dataclasses.fields(of) if not field.name.startswith("_"))


def reached(root: type) -> list[type]:
    """Return the records inside a result, in the order of its fields, without results of their own."""
    found: dict[type, None] = {}

    def visit(of: type) -> None:
        for field in public_fields(of):
            for each in records_in(field.type):
                if each not in found and each is not Estimate and each.__name__ not in dir(evalstats):
                    found[each] = None
                    visit(each)

    visit(root)
    return list(found)


# --- pages ---


class Reference:
    """The pages, which link to each other by what they show; `front` writes the front matter of a page."""

    def __init__(self, front: Callable[..., str]) -> None:
        self.front = front

    @cached_property
    def sections(self) -> dict[str, list[str]]:
        """The public names of each folder."""
        filed: dict[str, list[str]] = {folder: [] for folder in SECTIONS}
        for name in sorted((*dir(evalstats), PAGES), key=str.lower):
            filed[section_of(name)].append(name)
        return filed

    @cached_property
    def records(self) -> dict[str, list[type]]:
        """The records that each page shows: those of one class beside it, those of several on a page of their own."""
        roots = [public(name) for name in (*self.sections["results"], *self.sections["read"])]
        inside = {root.__name__: reached(root) for root in roots if dataclasses.is_dataclass(root)}
        owners: dict[type, list[str]] = {}
        for name, found in inside.items():
            for each in found:
                owners.setdefault(each, []).append(name)
        pages: dict[str, list[type]] = {SHARED: []}
        for each, names in owners.items():
            page = self.homes[names[0]] if len(names) == 1 else SHARED
            pages.setdefault(page, []).append(each)
        return pages

    @cached_property
    def homes(self) -> dict[str, str]:
        """The page of each public name."""
        return {
            name: ERRORS if folder == "more" and inspect.isclass(public(name)) else f"{folder}/{name}.md"
            for folder, names in self.sections.items()
            for name in names
        }

    @cached_property
    def links(self) -> dict[str, str]:
        """Where each name is explained that a type may have."""
        found = {each.__name__: f"{page}#{each.__name__}" for page, shown in self.records.items() for each in shown}
        classes = {name: page for name, page in self.homes.items() if inspect.isclass(public(name))}
        return {**found, **classes, Estimate.__name__: f"{SHARED}#Estimate"}

    def typed(self, of: Any) -> str:
        """Write a type with links to what is explained elsewhere; every page stands one folder down."""
        parts = re.findall(r"\w+|\W", shown_type(of))
        return "".join(f"[{part}](../{self.links[part]})" if part in self.links else _plain(part) for part in parts)

    def pages(self) -> dict[str, str]:
        """Return all pages by their path, and the pictures in them."""
        files, start = dict[str, str](), [self.front("Python", toc=False) + _START]
        for order, (folder, names) in enumerate(self.sections.items(), 1):
            title, said = SECTIONS[folder]
            rows = {name: (self.homes[name], _first(public(name))) for name in names}
            if folder == "results":
                rows["shared"] = (SHARED, "What every result can do, and the records that several results hold.")
            start.append(f"## [{title}]({folder}/index.md)\n\n{said}\n\n{_list(rows, '')}")
            files[f"{folder}/index.md"] = self.front(title, order=order, toc=False) + f"{said}\n\n{_list(rows, '../')}"
            for name in names:
                files |= self.page(name)
        files["index.md"] = "\n".join(start)
        shared = [self.described(each) for each in (Result, Estimate, *self.records[SHARED])]
        files[SHARED] = self.front("What results share") + "\n".join(shared)
        errors = [name for name, home in self.homes.items() if home == ERRORS]
        said = [f"## {name} {{#{name}}}\n\n{parsed(public(name))['']}\n" for name in errors]
        return {**files, ERRORS: self.front("Errors") + "\n".join(said)}

    def page(self, name: str) -> dict[str, str]:
        """Return the page of a public name, with the pictures in it."""
        of, path = public(name), self.homes[name]
        if path == ERRORS:
            return {}
        if inspect.isclass(of):
            makers = [other for other in self.sections["ask"] if name in shown_type(_returned(public(other)))]
            made = (
                "Given by " + ", ".join(f"[`{other}`](../ask/{other}.md)" for other in makers) + ".\n" if makers else ""
            )
            inside = [self.described(each) for each in self.records.get(path, ())]
            return {path: self.front(name) + self.class_body(of, made) + "\n".join(inside)}
        if not inspect.ismodule(of):
            return {path: self.front(name) + self.function(of)}
        parts, files = [parsed(of)[""], ""], dict[str, str]()
        for each in of.__all__:
            inside = getattr(of, each)
            picture = ""
            if name == "plots":
                files[f"more/{each}.svg"] = drawn_example(inside)
                picture = f"![]({each}.svg){{.es-drawing fig-alt='Example of {each}'}}\n\n"
            made = _signature(inside) if inspect.isclass(inside) and not _needed(inside) else ""
            body = self.class_body(inside, made) if inspect.isclass(inside) else self.function(inside, picture, level=3)
            parts.append(f"## {each} {{#{each}}}\n\n{body}")
        return {path: self.front(f"evalstats.{name}") + "\n".join(parts), **files}

    def described(self, of: type) -> str:
        """Return a record as a part of a page."""
        return f"## {of.__name__} {{#{of.__name__}}}\n\n{self.class_body(of, '')}"

    def class_body(self, of: type, made: str) -> str:
        """Return what is said of a class: what it is for, its fields, what it can do, an example."""
        said = parsed(of)
        text = said[""] if not said[""].startswith(f"{of.__name__}(") else ""
        parts = [f"{text}\n", made]
        known = meanings(of)
        fields = list(public_fields(of)) if dataclasses.is_dataclass(of) else []
        rows = self.rows((field.name, self.typed(field.type), known.get(field.name, "")) for field in fields)
        calls: list[str] = []
        for name, member in _members(of):
            if isinstance(member, property):
                rows += self.rows([(name, self.typed(_returned(member.fget)), parsed(member)[""])])
            elif name in of.__dict__ or of is Result:
                calls.append(_entry(f"`{_line(name, member)}`", self.function(member, level=0)))
            else:
                calls.append(_entry(f"[`{_line(name, member)}`](../{SHARED}#Result)", _first(member)))
        parts += ["**Fields**\n\n" + "\n".join(rows)] if rows else []
        parts += ["**Methods**\n\n" + "\n".join(calls)] if calls else []
        parts += [f"**Example**\n\n```python\n{said['Examples']}\n```\n"] if "Examples" in said else []
        return "\n".join(part for part in parts if part) + "\n"

    def rows(self, listed: Iterable[tuple[str, str, str]]) -> list[str]:
        """Return a list of names, types and meanings, those in a row that share a meaning together."""
        found: list[str] = []
        for meaning, alike in groupby(listed, lambda each: each[2]):
            terms = [
                f"{', '.join(f'`{name}`' for name, _, _ in same)} [{of}]{{.es-type}}"
                for of, same in groupby(alike, lambda each: each[1])
            ]
            found.append(_entry(", ".join(terms), meaning))
        return found

    def function(self, of: Any, picture: str = "", *, level: int = 2) -> str:
        """Return what is said of a function; level 0 is a method, whose signature stands in its heading."""
        said, signature = parsed(of), inspect.signature(of)
        parts = [f"{said['']}\n", picture, *([_signature(of)] if level else [])]
        known = explained(of)
        rows = self.rows(
            (name, self.typed(given.annotation) + _default(given), known.get(name, ""))
            for name, given in signature.parameters.items()
            if name in known or (level and name != "self")
        )
        parts += [f"{_heading('Parameters', level)}\n\n" + "\n".join(rows)] if rows else []
        if level:
            returned = "\n".join(meaning for _, meaning in entries(said.get("Returns", "")))
            shown = self.typed(signature.return_annotation)
            parts.append(f"{_heading('Returns', level)}\n\n{_entry(f'[{shown}]{{.es-type}}', returned)}")
        for name in ("Raises", "Warns"):
            rows = [_entry(f"`{error}`", why) for error, why in entries(said.get(name, ""))]
            parts += [f"{_heading(name, level)}\n\n" + "\n".join(rows)] if rows else []
        parts += [f"{_heading(name, level)}\n\n{said[name]}\n" for name in ("Notes", "References") if name in said]
        if "Examples" in said:
            parts.append(f"{_heading('Example', level)}\n\n```python\n{said['Examples']}\n```\n")
        return "\n".join(part for part in parts if part)


_START = "`import evalstats as es`. The columns of all tables stand in the [glossary](../tables.md).\n"


def _plain(text: str) -> str:
    return re.sub(r"[^\w\s,]", r"\\\g<0>", text)


def _entry(term: str, meaning: str) -> str:
    """Return one entry of a list of definitions."""
    # Quotation marks around nothing are code, not typography.
    body = textwrap.indent(re.sub(r'(?<![`"])""(?![`"])', '`""`', meaning), "    ").lstrip() or "See above."
    return f"{term}\n:   {body}\n"


def _list(rows: Mapping[str, tuple[str, str]], up: str) -> str:
    return "\n".join(_entry(f"[`{name}`]({up}{page})", said) for name, (page, said) in rows.items())


def _heading(name: str, level: int) -> str:
    return f"{'#' * level} {name}" if level == 2 else f"**{name}**"


def _first(of: object) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(parsed(of)[""].partition("\n\n")[0].split())


def _returned(of: Any) -> Any:
    return inspect.signature(of).return_annotation


def _members(of: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, its own first, then those that it inherits."""
    found: dict[str, Any] = {}
    fields = {field.name for field in dataclasses.fields(of)} if dataclasses.is_dataclass(of) else set[str]()
    for each in of.__mro__:
        if each.__module__.startswith("evalstats"):
            for name, held in each.__dict__.items():
                member = held.__func__ if isinstance(held, classmethod | staticmethod) else held
                if (
                    not name.startswith("_")
                    and name not in fields
                    and (inspect.isfunction(member) or isinstance(member, property))
                ):
                    found.setdefault(name, member)
    yield from found.items()


def _needed(of: Any) -> list[str]:
    """Return the arguments that a call must have."""
    return [name for name, given in inspect.signature(of).parameters.items() if given.default is given.empty]


def _default(given: inspect.Parameter) -> str:
    return "" if given.default is given.empty else f", default {_plain(repr(given.default))}"


def _arguments(of: Any) -> list[str]:
    """Return the arguments of a call as they are written, without their types."""
    given = [each for name, each in inspect.signature(of).parameters.items() if name not in {"self", "cls"}]
    names = ["*"] if any(each.kind is each.KEYWORD_ONLY for each in given) else []
    place = next((n for n, each in enumerate(given) if each.kind is each.KEYWORD_ONLY), 0)
    shown = [str(each.replace(annotation=each.empty)) for each in given]
    if any(each.kind is each.VAR_POSITIONAL for each in given):
        names = []
    return [*shown[:place], *names, *shown[place:]] if names else shown


def _line(name: str, of: Any) -> str:
    return f"{name}({', '.join(_arguments(of))})"


def _signature(of: Any) -> str:
    line = _line(of.__name__, of)
    if len(line) > 80:
        line = f"{of.__name__}(\n" + "".join(f"    {each},\n" for each in _arguments(of)) + ")"
    return f"```python\n{line}\n```\n"


def drawn_example(of: Any) -> str:
    """Run the example of a function of figures, and return the last figure that it drew."""
    shown: list[Any] = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        shown.append(of(*arguments, **options))
        return shown[-1]

    names: dict[str, Any] = {of.__name__: recorded}
    for example in doctest.DocTestParser().get_examples(parsed(of)["Examples"]):
        exec(example.source, names)  # noqa: S102 - an example of this project
    return svg(shown[-1], adaptive=False, font="sans-serif", alt=f"Example of {of.__name__}")
