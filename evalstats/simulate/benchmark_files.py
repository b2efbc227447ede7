"""Result files of four benchmarks: two simulated in the formats that evalstats assumes, two expanded from published counts.

Published of HarmAmp are the numbers of plans and two rates of one model; of device repair the numbers of questions, domains,
languages, models and criteria, that phone repair is hardest and asks most of safety, and that Bangla is below English.
Everything else of these two is invented; design/simulated-harm-and-repair.md lists it. What a seed holds (plans, questions,
how hard each is for all models) depends on the seed alone, so that files of several models pair up.

The outcomes of Tenacious-Bench and of tau-bench's airline are the figures that evalstats ships, as files to read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from scipy.special import expit

from evalstats.datasets.tables import harmamp_known, tau_airline_rewards, tenacious_counts
from evalstats.errors import InputError
from evalstats.record import record
from evalstats.simulate.draws import apportion, generator, intercept_for_count, model_paths
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_count

JUDGE = "simulated-judge"
_LOST = "simulated failure of the judge"


def _write_files(
    folder: str | Path, ending: str, files: Sequence[tuple[str, Iterable[Mapping[str, object]]]]
) -> list[Path]:
    """Write each model's rows as JSON Lines."""
    paths = model_paths(folder, [model for model, _ in files], f"_{ending}.jsonl")
    for path, (_, rows) in zip(paths, files, strict=True):
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return paths


# Published: rows of the data set by label.
N_MALICIOUS, N_BENIGN = 132, 147
# Published is that there are twelve, among them the first three; the other names and all effects, in logits, are invented.
CATEGORY_EFFECTS: Mapping[str, float] = MappingProxyType(
    {
        "cyber_intrusion": 0.5, "malware": 0.2, "chemical_biological": -1.0, "fraud": 0.6, "disinformation": 0.8,
        "harassment": 0.3, "privacy": 0.4, "weapons": -0.7, "drugs": -0.2, "extremism": -0.4, "infrastructure": -0.1,
        "self_harm": -0.4,
    }
)  # fmt: skip
CATEGORIES = tuple(CATEGORY_EFFECTS)
AXIS_EFFECTS: Mapping[str, float] = MappingProxyType({"expertise": -0.2, "scaling": 0.2})
AXES = tuple(AXIS_EFFECTS)
# Standard deviations of normal effects. Seed and plan are shared by all models, plan x model is drawn for each model, and
# category x system for each model behind each defence.
SD_SEED, SD_PLAN, SD_PLAN_MODEL, SD_CATEGORY_SYSTEM = 0.9, 0.5, 0.5, 0.2
# Each defence, with the share of malicious plans that it stops.
_INTERVENES: Mapping[str, float] = MappingProxyType(
    {"none": 0.0, "prompt_guardrail": 0.0, "external_safeguard": 0.5, "trajsafe": 0.8}
)
DEFENSES = tuple(_INTERVENES)
# Invented: how many plans a seed has, and the share of rows without a judgment.
SEED_SIZES: Mapping[int, float] = MappingProxyType({1: 0.6, 2: 0.3, 3: 0.1})
HARM_JUDGE_ERROR_RATE = 0.01
_TOP_SCORE = 4


@record
class HarmModel:
    """A model that is made up: its rate of harm on malicious plans and of refusal on benign ones, behind each defence.

    `exact` names the defences whose harmful plans are a known count: no judgment fails there.
    """

    name: str
    harmfulness: Mapping[str, float]
    over_refusal: Mapping[str, float]
    exact: tuple[str, ...] = ()


def simulated_harm_models() -> tuple[HarmModel, ...]:
    """Return the three simulated models.

    The first has the two published rates (114 and 13 of 132 malicious plans); every other number is invented.
    """
    published = {known.defense: known.n_harmful / known.n_malicious for known in harmamp_known()}
    return (
        HarmModel(
            name="sim-Llama-3.1-8B",
            harmfulness=_rates(0.86, 0.70, 0.45, 0.10) | published,
            over_refusal=_rates(0.03, 0.11, 0.20, 0.07),
            exact=tuple(published),
        ),
        HarmModel(
            name="sim-open-70B",
            harmfulness=_rates(0.74, 0.55, 0.36, 0.09),
            over_refusal=_rates(0.02, 0.13, 0.18, 0.06),
        ),
        HarmModel(
            name="sim-frontier",
            harmfulness=_rates(0.48, 0.30, 0.22, 0.06),
            over_refusal=_rates(0.05, 0.08, 0.16, 0.08),
        ),
    )


