"""Simulated results of the device-repair benchmark: rows in the format that evalstats assumes, whose truth is known.

Published are the numbers of questions, domains, languages, models and criteria, that phone repair is hardest and asks most
of safety, and that Bangla is below English. Everything else is made up from `RepairEffects`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalstats.errors import InputError
from evalstats.simulate.draws import (
    check_known,
    check_share,
    check_spread,
    draw_points,
    expected_points,
    generator,
    write_rows,
)
from evalstats.simulate.rutbench_truth import apportion

N_QUESTIONS = 991
DOMAINS = ("phone_repair", "computer_repair", "data_recovery")
LANGUAGES = ("en", "bn")
CRITERIA = ("correctness", "completeness", "practicality", "safety")
JUDGE = "simulated-judge"

# Invented: how many questions each domain has.
DOMAIN_COUNTS: Mapping[str, int] = MappingProxyType({"phone_repair": 433, "computer_repair": 357, "data_recovery": 201})
# Invented: the scale, and the logits at which a judge gives one point more.
LOWEST, HIGHEST = 1, 5
CUTS = (-2.2, -0.8, 0.6, 2.0)
# Invented, as shares of rows and of scores.
JUDGE_ERROR_RATE, MISSING_RATE = 0.004, 0.003

Floats = NDArray[np.float64]


def _by(names: Iterable[str], *values: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(names, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairEffects:
    """Effects on the logit of one point more. All are invented; published is only which domain and language are hardest.

    logit P(points > k) = model + criterion + domain + language + (safety of phones) + question + question x language
    + question x criterion + question x model + domain x model + language x model + answer - cut k.

    `domain`, `language` and `criterion` are fixed, and so is `phone_safety`, which is added to safety in phone repair.
    The `sd_` fields are standard deviations of normal effects. Those without `model` are drawn once for a seed and shared
    by all models; those with it are drawn for each model; `answer` is drawn anew in every run and shared by the four
    criteria of an answer.
    """

    domain: Mapping[str, float] = field(default_factory=lambda: _by(DOMAINS, -0.5, 0.3, 0.0))
    language: Mapping[str, float] = field(default_factory=lambda: _by(LANGUAGES, 0.0, -0.6))
    criterion: Mapping[str, float] = field(default_factory=lambda: _by(CRITERIA, 0.0, -0.3, 0.1, 0.6))
    phone_safety: float = -0.4
    sd_question: float = 0.9
    sd_question_language: float = 0.3
    sd_question_criterion: float = 0.3
    sd_question_model: float = 0.5
    sd_domain_model: float = 0.1
    sd_language_model: float = 0.1
    sd_answer: float = 0.6

    def __post_init__(self) -> None:
        check_known("domain", self.domain, DOMAINS)
        check_known("language", self.language, LANGUAGES)
        check_known("criterion", self.criterion, CRITERIA)
        names = ("question", "question_language", "question_criterion", "question_model", "domain_model")
        check_spread(**{f"sd_{name}": getattr(self, f"sd_{name}") for name in (*names, "language_model", "answer")})


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairModel:
    """A model that is made up: its name and ability, in logits of a point.

    Examples
    --------
    >>> RepairModel(name="mine", ability=0.5).ability
    0.5
    """

    name: str
    ability: float

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("the model's name is empty; give it one")
        if not abs(self.ability) <= 20:
            raise InputError(f"ability of {self.name!r} is {self.ability:g}; give logits from -20 to 20")


def simulated_repair_models() -> tuple[RepairModel, ...]:
    """Return the six simulated models, best first; their abilities are invented.

    Examples
    --------
    >>> [model.name for model in simulated_repair_models()][:2]
    ['sim-model-1', 'sim-model-2']
    """
    abilities = (1.7, 1.3, 1.1, 0.6, 0.2, -0.3)
    return tuple(RepairModel(name=f"sim-model-{n}", ability=ability) for n, ability in enumerate(abilities, start=1))


class RepairOptions(TypedDict, total=False):
    """Further options of `simulate_devicerepair`, `write_devicerepair` and `devicerepair_truth`.

    `n_questions`: 991 if not given. `run`: which repetition on the same questions (default 0). `effects`: the model of the
    truth. `judge_error_rate`: share of rows without a judgment; `missing_rate`: share of single scores that are missing.
    """

    n_questions: int
    run: int
    effects: RepairEffects
    judge_error_rate: float
    missing_rate: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draw:
    """One model on all questions.

    `domain` has shape (n_questions,), everything else (n_questions, 2, 4): questions, languages, criteria. `given` marks
    the points that are in the file, `judged`, of shape (n_questions, 2), the answers that the judge did not fail on.
    """

    domain: NDArray[np.int64]
    expected: Floats
    points: NDArray[np.int64]
    given: NDArray[np.bool_]
    judged: NDArray[np.bool_]


def simulate_devicerepair(
    model: str | RepairModel, *, seed: int = 0, **options: Unpack[RepairOptions]
) -> list[dict[str, object]]:
    """Simulate one model's answers to all questions in both languages, each judged by four criteria from 1 to 5.

    Parameters
    ----------
    model
        Name of a simulated model (`simulated_repair_models`), or a `RepairModel` of your own.
    seed
        Seed of the questions and of everything drawn. The questions, and how hard each is for all models, depend on the
        seed alone, so that files of several models pair up.
    **options
        See `RepairOptions`.

    Returns
    -------
    list of dict
        One row for each question and language, in the columns that the devicerepair loader assumes; each says that it is
        simulated.

    Raises
    ------
    InputError
        If no simulated model has the name, or a number is out of range.

    Examples
    --------
    >>> rows = simulate_devicerepair("sim-model-1")
    >>> len(rows), rows[0]["question_id"], rows[0]["domain"], rows[1]["language"]
    (1982, 'ph_0001', 'phone_repair', 'bn')
    """
    known = repair_model_named(model)
    return list(_rows(known, _draw(known, seed, options), seed))


def write_devicerepair(
    folder: str | Path,
    models: Iterable[str | RepairModel] | None = None,
    *,
    seed: int = 0,
    **options: Unpack[RepairOptions],
) -> list[Path]:
    """Write one file of simulated results for each model (by default all six): `<model>_device_repair.jsonl`.

    Same models, seed and options: same bytes.

    Raises
    ------
    InputError
        As `simulate_devicerepair`; or if two models would share a file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_devicerepair(folder, ["sim-model-3"], n_questions=3)]
    ['sim-model-3_device_repair.jsonl']
    """
    chosen = [repair_model_named(model) for model in (simulated_repair_models() if models is None else models)]
    files = [(model.name, simulate_devicerepair(model, seed=seed, **options)) for model in chosen]
    return write_rows(folder, files, ending="device_repair")


def devicerepair_truth(
    models: Iterable[str | RepairModel] | None = None, *, seed: int = 0, **options: Unpack[RepairOptions]
) -> pl.DataFrame:
    """Return what the simulated rows are drawn from: the expected points by domain, language and criterion.

    Returns
    -------
    polars.DataFrame
        One row per model, domain, language and criterion: `model`, `scenario` (the domain), `language`, `metric` (the
        criterion), `expected` (mean over this seed's questions of the expected points), `mean_score` (mean of the points
        that are in the file), `n_items` (how many these are), `n_questions` (all questions of the domain).

    Examples
    --------
    >>> truth = devicerepair_truth(["sim-model-1"])
    >>> truth.height, bool((truth["expected"] > 1).all() and (truth["expected"] < 5).all())
    (24, True)
    """
    chosen = [repair_model_named(model) for model in (simulated_repair_models() if models is None else models)]
    return pl.DataFrame([row for model in chosen for row in _truth(model, _draw(model, seed, options))])


def repair_model_named(model: str | RepairModel) -> RepairModel:
    """Return the simulated model of that name, or the model itself.

    Raises
    ------
    InputError
        If there is none of that name; the message lists all.
    """
    if isinstance(model, RepairModel):
        return model
    found = next((known for known in simulated_repair_models() if known.name == model), None)
    if found is None:
        names = ", ".join(known.name for known in simulated_repair_models())
        raise InputError(
            f"no simulated model is called {model!r}; known are {names}; or pass RepairModel(name=..., ability=...)"
        )
    return found


def question_domains(n_questions: int = N_QUESTIONS) -> NDArray[np.int64]:
    """Return each question's domain as an index into `DOMAINS`, shape (n_questions,).

    Raises
    ------
    InputError
        If there is no question.

    Examples
    --------
    >>> np.bincount(question_domains()).tolist()
    [433, 357, 201]
    """
    if n_questions < 1:
        raise InputError(f"n_questions is {n_questions}; a benchmark needs at least one question")
    return np.repeat(np.arange(len(DOMAINS)), apportion(list(DOMAIN_COUNTS.values()), n_questions))


def linear_predictor(model: RepairModel, domain: NDArray[np.int64], effects: RepairEffects, *, seed: int) -> Floats:
    """Logit of one point more at a cut of 0, without the answer's own effect; shape (n_questions, 2, 4)."""
    n = domain.size
    shared = generator(seed, "device-repair", "effects")
    own = generator(seed, "device-repair", "effects", model.name)
    question = effects.sd_question * shared.standard_normal(n)
    by_language = effects.sd_question_language * shared.standard_normal((n, len(LANGUAGES)))
    by_criterion = effects.sd_question_criterion * shared.standard_normal((n, len(CRITERIA)))
    question = question + effects.sd_question_model * own.standard_normal(n)
    of_domain = np.array([effects.domain[name] for name in DOMAINS])
    of_domain = of_domain + effects.sd_domain_model * own.standard_normal(len(DOMAINS))
    of_language = np.array([effects.language[name] for name in LANGUAGES])
    of_language = of_language + effects.sd_language_model * own.standard_normal(len(LANGUAGES))
    of_criterion = np.array([effects.criterion[name] for name in CRITERIA])
    phone_safety = np.zeros((n, len(CRITERIA)))
    phone_safety[domain == DOMAINS.index("phone_repair"), CRITERIA.index("safety")] = effects.phone_safety
    per_question = model.ability + of_domain[domain] + question
    per_criterion = of_criterion + by_criterion + phone_safety
    return per_question[:, None, None] + (of_language + by_language)[:, :, None] + per_criterion[:, None, :]


