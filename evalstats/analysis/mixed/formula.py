"""A mixed model's formula taken apart: products of columns, random parts, and the response."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from evalstats.errors import InputError
from evalstats.record import record

Term = tuple[str, ...]  # columns of a product, in the order they were written; () is the intercept
INTERCEPT: Term = ()
_LONGEST = 5000
_DEEPEST = 40
_MOST_TERMS = 400
_MOST_POWER = 20
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`[^`\n]+`)|(?P<name>[^\W\d]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<symbol>\*\*|\|\||[-~+*/:^()|,.]))"
)
_HOW = "names, + - : * / ^, parentheses, 0 or 1, C(name), and random parts such as (1 | item)"


@record
class RandomPart:
    """One term of random effects with one full covariance matrix: `(1 + x | g)`.

    `effects` holds the products on the left without the intercept; `group` the columns whose combinations are the levels.
    """

    intercept: bool
    effects: tuple[Term, ...]
    group: Term

    @property
    def group_name(self) -> str:
        """Name of the grouping, such as "item:model"."""
        return ":".join(self.group)


@record
class Response:
    """The left-hand side: one column, or `cbind(successes, failures)`, or `cbind(successes, total - successes)`."""

    column: str
    failures: str | None = None
    total: str | None = None

    def __str__(self) -> str:
        if self.total is not None:
            return f"cbind({written(self.column)}, {written(self.total)} - {written(self.column)})"
        if self.failures is not None:
            return f"cbind({written(self.column)}, {written(self.failures)})"
        return written(self.column)


@record
class MixedFormula:
    """A formula taken apart.

    `fixed`: products of the fixed part without the intercept, by the number of columns and then as they were written. `random`:
    the random parts after `/` and `||` were written out. `as_factor`: columns that stand in C(): their values are levels,
    whatever their type.
    """

    text: str
    response: Response
    intercept: bool
    fixed: tuple[Term, ...]
    random: tuple[RandomPart, ...]
    as_factor: frozenset[str] = frozenset()

    @property
    def fixed_columns(self) -> Term:
        """Columns of the fixed part, as they come in the formula."""
        return columns_of(self.fixed)

    @property
    def effect_columns(self) -> Term:
        """Columns of the fixed part and of random slopes."""
        return columns_of((*self.fixed, *(effect for part in self.random for effect in part.effects)))

    @property
    def group_columns(self) -> Term:
        """Columns of the groupings."""
        return columns_of(part.group for part in self.random)

    def __str__(self) -> str:
        def product(term: Term) -> str:
            return ":".join(f"C({written(name)})" if name in self.as_factor else written(name) for name in term)

        def part(of: RandomPart) -> str:
            left = " + ".join(("1" if of.intercept else "0", *(product(effect) for effect in of.effects)))
            return f"({left} | {':'.join(written(name) for name in of.group)})"

        right = ["1" if self.intercept else "0", *map(product, self.fixed), *map(part, self.random)]
        return f"{self.response} ~ {' + '.join(right)}"


def term_name(term: Term) -> str:
    """Name of a product of columns: `model:scenario`; the intercept is `(Intercept)`."""
    return ":".join(term) if term else "(Intercept)"


def written(name: str) -> str:
    """Write a name as a formula has it: in backticks where it holds anything but letters, digits and _."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def columns_of(terms: Iterable[Term]) -> Term:
    """Return the columns of products, each once, in the order they come."""
    return tuple(dict.fromkeys(itertools.chain.from_iterable(terms)))