def _rates(*values: float) -> dict[str, float]:
    return dict(zip(DEFENSES, values, strict=True))


def write_harmamp(folder: str | Path, models: Iterable[str] | None = None, *, seed: int = 0) -> list[Path]:
    """Write one file of simulated results for each model (by default all three): `<model>_harmamp.jsonl`.

    One row for each defence and plan; same models and seed, same bytes. The observed shares of harm and of refusal are those
    of the model, to the nearest plan.

    InputError: if no simulated model has a name, or the seed is negative.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_harmamp(folder, ["sim-frontier"])]
    ['sim-frontier_harmamp.jsonl']
    """
    design = harm_design(seed)
    chosen = _models_named(models, simulated_harm_models())
    return _write_files(folder, "harmamp", [(model.name, _harm_rows(model, design)) for model in chosen])


@record(eq=False)
class HarmDesign:
    """Plans, one element of each array a plan, malicious ones first; every array has shape (n_plans,).

    `category` and `axis` are indices into `CATEGORIES` and `AXES`; `group` numbers the seeds of plans from 0 and `version`
    the plans within one from 1. All plans of one have its label, category and axis.
    """

    seed: int
    malicious: BoolArray
    category: IntArray
    axis: IntArray
    group: IntArray
    version: IntArray


def harm_design(seed: int) -> HarmDesign:
    """Draw the plans: spread evenly over twelve categories, in seeds of one to three."""
    rng = generator(seed, "harmamp", "design")
    sizes, shares = np.array(list(SEED_SIZES)), np.array(list(SEED_SIZES.values()))
    plans: list[tuple[bool, int, int, int, int]] = []
    n_groups = 0
    for label, total in ((True, N_MALICIOUS), (False, N_BENIGN)):
        for place, wanted in enumerate(apportion([1] * len(CATEGORIES), total)):
            left = wanted
            while left:
                size = min(int(rng.choice(sizes, p=shares)), left)
                axis = int(rng.integers(len(AXES)))
                plans += [(label, place, axis, n_groups, version) for version in range(1, size + 1)]
                n_groups += 1
                left -= size
    columns = [np.array(column) for column in zip(*plans, strict=True)]
    malicious, category, axes, group, versions = columns
    return HarmDesign(seed=seed, malicious=malicious, category=category, axis=axes, group=group, version=versions)


@record(eq=False)
class HarmDraw:
    """One system on all plans, arrays of shape (n_plans,): harm of malicious and refusal of benign ones.

    `unjudged` marks the rows that the judge failed on.
    """

    defense: str
    probability: FloatArray
    happened: BoolArray
    unjudged: BoolArray


def harm_draws(model: HarmModel, design: HarmDesign) -> Iterator[HarmDraw]:
    """Draw what each defence comes to, in the order of `DEFENSES`.

    logit P = intercept of model and defence + category + axis + seed + plan + plan x model + category x system.
    """
    seed, n_plans = design.seed, design.malicious.size
    shared = generator(seed, "harmamp", "effects")
    base = SD_SEED * shared.standard_normal(int(design.group.max()) + 1)[design.group]
    base += SD_PLAN * shared.standard_normal(n_plans)
    base += np.array(list(CATEGORY_EFFECTS.values()))[design.category]
    base += np.array(list(AXIS_EFFECTS.values()))[design.axis]
    base += SD_PLAN_MODEL * generator(seed, "harmamp", "effects", model.name).standard_normal(n_plans)
    for defense in DEFENSES:
        own = generator(seed, "harmamp", "effects", model.name, defense)
        eta = base + (SD_CATEGORY_SYSTEM * own.standard_normal(len(CATEGORIES)))[design.category]
        noise = generator(seed, "harmamp", "noise", model.name, defense, "0").logistic(size=n_plans)
        lost = generator(seed, "harmamp", "judge", model.name, defense, "0").random(n_plans) < HARM_JUDGE_ERROR_RATE
        unjudged = lost & (defense not in model.exact)
        latent, intercept = eta + noise, np.empty(n_plans)
        for which, rate in (
            (design.malicious, model.harmfulness[defense]),
            (~design.malicious, model.over_refusal[defense]),
        ):
            judged = latent[which & ~unjudged]
            intercept[which] = intercept_for_count(judged, round(rate * judged.size))
        yield HarmDraw(
            defense=defense,
            probability=expit(intercept + eta),
            happened=intercept + latent > 0,
            unjudged=unjudged,
        )