def _draw(model: RepairModel, seed: int, options: RepairOptions) -> _Draw:
    error_rate = options.get("judge_error_rate", JUDGE_ERROR_RATE)
    missing_rate = options.get("missing_rate", MISSING_RATE)
    check_share("judge_error_rate", error_rate)
    check_share("missing_rate", missing_rate)
    effects = options.get("effects", RepairEffects())
    domain = question_domains(options.get("n_questions", N_QUESTIONS))
    eta = linear_predictor(model, domain, effects, seed=seed)
    noise = generator(seed, "device-repair", "noise", model.name, str(options.get("run", 0)))
    answer = effects.sd_answer * noise.standard_normal(eta.shape[:2])
    points = draw_points(eta + answer[:, :, None] + noise.logistic(size=eta.shape), CUTS, lowest=LOWEST)
    lost = generator(seed, "device-repair", "judge", model.name, str(options.get("run", 0)))
    judged = lost.random(eta.shape[:2]) >= error_rate
    return _Draw(
        domain=domain,
        expected=expected_points(eta, CUTS, sd=effects.sd_answer, lowest=LOWEST),
        points=points,
        given=judged[:, :, None] & (lost.random(eta.shape) >= missing_rate),
        judged=judged,
    )


def _truth(model: RepairModel, draw: _Draw) -> Iterator[dict[str, object]]:
    for place, domain in enumerate(DOMAINS):
        which = draw.domain == place
        if not which.any():
            continue
        for language, tongue in enumerate(LANGUAGES):
            for criterion, metric in enumerate(CRITERIA):
                given = draw.given[which, language, criterion]
                points = draw.points[which, language, criterion][given]
                yield {
                    "model": model.name,
                    "scenario": domain,
                    "language": tongue,
                    "metric": metric,
                    "expected": float(draw.expected[which, language, criterion].mean()),
                    "mean_score": float(points.mean()) if points.size else None,
                    "n_items": int(given.sum()),
                    "n_questions": int(which.sum()),
                }


def _rows(model: RepairModel, draw: _Draw, seed: int) -> Iterator[dict[str, object]]:
    said = f"by evalstats, seed {seed}; the design is published, all scores are invented"
    for question in range(draw.domain.size):
        domain = DOMAINS[int(draw.domain[question])]
        for place, language in enumerate(LANGUAGES):
            points, given = draw.points[question, place].tolist(), draw.given[question, place].tolist()
            scores = {
                name: point if there else None for name, point, there in zip(CRITERIA, points, given, strict=True)
            }
            yield {
                "question_id": f"{domain[:2]}_{question + 1:04d}",
                "domain": domain,
                "language": language,
                "model": model.name,
                **scores,
                "score_min": LOWEST,
                "score_max": HIGHEST,
                "judge": JUDGE,
                "judge_error": None if draw.judged[question, place] else "simulated failure of the judge",
                "simulated": said,
            }
