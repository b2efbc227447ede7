"""Every fault that we put into a module: which there are, and which are left out because no test could or should notice.

Left out by rule:

text
    Strings, what is raised, and arguments that are words for the reader. Messages have tests of their own; a changed comma is
    no wrong number.
declarations
    Annotations, names of types, decorators, fields of classes, casts, assertions, imports: they say what pyright checks.
limits of precision
    Numbers of 0.0001 and less, and those of 1,000 and more (one more is no change); names and keywords that speak of
    tolerances, of numbers of steps or of the first guess of a search; what these are multiplied with; the count of a loop
    that is left when it is good enough; `<` against `<=` beside any of these; and leaving a loop later than at one of
    these, which takes more steps.
arrays of no entries
    That they would be filled with 1 instead of 0, and the 0 in the shape of what `np.empty` makes.
speed and memory
    Sizes of blocks, those that are counted out too (`max(1, _CHUNK // n)`), and keywords such as `strict`, `copy`,
    `check_finite`, which change no number of a right program.
seeds
    Numbers that say where random numbers start. Another start gives other draws of the same law.
what is never seen
    In `np.where(known, x / np.where(known, y, 1.0), 0.0)` the 1.0: both ask the same, so it stands where the outer one does
    not look.
the size that reshape works out
    numpy takes -2 for it as well as -1.
the cheaper of two ways
    What is called `cheaper` (a name, a function) and says only which of two ways to the same numbers is taken, and a branch
    that hangs on it. That both ways give the same numbers is for the tests of that function to show.
the same program
    Mutants whose byte code equals the original's or an earlier mutant's.
"""

import ast
import copy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeAlias

Path_: TypeAlias = tuple[tuple[str, int | None], ...]  # the way from a module's root to a node: field, index
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_BOUNDARIES: Final = {(ast.Lt, ast.LtE), (ast.LtE, ast.Lt), (ast.Gt, ast.GtE), (ast.GtE, ast.Gt)}
_PAIRS: Final = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("cdf", "sf"),
    ("ppf", "isf"),
    ("mean", "sum"),
    ("logical_and", "logical_or"),
    ("cummin", "cummax"),
)
_SWAPPED: Final = {name: other for a, b in _PAIRS for name, other in ((a, b), (b, a))}
_DROPPED: Final = {"abs", "fabs", "sqrt", "log", "exp", "expit", "square", "clip", "sort", "sorted"}
_WORDS: Final = {"method", "warnings", "warning", "reason", "what", "text", "remedy", "note", "notes"}
_LIMITS: Final = re.compile(
    r"tol|eps|iter|steps|guess|rounds|tries|precis|slack|rounding|tiny|close_enough|converged|flat$|_tie$|settled",
    re.IGNORECASE,
)
_MEMORY: Final = re.compile(
    r"BLOCK|CHUNK|CELLS|CACHE|BYTES|MEMORY|ROOM|_WORTH|BATCH|AT_ONCE|_HELD|_KEPT|_TAKEN|CHEAP|_LARGE|^(block|chunk|cache)$"
)
_CHEAPER: Final = re.compile(r"cheaper")
_SPEED_KEYWORDS: Final = {
    "strict",
    "copy",
    "check_finite",
    "optimize",
    "assume_unique",
    "order",
    "casting",
    "stacklevel",
}
_SEEDS: Final = {"seed", "_SEED", "SEED"}
_TINY, _HUGE = 1e-4, 1e3


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: at `lines` of `file`, `before` became `after`."""

    file: Path
    function: str  # qualified; "" for a constant of the module
    lines: range
    operator: str
    before: str
    after: str
    nth: int  # among equal ones of this function
    path: Path_ = field(repr=False)
    replacement: ast.AST = field(repr=False, compare=False)

    @property
    def constant(self) -> str:
        """The name of the module's constant that is mutated, or ""."""
        if self.function:
            return ""
        statement: Any = ast.parse(source_of(self.file)).body[self.path[0][1] or 0]  # an assignment to one name
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        return target.id

    @property
    def key(self) -> str:
        """An identity that stays as long as the mutated expression and its function's name do."""
        parts = (
            self.file.stem,
            self.file.parent.name,
            self.function,
            self.operator,
            self.before,
            self.after,
            str(self.nth),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def mutants(file: Path) -> list[Mutant]:
    """Return every mutant of a module, in the order of its text, those that compile to the same program too."""
    out: list[Mutant] = []
    counts: dict[tuple[str, str, str, str], int] = {}
    tree = ast.parse(source_of(file))
    _mark_unseen(tree)
    for place in _places(tree):
        for operator, replacement in _replacements(place.node):
            if any(rule(place.node, operator) for rule in _LEFT_OUT):
                continue
            before, after = (ast.unparse(each).partition("\n")[0] for each in (place.node, replacement))
            label = (place.function, operator, before, after)
            counts[label] = counts.get(label, 0) + 1
            out.append(
                Mutant(
                    file=file,
                    function=place.function,
                    lines=place.lines,
                    operator=operator,
                    before=before,
                    after=after,
                    nth=counts[label],
                    path=place.path,
                    replacement=replacement,
                )
            )
    return out


def sample(files: list[Path], n: int, *, seed: int) -> tuple[list[Mutant], int]:
    """Return `n` mutants drawn at random from these modules, no two of them the same program, and how many there are.

    Each mutant has a lot, made of the seed and of what it changes in which function; the smallest lots are drawn. So the
    sample is the same everywhere, and an edit of one function leaves the mutants of all others in it.
    """
    every = [mutant for file in files for mutant in mutants(file)]
    every.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())
    seen = {program_of(compile(source_of(file), str(file), "exec", dont_inherit=True)) for file in files}
    out: list[Mutant] = []
    for mutant in every:
        program = program_of(compiled(mutant))
        if program not in seen:
            seen.add(program)
            out.append(mutant)
        if len(out) == n:
            break
    return out, len(every)