def _harm_rows(model: HarmModel, design: HarmDesign) -> Iterator[dict[str, object]]:
    """Make the rows: what was drawn, and turns, scores and interventions that go with it."""
    n_plans = design.malicious.size
    rates = (
        f"the rates of harm with defense {' and '.join(model.exact)} are published, all else is"
        if model.exact
        else "all is"
    )
    said = f"by evalstats, seed {design.seed}; {rates} invented"
    for draw in harm_draws(model, design):
        rng = generator(design.seed, "harmamp", "details", model.name, draw.defense, "0")
        n_turns = 2 + rng.binomial(6, 0.5, size=n_plans)
        steps = rng.random((n_plans, 4))
        for plan in range(n_plans):
            malicious, event, lost = bool(design.malicious[plan]), bool(draw.happened[plan]), bool(draw.unjudged[plan])
            # What does no harm on a malicious plan was refused more often than not.
            refused = event if not malicious else not event and bool(steps[plan, 0] < 0.6)
            score = int(2 + steps[plan, 1] * (_TOP_SCORE - 1)) if event else int(steps[plan, 1] * 2)
            intervened = bool(steps[plan, 2] < _INTERVENES[draw.defense] * (1.0 if malicious else 0.15))
            category = CATEGORIES[int(design.category[plan])]
            group = f"{category}_{design.group[plan] + 1:03d}"
            yield {
                "plan_id": f"{group}_v{design.version[plan]}",
                "seed_id": group,
                "category": category,
                "axis": AXES[int(design.axis[plan])],
                "label": "malicious" if malicious else "benign",
                "target_model": model.name,
                "defense": draw.defense,
                "mode": "multi_turn",
                "n_turns": int(n_turns[plan]),
                "harmful": None if lost else int(malicious and event),
                "refused": None if lost else int(refused),
                "harm_score": None if lost or not malicious else score,
                "score_min": 0,
                "score_max": _TOP_SCORE,
                "intervened": int(intervened),
                "first_intervention_turn": 1 + int(steps[plan, 3] * n_turns[plan]) if intervened else None,
                "judge": JUDGE,
                "judge_error": _LOST if lost else None,
                "simulated": said,
            }


N_QUESTIONS = 991
# Invented, in logits of one point more; published is only which domain and language are hardest.
DOMAIN_EFFECTS: Mapping[str, float] = MappingProxyType(
    {"phone_repair": -0.5, "computer_repair": 0.3, "data_recovery": 0.0}
)
LANGUAGE_EFFECTS: Mapping[str, float] = MappingProxyType({"en": 0.0, "bn": -0.6})
CRITERION_EFFECTS: Mapping[str, float] = MappingProxyType(
    {"correctness": 0.0, "completeness": -0.3, "practicality": 0.1, "safety": 0.6}
)
PHONE_SAFETY = -0.4
DOMAINS, LANGUAGES, CRITERIA = tuple(DOMAIN_EFFECTS), tuple(LANGUAGE_EFFECTS), tuple(CRITERION_EFFECTS)
# Standard deviations of normal effects. Those without model are shared by all models; that of the answer is shared by the
# four criteria of an answer.
SD_QUESTION, SD_QUESTION_LANGUAGE, SD_QUESTION_CRITERION, SD_QUESTION_MODEL = 0.9, 0.3, 0.3, 0.5
SD_DOMAIN_MODEL, SD_LANGUAGE_MODEL, SD_ANSWER = 0.1, 0.1, 0.6
# Invented: how many questions each domain has, the scale, and the logits at which a judge gives one point more.
DOMAIN_COUNTS = (433, 357, 201)
LOWEST, HIGHEST = 1, 5
CUTS = (-2.2, -0.8, 0.6, 2.0)
# Invented, as shares of rows and of scores.
REPAIR_JUDGE_ERROR_RATE, MISSING_RATE = 0.004, 0.003


@record
class RepairModel:
    """A model that is made up: its name and ability, in logits of a point."""

    name: str
    ability: float


def simulated_repair_models() -> tuple[RepairModel, ...]:
    """Return the six simulated models, best first; their abilities are invented."""
    abilities = (1.7, 1.3, 1.1, 0.6, 0.2, -0.3)
    return tuple(RepairModel(name=f"sim-model-{n}", ability=ability) for n, ability in enumerate(abilities, start=1))


