"""Options of the questions: what each is, how the command line offers it, and what of a question's signature is one.

An option is declared where a question's function takes it: its name and its default stand in the signature, its type and its
help in the alias here that annotates it (`cluster: opt.Cluster = None`). The command and its help, what a result records of
its call, and the command that gives it again are made from the signature.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from numbers import Integral, Number
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from evalstats.errors import InputError, Option
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.schema.plan import LiveMix


# How the text of a flag becomes a value, where its type does not tell: A,B,C of names or metrics, or what a file holds.
Reads = Literal["", "text", "names", "metrics", "amount", "shares", "weights", "labels", "results", "aliases", "mix"]
OF_FILES = ("shares", "labels", "results", "aliases", "mix")


@dataclass(frozen=True, slots=True)
class Flag:
    """How the command line offers an option: help of one line, and the flags where they are not the option's own name.

    `flags` are "--metric -m", or "--yes/--no" for a choice of two; `metavar` stands for the value in the help. `names` are the
    options that name the column whose levels are given, () for names of models; None where the value names nothing in the data.
    Of several values, `alone` are words that stand by themselves. `section` is where the help lists the option, if not with
    those beside which it is declared. `of_columns` says that its words are standard columns, which a table may call otherwise.
    """

    help: str
    flags: str = ""
    metavar: str = ""
    reads: Reads = ""
    names: tuple[str, ...] | None = None
    alone: tuple[str, ...] = ()
    section: str = ""
    of_columns: bool = False


# What items share, what trials are, what is averaged: what an expert settles, and a first look leaves as it is.
_DesignFlag = partial(Flag, section="Design")


@record
class Offered:
    """An option of one question: a parameter of its function, with the type and the flag of its annotation."""

    name: str
    type: Any
    flag: Flag
    default: Any
    needed: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The option as it is typed: "--metric -m"; "--yes/--no" for a choice of two."""
        own = f"--{self.name.strip('_').replace('_', '-')}"
        return tuple(self.flag.flags.split()) or ((f"{own}/--no-{own[2:]}",) if self.default is True else (own,))

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have, without None."""
        parts = get_args(self.type) if get_origin(self.type) in (Union, UnionType) else (self.type,)
        return tuple(part for part in parts if part is not NoneType)

    @property
    def several(self) -> bool:
        """Whether the option takes several values, of which the command line gives one at a time."""
        return self.takes(Sequence) or (self.takes(Mapping) and self.flag.reads not in OF_FILES)

    @property
    def of_texts(self) -> bool:
        """Whether several values are texts, each given alone; several numbers stand in one, with commas between them."""
        return Sequence[str] in self.kinds

    def takes(self, kind: Any) -> bool:
        """Whether a value may be of a type, such as `Mapping`."""
        return any((get_origin(part) or part) is kind for part in self.kinds)


def offered(signature: inspect.Signature) -> Iterator[Offered]:
    """Yield the options of a question, in the order of its signature; data and listeners are none.

    >>> def ask(data: object, *, seed: Seed = 0) -> None: ...
    >>> [(each.name, each.flags, each.default) for each in offered(inspect.signature(ask))]
    [('seed', ('--seed',), 0)]
    """
    for each in signature.parameters.values():
        if get_origin(each.annotation) is Annotated:
            kind, flag = get_args(each.annotation)[:2]
            needed = each.default is inspect.Parameter.empty
            default = None if needed else each.default
            yield Offered(name=each.name, type=kind, flag=flag, default=default, needed=needed)


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """What a question was asked: every option of its function as an attribute, several values as a tuple."""

    signature: inspect.Signature
    values: Mapping[str, Any]
    question: str = ""

    @classmethod
    def of(cls, function: Callable[..., object], arguments: Mapping[str, Any]) -> "GivenOptions":
        """Take the options from the arguments of a call, as `locals()` has them when it begins.

        >>> def ask(data: object, *, cluster: Cluster = None, seed: Seed = 0) -> GivenOptions:
        ...     return GivenOptions.of(ask, locals())
        >>> asked = ask(..., cluster="user")
        >>> asked.cluster, asked.given(), asked.but(seed=1).seed
        (('user',), {'cluster': ('user',)}, 1)
        """
        signature = inspect.signature(function)
        several = {each.name for each in offered(signature) if each.takes(Sequence)}
        values = {
            name: _several(arguments[name]) if name in several else arguments[name]
            for name, each in signature.parameters.items()
            if each.kind is inspect.Parameter.KEYWORD_ONLY
        }
        return cls(signature, values, function.__name__)

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option."""
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    def but(self, **changes: Any) -> "GivenOptions":
        """Return the same with other values of some options."""
        return replace(self, values={**self.values, **changes})

    def names(self, **others: str | None) -> dict[str, Collection[str]]:
        """Return the names that the question uses, with those of `others`, as `as_data` takes them."""
        return asked_names(self.question, {**others, **self.values})

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults: what a call has to say."""
        defaults = {name: self.signature.parameters[name].default for name in self.values}
        return {
            name: value
            for name, value in self.values.items()
            # A table has no equality that could be asked for.
            if value is not defaults[name]
            and not (isinstance(value, str | int | float | tuple) and value == defaults[name])
        }


# Options that name columns of the data.
OF_COLUMNS = ("cluster", "by", "covariate", "over", "scenario", "contrast", "family", "object", "facets")


class UsedNames(NamedTuple):
    """Names of sides, metrics and columns that a question uses: they help to find the columns of a plain table."""

    sides: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()


def names_in(given: Mapping[str, Any]) -> UsedNames:
    """Return the names that options give, but those of standard columns.

    >>> names_in({"baseline": "old", "candidate": "new", "metric": "f1", "contrast": "model"})
    UsedNames(sides=('old', 'new'), metrics=('f1',), factors=())
    """

    def texts(*options: str) -> tuple[str, ...]:
        # A mapping names models, no columns.
        values: list[object] = [
            _several(value) for name in options if not isinstance(value := given.get(name), Mapping)
        ]
        found = (each for value in values if isinstance(value, tuple) for each in cast("tuple[object, ...]", value))
        return tuple(
            each
            for each in found
            if isinstance(each, str) and each not in {"model", "system", "item", "trial", "benchmark", "none"}
        )

    metrics = texts("metric")
    several = (part for each in metrics if "," in each for part in each.split(","))
    return UsedNames(texts("baseline", "candidate"), (*metrics, *several), texts(*OF_COLUMNS))


def asked_names(question: str, given: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """Return what a question says of its data before these are read, as `as_data` takes it: names that it uses, and its own.

    >>> asked_names("judges", {"humans": "human"})["humans"], asked_names("judges", {"humans": "ann"})["humans"]
    ((), ('ann',))
    """
    people = given.get("humans")
    humans = () if people in (None, "human", ("human",)) else _several(people)
    return {**names_in(given)._asdict(), "question": question, "humans": humans}


def check_value(option: Offered, value: Any) -> None:
    """Refuse a word that an option does not declare, and what is no level or seed; all else is its question's matter.

    >>> check_value(Offered(name="average", type=AverageKind | None, flag=Flag(""), default=None), "median")
    Traceback (most recent call last):
        ...
    evalstats.errors.InputError: average='median' is not known; choose one of macro, micro
    """
    if value is None:
        return
    given = Option(option.name, value if isinstance(value, str | int | float) else str(value))
    kind, *others = option.kinds
    if get_origin(kind) is Literal and not others and value not in get_args(kind):
        words = get_args(kind)
        own = f". A column of your own is taken for one of them with {Option('map', str(value), of=words[0])}"
        raise InputError(
            f"{given} is not known; choose one of {', '.join(words)}{own if option.flag.of_columns else ''}"
        )
    plain = [kind for kind in option.kinds if kind in _PLAIN]
    several = [kind for kind in option.kinds if get_origin(kind) in {Sequence, list, tuple}]
    listed = bool(several) and hasattr(value, "__iter__")
    if len(plain) + len(several) == len(option.kinds) and not listed and not any(_is_a(value, each) for each in plain):
        words = [*(_PLAIN[kind] for kind in plain), *(["several"] if several else [])]
        raise InputError(f"{option.name}={value!r} cannot be; give {' or '.join(words)}")
    if option.name == "conf_level" and (isinstance(value, str) or not 0.5 < value < 1):
        raise InputError(f"{given} is no level of an interval; it must lie above 0.5 and below 1, such as 0.95")
    if option.name == "seed" and (not isinstance(value, Integral) or int(value) < 0):
        raise InputError(f"{given} is no seed; give a whole number from 0")


_PLAIN: Final = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}


def _is_a(value: object, kind: type) -> bool:
    """Whether a value may stand for one of a plain type: any number for a number, and 0 and 1 for truth values."""
    is_truth = type(value).__name__ in {"bool", "bool_"}
    if kind is bool or is_truth:
        return kind is bool and (is_truth or (isinstance(value, Integral) and int(value) in {0, 1}))
    return isinstance(value, str) if kind is str else isinstance(value, Number) and not isinstance(value, complex)


def _several(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(cast("Iterable[object]", value)) if isinstance(value, Iterable) else value


# --- the score, and what is compared ---

RunsAre = Literal["sample", "fixed", "draws"]
AverageKind = Literal["macro", "micro"]
MissingAre = Literal["bounded", "ignorable"]

Metric = Annotated[str | None, Flag("Metric to use; default: the benchmark's headline metric.", "--metric -m")]
Metrics = Annotated[
    str | list[str] | tuple[str, ...] | None,
    Flag(
        "Metric to compare, or several as one family: A,B; default: the headline, else all.",
        "--metric -m",
        reads="metrics",
    ),
]
LabMetric = Annotated[str | None, Flag("Metric to use for the lab.", metavar="METRIC")]
LiveMetric = Annotated[str | None, Flag("Metric to use for live data.", metavar="METRIC")]
HigherIsBetter = Annotated[
    bool | None,
    _DesignFlag(
        "Direction of the metric, if neither files nor plan declare it.", "--higher-is-better/--lower-is-better"
    ),
]
Baseline = Annotated[str | None, Flag("Run, system or model to compare with.", names=("contrast",))]
Candidate = Annotated[str | None, Flag("Run, system or model under test.", names=("contrast",))]
System = Annotated[str | None, Flag("Run, system or model; default: all.", "--system", names=("contrast",))]
Head = Annotated[str | None, Flag("Compare all others with this model.", names=("contrast",))]
PilotBaseline = Annotated[str | None, Flag("One system of the pilot.", names=("contrast",))]
PilotCandidate = Annotated[str | None, Flag("The other system of the pilot.", names=("contrast",))]
Models = Annotated[
    Sequence[str] | None, Flag("Models to keep: A,B,C; default: all.", reads="names", names=("contrast", "object"))
]
Contrast = Annotated[str, _DesignFlag("Column that names the sides: model, run or another one.")]
EntryContrast = Annotated[str, _DesignFlag("Column that names the entries: model, run or another one.")]
Paired = Annotated[
    bool | None,
    _DesignFlag(
        "Whether both sides answered the same items; default: unpaired if rows are numbered or users met one side each.",
        "--paired/--unpaired",
    ),
]
PlannedPaired = Annotated[
    bool | None,
    _DesignFlag(
        "Whether both sides answer the same items; unpaired: different users, sized per side.", "--paired/--unpaired"
    ),
]
Covariate = Annotated[str | None, _DesignFlag("Pre-assignment covariate to adjust for, if unpaired.")]
Accept = Annotated[
    Sequence[str], _DesignFlag("Setting in which the runs differ on purpose; may be repeated.", metavar="SETTING")
]
Ratio = Annotated[
    str | None,
    _DesignFlag("Assignment ratio of users, such as 60:40, if unpaired: whether they were split so.", metavar="A:B"),
]
By = Annotated[str | None, Flag("Factor to split by, as one family.")]

# --- what is drawn together, and what a trial is ---

Cluster = Annotated[
    str | Sequence[str] | None,
    _DesignFlag(
        "Cluster column; may be repeated; none: items are independent.",
        "--cluster -c",
        alone=("none",),
    ),
]
VoteCluster = Annotated[
    str | Sequence[str] | None,
    _DesignFlag(
        "Cluster column, such as rater; may be repeated; auto: all that the votes have; none: votes are independent; "
        "default: auto, or these prompts only if there are too few prompts.",
        "--cluster -c",
        alone=("auto", "none"),
    ),
]
EitherCluster = Annotated[
    str | Sequence[str] | None,
    _DesignFlag(
        "Cluster column, on the side that has it; may be repeated.",
        "--cluster -c",
        metavar="COLUMN",
        alone=("auto", "none"),
    ),
]
LabCluster = Annotated[
    str | Sequence[str] | None, _DesignFlag("Cluster column of the lab.", metavar="COLUMN", alone=("auto", "none"))
]
LiveCluster = Annotated[
    str | Sequence[str] | None,
    _DesignFlag("Cluster column of the live side.", metavar="COLUMN", alone=("auto", "none")),
]
RunCluster = Annotated[
    str | None,
    _DesignFlag("Cluster column within a run (an environment, a session).", "--cluster -c"),
]
PassHat = Annotated[int | None, _DesignFlag("Report pass^K: all of K trials succeed.", metavar="K")]
PassAt = Annotated[int | None, _DesignFlag("Report pass@K: any of K trials succeeds.", metavar="K")]
SharedTrials = Annotated[
    bool | None,
    _DesignFlag(
        "Whether trial k is the same judge or seed on all sides; default: if judges or seeds have the same names.",
        "--shared-trials/--independent-trials",
    ),
]
Runs = Annotated[
    RunsAre | None,
    _DesignFlag(
        "What trials are: draws of one run, a sample of runs (judges, seeds), or the only runs of interest (fixed); default: "
        "inferred from the column that names them.",
        metavar="sample|fixed|draws",
    ),
]
RunSd = Annotated[
    float | str | None,
    _DesignFlag("Standard deviation between runs, if known: 1.4pp; prior:2pp: the scale of its prior.", metavar="SD"),
]
Missing = Annotated[
    MissingAre | None,
    _DesignFlag(
        "ignorable: scores are missing for reasons unrelated to the answers; bounded (default): they could have any value.",
        metavar="bounded|ignorable",
    ),
]
Average = Annotated[
    AverageKind | None, _DesignFlag("macro: tasks (scenarios, subjects) are weighted equally; micro: items.")
]
Over = Annotated[
    str | None,
    _DesignFlag(
        "Factor to average over; default: the first of task, scenario, subject, category with several levels.",
        "--average-over",
        metavar="FACTOR",
    ),
]
Weights = Annotated[
    Mapping[str, float] | None,
    _DesignFlag(
        "Weight of each level, instead of --average: CSV (level,share) or TOML.",
        metavar="FILE",
        reads="shares",
        names=("over", "scenario"),
    ),
]

# --- the interval, and what is drawn ---

Margin = Annotated[float | str | None, Flag("Largest difference that does not matter, such as 2pp.")]
ConfLevel = Annotated[float, Flag("Confidence level.")]
PlannedLevel = Annotated[float | None, Flag("Confidence level; default: 0.95, or the plan's.")]
Resamples = Annotated[int, _DesignFlag("Number of bootstrap resamples.", "--resamples")]
Seed = Annotated[int, _DesignFlag("Random seed.")]
Top = Annotated[Sequence[int], Flag("Report which models may be among the K best; may be repeated.", metavar="K")]

AddPosterior = Annotated[
    bool, Flag("Add P(better), credible intervals and expected losses, under several priors, beside the intervals.")
]

# --- compare ---

IntervalMethod = Literal["auto", "tango", "augmented-t", "t", "cr2"]
Method = Annotated[IntervalMethod, _DesignFlag("Interval method.")]
Sequential = Annotated[bool, _DesignFlag("Use an interval that is valid at every look during the run.")]
PlannedN = Annotated[int | None, _DesignFlag("With --sequential: planned number of items (or clusters).")]
Labels = Annotated[
    object | None,
    _DesignFlag(
        "Human labels for a sample of the items, to correct a judge: item, model, value.",
        metavar="FILE",
        reads="labels",
    ),
]

# --- score ---

Against = Annotated[float | str | None, Flag("Published number to compare the score with, such as 0.87 or 87%.")]
AgainstN = Annotated[int | None, Flag("Number of items behind the published number.")]
AgainstSe = Annotated[float | str | None, Flag("Standard error of the published number.")]

# --- leaderboard and frontier ---

# How p is adjusted for a family of pairs; leaving it out is no choice, since ranks are read as a family.
Adjustment = Literal["max-t", "holm", "bh", "by"]
Cost = Literal["cost_usd", "latency_s", "output_tokens", "input_tokens", "n_turns"]

Adjust = Annotated[
    Adjustment | None,
    _DesignFlag("Adjustment of p-values for all pairs; default: max-t, or the plan's.", metavar="max-t|holm|bh|by"),
]
Spent = Annotated[
    Cost,
    Flag(
        "Cost, lower is better: cost_usd, latency_s, output_tokens, input_tokens or n_turns.",
        metavar="COST",
        reads="text",
        of_columns=True,
    ),
]

# --- items ---

IrtKind = Literal["2pl", "1pl"]

FormSize = Annotated[int | None, Flag("Items of the short form; default: 100, or a fifth of fewer than 500.")]
IrtModel = Annotated[IrtKind, _DesignFlag("Curves: 2pl, a slope for each item; 1pl, one slope for all.")]
NewAnswers = Annotated[
    object | None,
    Flag("Results of new models on some of the items: their scores on all.", metavar="FILE", reads="results", names=()),
]
ModelFamily = Annotated[
    str | Mapping[str, str] | None,
    Flag(
        "Column with each model's family, or families by name, may be repeated: name the items on which they differ.",
        metavar="COLUMN|MODEL=FAMILY",
    ),
]

# --- reliability ---

MeasuredObject = Annotated[str, Flag("Column whose levels are told apart: model, system or another.")]
Facets = Annotated[
    str | Sequence[str] | None,
    Flag(
        "What a score could have had another level of: item, trial, judge, benchmark or another column; may be repeated; "
        "default: item, and trial if there are several.",
        "--facet",
        metavar="COLUMN",
    ),
]
FixedFacets = Annotated[
    str | Sequence[str],
    _DesignFlag("Facet whose levels are the only ones of interest; may be repeated.", "--fixed", metavar="COLUMN"),
]

# --- scenarios ---

As = Literal["fixed", "random"]

Formula = Annotated[
    str | None,
    _DesignFlag("Model in lme4's notation, such as 'score ~ model * scenario + (1|item)'; default: from the data."),
]
Scenario = Annotated[
    str | None,
    Flag("Column that names the scenarios; default: scenario, else the only one that could.", metavar="COLUMN"),
]
ScenarioReference = Annotated[
    str | None,
    _DesignFlag(
        "Reference scenario, or average; default: the scenario of ideal users, else average.",
        metavar="LEVEL",
        names=("scenario",),
    ),
]
ScenarioWeights = Annotated[
    str | Mapping[str, float],
    _DesignFlag(
        "Weights of scenarios in a model's mean: equal, observed, or a mix LEVEL=SHARE,LEVEL=SHARE,...",
        metavar="WEIGHTS",
        reads="weights",
        names=("scenario",),
    ),
]
ScenariosAre = Annotated[
    As | None, _DesignFlag("Treat scenarios as fixed, or as a random sample; default: fixed up to 8.", "--as")
]
Bootstrap = Annotated[
    int | None, _DesignFlag("Parametric bootstrap draws; 0: none; default: from the data.", "--bootstrap")
]

# --- arena ---

# As the likelihood has them; named here too, so that the options load no numbers.
Ties = Literal["half", "davidson", "rao-kupper"]
RatingScale = Literal["elo", "log-odds"]
BothBad = Literal["tie", "drop"]

TiesAre = Annotated[Ties, _DesignFlag("Model for ties: half a win for each side, or a separate outcome.")]
Covariates = Annotated[
    str | Sequence[str] | None,
    _DesignFlag(
        "Adjust for the columns NAME_a and NAME_b; may be repeated; auto: style (length, headers, lists and bold), if the "
        "votes have it.",
        "--covariate",
        metavar="NAME",
        alone=("auto",),
    ),
]
Side = Annotated[bool, _DesignFlag("Adjust for the side, or the order shown.")]
Within = Annotated[str | None, Flag("Column whose levels get separate ratings (scenario, tags).")]
BothBadAre = Annotated[BothBad, _DesignFlag("How ratings treat a vote that both are bad.")]
Prior = Annotated[
    float | None,
    _DesignFlag("Wins and losses to add to each model, such as 0.5, if votes do not connect all.", metavar="WINS"),
]
Anchor = Annotated[
    str | None, Flag("Reference model of the ratings; default: the mean of all.", metavar="MODEL", names=())
]
RatedOn = Annotated[RatingScale, _DesignFlag("Scale of ratings.")]
VoteResamples = Annotated[
    int | None, _DesignFlag("Number of cluster bootstrap resamples, in addition to the intervals.", "--resamples")
]
Checks = Annotated[bool, _DesignFlag("Check fit, suspicious votes and drift, which takes longer.")]
VoteLabels = Annotated[
    object | None,
    _DesignFlag("Human votes on a random sample of the battles, to correct a judge.", metavar="FILE", reads="results"),
]
WithoutSuspects = Annotated[bool, _DesignFlag("Drop the votes that the checks flag, and report how many.")]

# --- gap ---

# What statistical offices ask for most often.
MIN_CELL = 10
GapScale = Literal["auto", "logit", "identity"]

SameScale = Annotated[
    bool | None,
    _DesignFlag(
        "Whether live minus lab is meaningful; default: if both measure the same thing in the same unit.",
        "--same-scale/--other-scale",
    ),
]
SetAgainstOn = Annotated[
    GapScale,
    _DesignFlag("Scale of proportions; auto: logit against ratings and for curved relations, else identity."),
]
MixFactors = Annotated[
    str | Sequence[str] | None,
    _DesignFlag("Factor that defines the mix, such as scenario; may be repeated.", metavar="FACTOR"),
]
GapMargin = Annotated[
    float | str | None,
    Flag("Largest gap that does not matter: 5pp, or a number in the live unit.", metavar="M"),
]
TopLive = Annotated[Sequence[int], Flag("Also report agreement among the K best live; may be repeated.", metavar="K")]
MinCell = Annotated[int, _DesignFlag("Withhold live cells with fewer users than this.")]
Aliases = Annotated[
    Mapping[str, str] | None,
    _DesignFlag(
        "Names of the same model: TOML, CSV with two columns, JSON.", metavar="FILE", reads="aliases", names=()
    ),
]
Mix = Annotated[
    "LiveMix | Mapping[str, float] | None",
    _DesignFlag(
        "Live mix, if live rows have no labels for it; rutbench: the mix surveyed for RUT-Bench.",
        metavar="FILE|rutbench",
        reads="mix",
        names=(),
    ),
]

# --- judges ---

RatingKind = Literal["auto", "nominal", "ordinal", "interval", "ratio"]

Humans = Annotated[
    str | Sequence[str],
    Flag(
        "Rater whose ratings are the truth, by name; may be repeated; default: all that the data call human; without any, all "
        "raters are compared.",
        metavar="NAME",
        names=(),
    ),
]
Criterion = Annotated[str | None, Flag("Rated criterion; required if there are several.")]
RatingsAre = Annotated[RatingKind, _DesignFlag("Measurement level of the ratings.")]
LabelWidth = Annotated[
    float | str | None,
    Flag("Half-width wanted for a score, to plan the number of labels (0.2, or 5pp).", metavar="AMOUNT"),
]
LabelMargin = Annotated[
    float | str | None,
    Flag("Difference of two models to detect with 80% power, to plan the number of labels.", metavar="AMOUNT"),
]
Families = Annotated[
    Mapping[str, str] | None,
    _DesignFlag(
        "Maker of a judge or model, if the name does not show it; may be repeated.",
        "--family",
        metavar="NAME=FAMILY",
        names=(),
    ),
]

# --- audit ---

AllMetrics = Annotated[bool, Flag("Audit every metric, not only the headline.")]

# --- contamination ---

Alternative = Literal["two-sided", "greater"]
InflationScale = Literal["auto", "latent", "points"]

Split = Annotated[str | None, Flag("Column that separates old from new items.", metavar="COLUMN")]
Old = Annotated[
    str | Sequence[str] | None,
    Flag(
        "Level of old, public items, or, with --twin, of originals; may be repeated.",
        metavar="LEVEL",
        names=("split", "twin"),
    ),
]
New = Annotated[
    str | Sequence[str] | None,
    Flag(
        "Level of new, held-out items, or, with --twin, of rephrased items; may be repeated.",
        metavar="LEVEL",
        names=("split", "twin"),
    ),
]
Date = Annotated[str | None, Flag("Column with each item's date.", metavar="COLUMN")]
Twin = Annotated[
    str | None,
    Flag("Column that marks rephrased items, or names the original of each.", metavar="COLUMN"),
]
Suspects = Annotated[
    str | Sequence[str] | None,
    Flag("Suspected model; may be repeated; default: all.", "--suspect", metavar="MODEL", reads="names", names=()),
]
References = Annotated[
    str | Sequence[str] | None,
    Flag(
        "Model known to be clean; may be repeated; default: all others.",
        "--reference",
        metavar="MODEL",
        reads="names",
        names=(),
    ),
]
Cutoffs = Annotated[
    Mapping[str, str | date] | None,
    Flag("Training cutoff of a model; may be repeated.", "--cutoff", metavar="MODEL=DATE", names=()),
]
InflationMargin = Annotated[
    float | str | None, Flag("Largest inflation that does not matter: 5pp, or a number.", metavar="M")
]
InflationOn = Annotated[
    InflationScale,
    _DesignFlag("latent: abilities, for models of different strength; points; default: latent for right or wrong."),
]
AlternativeIs = Annotated[Alternative, _DesignFlag("greater: one-sided, if declared in advance.")]

# --- overview ---

Since = Annotated[
    str | date | None,
    Flag("Compare later runs with those up to this day, and test no other change.", metavar="YYYY-MM-DD"),
]

# --- power ---

Delta = Annotated[float | str | None, Flag("True difference that matters, such as 3pp.")]
NItems = Annotated[int | None, Flag("Number of items available.", "--n --items")]
NClusters = Annotated[int | None, Flag("Number of clusters available.", "--clusters")]
NTrials = Annotated[
    float | tuple[float, float] | None,
    Flag("Trials per item: 3, or 3,5 for baseline and candidate.", "--trials", metavar="TEXT"),
]
PlannedRunSd = Annotated[
    float | str | None,
    _DesignFlag("Standard deviation between runs, such as 1.4pp, if trials are runs."),
]
Discordance = Annotated[
    float | None,
    _DesignFlag(
        "No pilot: proportion of items that exactly one of the two gets right, such as 20%.",
        metavar="TEXT",
        reads="amount",
    ),
]
Accuracy = Annotated[
    float | None, _DesignFlag("No pilot: accuracy of the baseline, such as 70%.", metavar="TEXT", reads="amount")
]
Variance = Annotated[
    float | Mapping[str, float] | None,
    _DesignFlag(
        "No pilot: variance of item differences; or, repeated, its parts item=, trial=, cluster=.", metavar="TEXT"
    ),
]
Icc = Annotated[float | None, _DesignFlag("No pilot: correlation of differences within a cluster.")]
ClusterSize = Annotated[float | None, _DesignFlag("Mean number of items per cluster.")]
ClusterCv = Annotated[float, _DesignFlag("Coefficient of variation of the cluster size.")]
PowerTest = Literal["difference", "noninferiority", "equivalence", "precision"]
Test = Annotated[PowerTest, Flag("Aim of the study; precision: a half-width to reach.")]
HalfWidth = Annotated[float | str | None, Flag("Half-width of the interval to reach.")]
Power = Annotated[float, Flag("Target power.")]
Costs = Annotated[
    Mapping[str, float] | None,
    Flag("Cost per unit: item=, trial= or cluster=; may be repeated.", "--cost", metavar="TEXT"),
]
PlanningMethod = Literal["auto", "exact", "miller", "t", "clusters", "simulation"]
PowerMethod = Annotated[PlanningMethod, _DesignFlag("Method for computing power.")]
Simulations = Annotated[int, _DesignFlag("Number of simulated comparisons.", "--resamples")]
SimulationSeed = Annotated[int, _DesignFlag("Random seed of simulations.")]