def parse_formula(text: str) -> MixedFormula:
    """Take a formula in lme4's notation apart.

    Understood are names of columns (in backticks where they hold anything but letters, digits and _), `+`, `-`, `:`, `*`,
    `/`, `^` or `**` with a whole number, parentheses, `0`, `1`, `C(name)` (or `factor(name)`) for a column whose numbers are
    levels, and random parts `(1 | g)`, `(1 + x | g)`, `(x || g)`, `(0 + f | g)`, `(1 | a/b)`, `(1 | a:b)`. The left-hand
    side is a column or `cbind(successes, failures)`. Nothing is evaluated: a formula cannot call anything. InputError if the
    formula holds anything else, or no response.

    References
    ----------
    Bates et al. 2015, doi:10.18637/jss.v067.i01; Wilkinson & Rogers 1973, doi:10.2307/2346786.

    >>> print(parse_formula("score ~ model * scenario + (1 | item) + (1 | suite/task)"))
    score ~ 1 + model + scenario + model:scenario + (1 | item) + (1 | suite) + (1 | suite:task)
    >>> print(parse_formula("rt ~ day + (day || subject)"))
    rt ~ 1 + day + (1 | subject) + (0 + day | subject)
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers may be untyped
        raise InputError(f"the formula is a {type(text).__name__}; give text such as 'score ~ model + (1 | item)'")
    if len(text) > _LONGEST:
        raise InputError(f"the formula has {len(text):,} characters; at most {_LONGEST:,} are read")
    return _Parser(text).formula()


@dataclass(slots=True)
class _Sum:
    """Products and random parts of a sum; `numbers` says whether 0 or 1 stood in it."""

    terms: list[Term] = field(default_factory=list[Term])
    intercept: bool = True
    random: list[RandomPart] = field(default_factory=list[RandomPart])
    numbers: bool = False

    def add(self, terms: Iterable[Term]) -> None:
        known = {frozenset(term) for term in self.terms}
        for term in terms:
            if frozenset(term) not in known:
                known.add(frozenset(term))
                self.terms.append(term)

    def remove(self, terms: Iterable[Term]) -> None:
        gone = {frozenset(term) for term in terms}
        self.terms = [term for term in self.terms if frozenset(term) not in gone]


class _Parser:
    """Recursive descent: sum of products of interactions of powers of names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        self.as_factor: set[str] = set()
        self.bare: set[str] = set()

    # What a formula is made of, from the whole to the name.

    def formula(self) -> MixedFormula:
        response = self._response()
        found = self._sum()
        if self._now() in ("|", "||"):
            self._fail(f"{self._shown()} stands outside parentheses; write a random part as (1 | item)")
        if self._now() is not None:
            self._fail(f"{self._shown()} is not expected here")
        if response.column in columns_of(found.terms):
            raise InputError(f"{response.column!r} stands on both sides of the '~'; a column cannot explain itself")
        both = sorted(self.as_factor & self.bare)
        if both:
            raise InputError(
                f"{both[0]!r} stands both bare and in C() in the formula; write C({both[0]}) in every place"
            )
        seen: set[tuple[frozenset[str], frozenset[str]]] = set()
        for part in found.random:
            for effect in [*([INTERCEPT] if part.intercept else []), *part.effects]:
                key = (frozenset(part.group), frozenset(effect))
                if key in seen:
                    raise InputError(
                        f"the random effect of {term_name(effect)} by {part.group_name} stands twice in the formula; two "
                        "variances of one effect cannot be told apart: leave one out"
                    )
                seen.add(key)
        return MixedFormula(
            text=self.text.strip(),
            response=response,
            intercept=found.intercept,
            fixed=tuple(sorted(found.terms, key=len)),
            random=tuple(found.random),
            as_factor=frozenset(self.as_factor),
        )

    def _response(self) -> Response:
        if "~" not in self.tokens:
            raise InputError(f"the formula {_short(self.text)} has no '~'; write it as 'score ~ model + (1 | item)'")
        if self._now() == "~":
            raise InputError(f"nothing stands before the '~' of {_short(self.text)}; name the column to be explained")
        if self._now() == "cbind":
            self._take("cbind")
            self._take("(")
            successes = self._name("the successes")
            self._take(",")
            second, total = self._name("the failures"), None
            if self._now() == "-":
                self._take("-")
                if self._name("the successes") != successes:
                    self._fail("cbind() understands (successes, failures) and (successes, total - successes)")
                total = second
            self._take(")")
            response = Response(column=successes, failures=None if total else second, total=total)
        else:
            response = Response(column=self._name("the response"))
        if self._now() != "~":
            self._fail(
                f"{self._shown()} stands before the '~'; the left-hand side is one column (compute a new one where it must be "
                "transformed) or cbind(successes, failures)"
            )
        self._take("~")
        return response

    def _sum(self) -> _Sum:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"parentheses are nested more than {_DEEPEST} deep")
        out = _Sum()
        sign = self._sign() or "+"
        while True:
            self._operand(out, sign)
            if len(out.terms) > _MOST_TERMS:
                self._fail(f"the formula stands for more than {_MOST_TERMS} terms")
            next_sign = self._sign()
            if next_sign is None:
                break
            sign = next_sign
        self.depth -= 1
        return out

    def _operand(self, out: _Sum, sign: str) -> None:
        """Add the next product to a sum, or take it away."""
        now = self._now()
        if now is not None and now[0].isdigit():
            number = self._pop()
            if number not in ("0", "1"):
                self._fail(f"the number {number} has no meaning here; only 0 and 1 (no intercept, an intercept) have")
            if self._now() in ("*", "/", ":", "^", "**"):
                self._fail(f"{number} can only be added or taken away, not combined by {self._now()!r}")
            out.intercept = (number == "1") == (sign == "+")
            out.numbers = True
            return
        found = self._product()
        if sign == "-":
            if found.random:
                self._fail("a random part cannot be taken away; leave it out")
            out.remove(found.terms)
            return
        out.add(found.terms)
        out.random.extend(found.random)

    def _product(self) -> _Sum:
        left = self._interaction()
        while self._now() in ("*", "/"):
            symbol = self._pop()
            right = self._interaction()
            self._plain(symbol, left, right)
            if symbol == "*":
                crossed = self._crossed(left.terms, right.terms)
                left.add(right.terms)
            else:
                crossed = self._crossed([columns_of(left.terms)], right.terms)
            left.add(crossed)
        return left

    def _interaction(self) -> _Sum:
        left = self._power()
        while self._now() == ":":
            self._pop()
            right = self._power()
            self._plain(":", left, right)
            crossed = self._crossed(left.terms, right.terms)
            left = _Sum()
            left.add(crossed)
        return left

    def _power(self) -> _Sum:
        found = self._primary()
        while self._now() in ("^", "**"):
            symbol = self._pop()
            self._plain(symbol, found)
            exponent = self._pop() if self._now() is not None else "nothing"
            if not exponent.isdigit() or not 1 <= int(exponent[:9]) <= _MOST_POWER:
                self._fail(f"{symbol} is followed by {exponent!r}; a whole number from 1 to {_MOST_POWER} is needed")
            base = list(found.terms)
            # Products beyond the number of terms bring nothing new: (a + b)^7 is (a + b)^2.
            for _ in range(min(int(exponent), len(base)) - 1):
                found.add(self._crossed(found.terms, base))
        return found

    def _primary(self) -> _Sum:
        if self._now() == "(":
            return self._parenthesis()
        name = self._factor_name()
        if name:
            self.as_factor.add(name)
        else:
            name = self._name("a column")
            self.bare.add(name)
        return _Sum(terms=[(name,)])

    def _parenthesis(self) -> _Sum:
        self._take("(")
        found = self._sum()
        if self._now() in ("|", "||"):
            split = self._pop() == "||"
            groups = self._groups()
            self._take(")")
            if found.random:
                self._fail("a random part stands inside another; add them: (1 | a) + (1 | b)")
            out = _Sum()
            out.random = [part for group in groups for part in self._parts(found, group, split=split)]
            return out
        self._take(")")
        if found.numbers:
            self._fail("0 and 1 can stand at the top of the formula or left of a '|', not inside other parentheses")
        return found

    def _groups(self) -> list[Term]:
        """Right of the bar: `a`, `a:b`, or `a/b`, which is a and a:b."""
        groups: list[Term] = []
        so_far: Term = ()
        while True:
            # The values of a grouping are levels anyway.
            so_far = columns_of([so_far, (self._factor_name() or self._name("a grouping"),)])
            if self._now() == ":":
                self._pop()
                continue
            groups.append(so_far)
            if self._now() != "/":
                break
            self._pop()
        if self._now() in ("+", "*", "-"):
            self._fail(
                f"{self._now()!r} stands right of a '|'; write one random part for each grouping: (1 | a) + (1 | b) + (1 | a:b)"
            )
        return groups

    def _factor_name(self) -> str:
        """Take C(name) and return the name; "" where no such call stands."""
        if self._now() not in ("C", "factor") or self.tokens[self.at + 1 : self.at + 2] != ["("]:
            return ""
        call = self._pop()
        self._take("(")
        name = self._name(f"{call}()")
        self._take(")")
        return name

    def _parts(self, left: _Sum, group: Term, *, split: bool) -> list[RandomPart]:
        effects = tuple(sorted(left.terms, key=len))
        if not effects and not left.intercept:
            self._fail(
                f"a random part of {':'.join(group)} has no effect; write (1 | {':'.join(group)}) for an intercept"
            )
        if not split:
            return [RandomPart(intercept=left.intercept, effects=effects, group=group)]
        parts = [RandomPart(intercept=True, effects=(), group=group)] if left.intercept else []
        return parts + [RandomPart(intercept=False, effects=(effect,), group=group) for effect in effects]

    # Rules.

    def _plain(self, symbol: str, *sides: _Sum) -> None:
        if any(side.random for side in sides):
            self._fail(f"a random part stands beside {symbol!r}; random parts can only be added")

    def _crossed(self, left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
        if len(left) * len(right) > _MOST_TERMS:
            self._fail(f"the formula stands for more than {_MOST_TERMS} terms")
        return [columns_of([a, b]) for a in left for b in right]

    # Tokens.

    def _now(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _pop(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def _sign(self) -> str | None:
        """Take a run of + and - and return what they come to, None where there is none."""
        sign = None
        while self._now() in ("+", "-"):
            minus = self._pop() == "-"
            sign = "-" if minus != (sign == "-") else "+"
        return sign

    def _take(self, wanted: str) -> None:
        if self._now() != wanted:
            self._fail(f"{self._shown()} stands where {wanted!r} is expected")
        self.at += 1

    def _name(self, what: str) -> str:
        now = self._now()
        if now is None or not (now[0] == "`" or now[0] == "_" or now[0].isalpha()):
            self._fail(f"{self._shown()} stands where {what} is expected")
        self.at += 1
        if self._now() == "(" and now[0] != "`":
            self._fail(f"{now}(...) is a call; a formula can call nothing but C(): compute a column first and name it")
        if self._now() == ".":
            self._fail(f"a dot follows {now!r}; put a name that holds a dot in backticks, such as `user.id`")
        return now.strip("`")

    def _shown(self) -> str:
        now = self._now()
        return "the end of the formula" if now is None else repr(now)

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"the formula {_short(self.text)} cannot be read: {what}. It may hold {_HOW}")


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            found = text[at:].lstrip()[:1]
            hint = (
                "an opening backtick has no closing one" if found == "`" else f"{found!r} has no meaning in a formula"
            )
            raise InputError(f"the formula {_short(text)} cannot be read: {hint}. It may hold {_HOW}")
        tokens.append(match.group().strip() if match["quoted"] is None else match["quoted"])
        at = match.end()
    return tokens


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 80 else f"{flat[:79]}…")