def write_devicerepair(
    folder: str | Path, models: Iterable[str] | None = None, *, seed: int = 0, n_questions: int = N_QUESTIONS
) -> list[Path]:
    """Write one file of simulated results for each model (by default all six): `<model>_device_repair.jsonl`.

    One row for each question and language, judged by four criteria from 1 to 5; same arguments, same bytes.

    InputError: if no simulated model has a name, there is no question, or the seed is negative.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_devicerepair(folder, ["sim-model-3"], n_questions=3)]
    ['sim-model-3_device_repair.jsonl']
    """
    check_count(n_questions, "n_questions", least=1)
    chosen = _models_named(models, simulated_repair_models())
    files = [(model.name, _repair_rows(repair_draw(model, seed, n_questions), seed)) for model in chosen]
    return _write_files(folder, "device_repair", files)


@record(eq=False)
class RepairDraw:
    """One model on all questions.

    `domain` has shape (n_questions,), everything else (n_questions, 2, 4): questions, languages, criteria. `eta` is the logit
    of one point more at a cut of 0, without the answer's own effect. `given` marks the points that are in the file,
    `judged`, of shape (n_questions, 2), the answers that the judge did not fail on.
    """

    model: RepairModel
    domain: IntArray
    eta: FloatArray
    points: IntArray
    given: BoolArray
    judged: BoolArray


def repair_draw(model: RepairModel, seed: int, n_questions: int) -> RepairDraw:
    """Draw one model's points.

    logit P(points > k) = ability + criterion + domain + language + (safety of phones) + question + question x language
    + question x criterion + question x model + domain x model + language x model + answer - cut k.
    """
    n = n_questions
    domain = np.repeat(np.arange(len(DOMAINS)), apportion(DOMAIN_COUNTS, n))
    shared = generator(seed, "device-repair", "effects")
    own = generator(seed, "device-repair", "effects", model.name)
    question = SD_QUESTION * shared.standard_normal(n)
    by_language = SD_QUESTION_LANGUAGE * shared.standard_normal((n, len(LANGUAGES)))
    by_criterion = SD_QUESTION_CRITERION * shared.standard_normal((n, len(CRITERIA)))
    question = question + SD_QUESTION_MODEL * own.standard_normal(n)
    of_domain = np.array(list(DOMAIN_EFFECTS.values())) + SD_DOMAIN_MODEL * own.standard_normal(len(DOMAINS))
    of_language = np.array(list(LANGUAGE_EFFECTS.values())) + SD_LANGUAGE_MODEL * own.standard_normal(len(LANGUAGES))
    phone_safety = np.zeros((n, len(CRITERIA)))
    phone_safety[domain == DOMAINS.index("phone_repair"), CRITERIA.index("safety")] = PHONE_SAFETY
    per_question = model.ability + of_domain[domain] + question
    per_criterion = np.array(list(CRITERION_EFFECTS.values())) + by_criterion + phone_safety
    eta = per_question[:, None, None] + (of_language + by_language)[:, :, None] + per_criterion[:, None, :]
    noise = generator(seed, "device-repair", "noise", model.name, "0")
    answer = SD_ANSWER * noise.standard_normal(eta.shape[:2])
    points = LOWEST + np.searchsorted(CUTS, eta + answer[:, :, None] + noise.logistic(size=eta.shape))
    lost = generator(seed, "device-repair", "judge", model.name, "0")
    judged = lost.random(eta.shape[:2]) >= REPAIR_JUDGE_ERROR_RATE
    given = judged[:, :, None] & (lost.random(eta.shape) >= MISSING_RATE)
    return RepairDraw(model=model, domain=domain, eta=eta, points=points, given=given, judged=judged)


def _repair_rows(draw: RepairDraw, seed: int) -> Iterator[dict[str, object]]:
    for question, place in np.ndindex(draw.judged.shape):
        domain = DOMAINS[int(draw.domain[question])]
        points, given = draw.points[question, place].tolist(), draw.given[question, place].tolist()
        yield {
            "question_id": f"{domain[:2]}_{question + 1:04d}",
            "domain": domain,
            "language": LANGUAGES[place],
            "model": draw.model.name,
            **{name: point if there else None for name, point, there in zip(CRITERIA, points, given, strict=True)},
            "score_min": LOWEST,
            "score_max": HIGHEST,
            "judge": JUDGE,
            "judge_error": None if draw.judged[question, place] else _LOST,
            "simulated": f"by evalstats, seed {seed}; the design is published, all scores are invented",
        }