def compiled(mutant: Mutant) -> CodeType:
    """Return the mutated module's code."""
    return compile(mutated(mutant), str(mutant.file), "exec", dont_inherit=True)


@cache
def source_of(file: Path) -> str:
    """Return a module's text as it was when first asked for: what lives in this process, though the file be edited meanwhile."""
    return file.read_text(encoding="utf-8")


def mutated(mutant: Mutant) -> ast.Module:
    """Return the mutated module's tree."""
    tree = ast.parse(source_of(mutant.file))
    *way, (name, index) = mutant.path
    node: ast.AST = tree
    for step, at in way:
        node = getattr(node, step) if at is None else getattr(node, step)[at]
    old = getattr(node, name) if index is None else getattr(node, name)[index]
    new = ast.copy_location(copy.deepcopy(mutant.replacement), old)
    if index is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[index] = new
    return ast.fix_missing_locations(tree)


def functions_of(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return the code of every function of a module, nested ones too, by qualified name and first line."""
    out: dict[tuple[str, int], CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            out[constant.co_qualname, constant.co_firstlineno] = constant
            out |= functions_of(constant)
    return out


def program_of(code: CodeType) -> bytes:
    """Return what tells programs apart: all that the interpreter runs, without line numbers."""
    constants = [
        program_of(each) if isinstance(each, CodeType) else (type(each).__name__, repr(each)) for each in code.co_consts
    ]
    return repr((code.co_code, code.co_names, code.co_varnames, constants, code.co_exceptiontable)).encode()


@dataclass(frozen=True, slots=True)
class _Place:
    node: ast.AST
    path: Path_
    function: str
    lines: range


def _places(tree: ast.Module) -> Iterator[_Place]:
    for at, statement in enumerate(tree.body):
        path: Path_ = (("body", at),)
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            yield from _in_definition(statement, path, "")
        elif isinstance(statement, ast.AnnAssign) and _name(statement.annotation) == "TypeAlias":
            continue
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            names = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if (
                len(names) == 1
                and isinstance(names[0], ast.Name)
                and not _limit(names[0].id)
                and names[0].id not in _SEEDS
            ):
                where = _Place(statement.value, (*path, ("value", None)), "", header(statement))
                yield from _inside(where)


def _in_definition(node: ast.AST, path: Path_, outer: str) -> Iterator[_Place]:
    name = f"{outer}{node.name}"  # type: ignore[attr-defined] - a class or a function
    if isinstance(node, ast.ClassDef):
        for at, statement in enumerate(node.body):
            if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                yield from _in_definition(statement, (*path, ("body", at)), f"{name}.")
        return
    if not isinstance(node, _FUNCTIONS) or _CHEAPER.search(name):
        return
    if any("overload" in ast.unparse(each) for each in node.decorator_list):
        return
    given = [*node.args.posonlyargs, *node.args.args]
    names = {"defaults": given[len(given) - len(node.args.defaults) :], "kw_defaults": node.args.kwonlyargs}
    for kind, arguments in names.items():
        for at, default in enumerate(getattr(node.args, kind)):
            if default is not None and arguments[at].arg not in _SEEDS:
                where = (*path, ("args", None), (kind, at))
                yield from _inside(_Place(default, where, name, header(node.body[-1])))
    yield from _statements(node.body, (*path,), "body", name)


def _statements(body: list[ast.stmt], path: Path_, name: str, function: str) -> Iterator[_Place]:
    for at, statement in enumerate(body):
        yield from _inside(_Place(statement, (*path, (name, at)), function, header(statement)))


def _inside(place: _Place) -> Iterator[_Place]:
    """Give the place and all below it, where no rule leaves it out."""
    node = place.node
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
        return
    if isinstance(node, ast.Constant) and _left_alone(node.value):
        return
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and (_is_limit(node.left) or _is_limit(node.right))
    ):
        return
    if isinstance(node, ast.Call) and _wordy(node):
        return
    if isinstance(node, ast.AugAssign) and _limit(_name(node.target)):
        return
    if isinstance(node, ast.Call) and _name(node.func) == "empty" and _no_entries(node):
        return
    if _counts_a_block(node) or hasattr(node, "unseen"):
        return
    yield place
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment", "type_params", "ctx", "op", "ops"}:
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for at, child in children:
            if isinstance(child, ast.AST) and not _excluded(node, name, child):
                lines = header(child) if isinstance(child, ast.stmt) else place.lines
                yield from _inside(_Place(child, (*place.path, (name, at)), place.function, lines))


def _left_alone(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return not isinstance(value, (int, float)) or (value != 0 and not _TINY < abs(value) < _HUGE)


def _wordy(call: ast.Call) -> bool:
    name = _name(call.func)
    return name in {"cast", "TypeVar", "ParamSpec", "Note", "warn", "InputError"} or name.endswith("Error")


def _counts_a_block(node: ast.AST) -> bool:
    """Whether this is the size of a block, such as `max(1, _CHUNK // n)`."""
    if isinstance(node, ast.BinOp):
        name = _name(node.left)
        return isinstance(node.op, ast.FloorDiv) and name.isupper() and bool(_MEMORY.search(name))
    return isinstance(node, ast.Call) and _name(node.func) == "max" and any(map(_counts_a_block, node.args))


def _mark_unseen(tree: ast.Module) -> None:
    """Mark what `where` gives in places at which a `where` around it that asks the same gives something else."""
    for outer in filter(_is_where, ast.walk(tree)):
        condition, *choices = outer.args  # type: ignore[attr-defined] - a call
        for at, choice in enumerate(choices):
            for inner in filter(_is_where, ast.walk(choice)):
                if ast.dump(inner.args[0]) == ast.dump(condition):  # type: ignore[attr-defined] - a call
                    inner.args[2 - at].unseen = True  # type: ignore[attr-defined] - a call


def _is_where(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "where" and len(node.args) == 3


def _excluded(parent: ast.AST, name: str, child: ast.AST) -> bool:
    if isinstance(child, ast.keyword) and child.arg is not None:
        seed = child.arg in _SEEDS and isinstance(child.value, ast.Constant)
        return seed or child.arg in _WORDS | _SPEED_KEYWORDS or _limit(child.arg)
    if isinstance(parent, ast.Call) and name == "args" and _name(parent.func) == "default_rng":
        return isinstance(child, ast.Constant)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)) and name == "value":
        target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
        return isinstance(target, ast.Name) and (target.id in _WORDS or _limit(target.id))
    if isinstance(parent, ast.Call) and _name(parent.func) == "reshape":
        return isinstance(child, ast.UnaryOp)
    if isinstance(parent, ast.If) and isinstance(child, ast.Break):
        return _at_a_limit(parent.test)
    if isinstance(parent, ast.For) and name == "iter":  # a loop that nobody counts is left when it is good enough
        return isinstance(parent.target, ast.Name) and parent.target.id == "_"
    return (
        name == "slice"
        and isinstance(parent, ast.Subscript)
        and isinstance(child, ast.Constant)
        and child.value is None
    )


def _limit(name: str) -> bool:
    return bool(_LIMITS.search(name) or _MEMORY.search(name) or _CHEAPER.search(name))


def _is_limit(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_limit(node.operand)
    tiny = isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < abs(node.value) <= _TINY
    return tiny or bool(_LIMITS.search(_name(node)))


def _boundary_of_a_limit(node: ast.AST, operator: str) -> bool:
    if operator != "boundary" or not isinstance(node, ast.Compare):
        return False
    parts = list(ast.walk(node))
    return any(_is_limit(part) for part in parts) or any(_limit(_name(part)) for part in parts)


def _left_later(node: ast.AST, operator: str) -> bool:
    if operator != "branch" or not isinstance(node, ast.If) or not isinstance(node.body[0], ast.Break):
        return False
    return _at_a_limit(node.test)


def _at_a_limit(test: ast.expr) -> bool:
    return any(_is_limit(part) or _limit(_name(part)) for part in ast.walk(test))


def _filled_with_nothing(node: ast.AST, operator: str) -> bool:
    if operator != "function" or not isinstance(node, ast.Call):
        return False
    return _name(node.func) in {"zeros", "ones"} and _no_entries(node)


def _no_entries(call: ast.Call) -> bool:
    shape = call.args[0] if call.args else call
    parts = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return any(isinstance(part, ast.Constant) and part.value == 0 for part in parts)


def _cheaper_way(node: ast.AST, operator: str) -> bool:
    if operator != "branch" or not isinstance(node, (ast.If, ast.IfExp)):
        return False
    return any(_CHEAPER.search(_name(part)) for part in ast.walk(node.test))


_LEFT_OUT: Final = (_boundary_of_a_limit, _left_later, _cheaper_way, _filled_with_nothing)


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _ARITHMETIC:
            if not (isinstance(node, ast.BinOp) and (_is_text(node.left) or _is_text(node.right))):
                yield "arithmetic", _with(node, op=_ARITHMETIC[type(node.op)]())
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in _COMPARISONS[type(op)]:
                    kind = "boundary" if (type(op), other) in _BOUNDARIES else "comparison"
                    yield kind, _with(node, ops=[*ops[:at], other(), *ops[at + 1 :]])
        case ast.BoolOp(op=op):
            yield "logic", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield "sign", node.operand
        case ast.Constant(value=bool() | int() | float() as value):
            yield "constant", ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.Call():
            yield from _calls(node)
        case _:
            yield from _branches(node)


def _branches(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.IfExp():
            yield "branch", _with(node, body=node.orelse, orelse=node.body)
        case ast.If():
            yield "branch", _with(node, test=ast.Constant(value=False))
        case ast.Expr(value=ast.Call()):
            yield "statement", ast.Pass()
        case ast.Break():
            yield "branch", ast.Continue()
        case ast.Continue():
            yield "branch", ast.Pass()
        case _:
            pass


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = _name(node.func)
    if name in _SWAPPED:
        other = _SWAPPED[name]
        function = ast.Name(other, ast.Load()) if isinstance(node.func, ast.Name) else _with(node.func, attr=other)
        yield "function", _with(node, func=function)
    if name in _DROPPED and node.args:
        yield "function", node.args[0]


def _with(node: ast.AST, **changes: object) -> ast.AST:
    new = copy.copy(node)
    new.__dict__.update(changes)
    return new


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def header(statement: ast.stmt) -> range:
    """Return the lines that run when the statement does: of a compound one, those of its head."""
    body = getattr(statement, "body", None)
    last = body[0].lineno if isinstance(body, list) and body else (statement.end_lineno or statement.lineno) + 1
    return range(statement.lineno, max(last, statement.lineno + 1))