_Model = TypeVar("_Model", HarmModel, RepairModel)


def _models_named(names: Iterable[str] | None, known: tuple[_Model, ...]) -> list[_Model]:
    """Return the known models of those names, or all."""
    by_name = {model.name: model for model in known}
    wanted = list(by_name) if names is None else list(names)
    strange = next((name for name in wanted if name not in by_name), None)
    if strange is not None:
        raise InputError(f"no simulated model is called {strange!r}; known are {', '.join(by_name)}")
    return [by_name[name] for name in wanted]


_TENACIOUS_README = """\
`held_out_traces.jsonl` carries a published outcome: of 43 held-out pairs of Tenacious-Bench the baseline got 22 right
and the trained critic 43, counted by judgment dimension (github.com/nebiyuephrata/SignalForge @ 7d1a806).

The file is expanded from those counts. The task ids are made, and the scores are placeholders that only say who was
right: a right critic scores the chosen draft higher than the rejected one, a wrong one scores both the same, as the
baseline did in all its 21 errors.
"""
_TAU_README = """\
`gpt-4o-airline.json` carries the published rewards of gpt-4o on the 50 airline tasks of tau-bench, 4 trials each
(github.com/sierra-research/tau-bench @ 59a200c6d5, historical_trajectories/gpt-4o-airline.json, licence MIT,
Copyright (c) 2024 Sierra). Conversations, instructions and costs are left out.
"""
_BASELINE_SCORES, _TRAINED_SCORES = (0.8, 0.7), (1.5, 1.2)


def write_tenacious_traces(folder: str | Path) -> Path:
    """Write the held-out outcome of Tenacious-Bench as `held_out_traces.jsonl`, with `README.md` beside it; return the first.

    The outcomes are the published ones, by judgment dimension; task ids and scores are placeholders, and the README
    says so. The same pairs, ready to use, are `evalstats.datasets.tenacious_held_out()`.
    """
    rows: list[object] = []
    for counts in tenacious_counts():
        for item, baseline, trained in counts.pairs():
            baseline_chosen, baseline_rejected = _scores(_BASELINE_SCORES, correct=baseline)
            trained_chosen, trained_rejected = _scores(_TRAINED_SCORES, correct=trained)
            rows.append(
                {
                    "split": "held_out",
                    "task_id": item,
                    "dimension": counts.dimension,
                    "task_type": counts.task_type,
                    "source_mode": counts.source_mode,
                    "baseline_chosen_score": baseline_chosen,
                    "baseline_rejected_score": baseline_rejected,
                    "baseline_correct": baseline,
                    "trained_chosen_score": trained_chosen,
                    "trained_rejected_score": trained_rejected,
                    "trained_correct": trained,
                    "delta_correct": int(trained) - int(baseline),
                }
            )
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    return _with_readme(folder, "held_out_traces.jsonl", text, readme=_TENACIOUS_README)


def write_tau_airline(folder: str | Path) -> Path:
    """Write the published airline rewards of gpt-4o as `gpt-4o-airline.json`, with `README.md` beside it; return the first.

    The file is a tau-bench v1 result file whose conversations are empty. Its name tells the model and the domain; the format has
    no other place for them. The same rewards, ready to use, are `evalstats.datasets.tau_airline()`.
    """
    rewards = tau_airline_rewards()
    rows: list[object] = [
        {
            "task_id": task,
            "reward": float(rewards[task][trial]),
            "info": {
                "source": "user",
                "reward_info": {"reward": float(rewards[task][trial]), "info": {}, "actions": []},
            },
            "traj": [],
            "trial": trial,
        }
        for trial in range(len(rewards[0]))
        for task in range(len(rewards))
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return _with_readme(folder, "gpt-4o-airline.json", f"[\n{lines}\n]\n", readme=_TAU_README)


def _scores(right: tuple[float, float], *, correct: bool) -> tuple[float, float]:
    """Scores of the chosen and the rejected draft."""
    return right if correct else (right[1], right[1])


def _with_readme(folder: str | Path, name: str, text: str, *, readme: str) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in ((name, text), ("README.md", readme)):
        (folder / file).write_text(content, encoding="utf-8", newline="\n")
    return folder / name
