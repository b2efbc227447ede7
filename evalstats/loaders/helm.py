"""HELM: the folder of one run, with the statistics of every instance, the published ones, the requests and the settings.

The item is the instance's id, which the scenario gives and every model shares; the trial is `train_trial_index` (other worked
examples). A perturbed instance is a variant of its item, and its scores are a metric of their own (`exact_match/perturbed`), so
that no mean mixes both. A request that failed is an error, though HELM scores the empty answer that stands in its place.

Format: `benchmark_output/runs/<suite>/<run>/` of stanford-crfm/helm at 63754d0 (`benchmark/runner.py`, `metrics/metric.py`,
`metrics/statistic.py`, `executor.py`); files of real runs are among the fixtures of evaleval/every_eval_ever at 9bce413.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import InputError, Option, UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, Source, in_batches, plain_name, readable_name
from evalstats.loaders.files import JsonItem, iter_json, load_json
from evalstats.loaders.rows import Ranges, Row, held, scored, told, unscored
from evalstats.loaders.typed_records import Other, Plain, TypedRecords
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    first_line,
    get,
    json_text,
)
from evalstats.schema.data import Problem

_INSTANCES, _STATS, _STATE, _SPEC = "per_instance_stats.json", "stats.json", "scenario_state.json", "run_spec.json"
_FILES: Final = (_INSTANCES, _STATS, _STATE, _SPEC)
# What summaries and the web page are made of; no result stands only there.
_BESIDE: Final[dict[str, frozenset[str]]] = {
    "scenario.json": frozenset({"name", "description"}),
    "instances.json": frozenset({"input", "references"}),
    "display_predictions.json": frozenset({"instance_id"}),
    "display_requests.json": frozenset({"instance_id"}),
    "run_specs.json": frozenset({"scenario_spec", "adapter_spec"}),
    "runs.json": frozenset({"run_spec"}),
}
# Statistics of the request, not of the answer; three of them are columns of every row (`num_output_tokens` lacks the reasoning).
_COLUMNS: Final = {
    "num_prompt_tokens": "input_tokens",
    "num_completion_tokens": "output_tokens",
    "inference_runtime": "latency_s",
}
_BOOKKEEPING: Final = re.compile(
    r"(?:max_)?num_.*|finish_reason_.*|training_.*|inference_.*|batch_size|prompt_truncated|max_prob|predicted_index|"
    r"estimated_num_tokens_cost|denoised_runtime|platt_(?:coef|intercept)"
)
# Of the tokens' likelihood, which is a score only where the model is to predict a text.
_LIKELIHOOD: Final = frozenset({"logprob", "logprob_per_byte", "perplexity", "bits_per_byte"})
_LOWER: Final = re.compile(
    r"perplexity|bits_per_byte|(?:platt_)?ece_.*|.*_difference|(?:chinese_)?[cmw]er(?:_score)?|.*toxic.*|bias_metric:.*|"
    r"bbq_metric_.*_bias|longest_common_prefix_length|.*nsfw.*|.*blacked_out.*|error_rate"
)
_HIGHER: Final = re.compile(
    r".*exact_match.*|.*accuracy.*|.*f1.*|rouge.*|bleu.*|.*_correctness|math_equiv.*|logprob.*|NDCG@.*|RR@.*|Recall@.*|"
    r"Success@.*|safety_score|air_score|wildbench_score.*|pass|test_avg|precision|recall|meteor|cider|chr_f_plus_plus"
)
# Headline metrics of HELM's own tables (`static/schema_*.yaml`), by the name of the scenario.
_HEADLINES: Final = {
    **dict.fromkeys(("narrative_qa", "natural_qa", "natural_qa_closedbook", "quac"), "f1_score"),
    **dict.fromkeys(("imdb", "raft", "civil_comments", "legalbench", "legal_support", "lsat_qa", "med_qa"), "quasi_exact_match"),
    **dict.fromkeys(("boolq", "wikifact", "babi_qa", "bbq", "entity_matching"), "quasi_exact_match"),
    **dict.fromkeys(("summarization_cnndm", "summarization_xsum"), "rouge_2"),
    **dict.fromkeys(("mmlu_pro", "gpqa"), "chain_of_thought_correctness"),
    **dict.fromkeys(("harm_bench", "simple_safety_tests", "xstest", "anthropic_red_team"), "safety_score"),
    "gsm": "final_number_exact_match", "math": "math_equiv_chain_of_thought", "wmt_14": "bleu_4",
    "ifeval": "ifeval_strict_accuracy", "wildbench": "wildbench_score_rescaled", "omni_math": "omni_math_accuracy",
}  # fmt: skip
# Arguments of a run's name that a model brings with it; all others tell runs of other items or other questions apart.
_OF_MODEL: Final = frozenset({"model", "model_deployment", "stop", "global_prefix", "chatml", "tokenizer"})
_PROMPT: Final = re.compile(r"instructions|method|.*_prefix|.*_suffix")
_NAME: Final = re.compile(r"(?P<scenario>[^:=,]+?)[:\-](?P<arguments>\w+=.*)", re.DOTALL)

_FAILED: Final = (
    "{n} requests failed; HELM scores the empty answers in their place, here their rows are errors (`value_raw` has "
    "HELM's score)"
)
_WITHOUT: Final = "{n} instances have requests and no statistics; they are unscored, or errors where the request failed"
_TWICE: Final = "{n} statistics appear twice with different values; the first is kept"
_BAD: Final = "no instance_id, no whole train_trial_index, or no list of stats"
_BAD_NUMBERS: Final = "{n} statistics have no name and were dropped"

Key = tuple[str, str, int]


class _Name(Struct):
    name: Any = None
    split: Any = None
    sub_split: Any = None
    perturbation: Any = None


_NAMELESS: Final = _Name()


class _Stat(Struct):
    name: _Name | Other = None
    count: Any = None
    mean: Any = None

    @property
    def about(self) -> _Name:
        """What the statistic is of."""
        return self.name if isinstance(self.name, _Name) else _NAMELESS


class _Entry(Struct):
    instance_id: Any = None
    train_trial_index: Any = 0
    perturbation: Any = None
    stats: list[_Stat | Other] | Plain = None


class HelmLoader:
    """Loader of HELM's run folders; every folder is a run.

    Metrics are the statistics of instances but for those that tell of the request (tokens, run time, reasons to finish); the
    published ones are aggregates. Benchmark and task are the run's name without the model.
    """

    name = "helm"
    title = "HELM run folders (per_instance_stats.json, stats.json, scenario_state.json, run_spec.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise the files by their members; those that hold no results also by their names."""
        keys = head.keys
        if head.shape == "array" and keys >= {"instance_id", "stats"} and "predicted_text" not in keys:
            return Match(confidence=0.95, reason="entries with instance_id and stats")
        if head.shape == "array" and keys >= {"name", "count", "sum"} and "name" in as_dict(head.members.get("name")):
            return Match(confidence=0.9, reason="statistics with a name, a count and a sum")
        if head.shape == "object" and keys >= {"scenario_spec", "adapter_spec"}:
            return Match(confidence=0.95, reason="scenario_spec and adapter_spec")
        if (
            head.shape == "object"
            and "adapter_spec" in keys
            and ('"request_states"' in head.text or head.name == _STATE)
        ):
            return Match(confidence=0.9, reason="adapter_spec and request_states")
        needed = _BESIDE.get(head.name)
        if needed is not None and head.shape in {"array", "object"} and keys >= needed:
            return Match(confidence=0.6, reason="a file that HELM writes beside the results", skip=True)
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make a source of every folder; files under other names stand alone."""
        folders: dict[Path, dict[str, Path]] = {}
        for path in sorted(files):
            name = plain_name(path)
            known = folders.setdefault(path.parent if name in _FILES else path, {})
            known.setdefault(name, path)
        for found in folders.values():
            first, *others = sorted(found.values(), key=lambda path: _rank(plain_name(path)))
            if plain_name(first) == _SPEC:
                message = f"has no results: neither {_INSTANCES} nor {_STATS} is beside it; it is skipped"
                yield Problem(path=str(first), message=message, severity="note")
            else:
                yield Source(path=first, companions=tuple(others))

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, published numbers, metrics, the run, and notes."""
        files = {_kind(path): path for path in (*source.companions, source.path)}
        if not files.keys() & {_INSTANCES, _STATS}:
            raise UnreadableFileError(
                f"{source.path}: holds requests and no scores; put {_INSTANCES} of the same run beside it"
            )
        state = _read_state(files.get(_STATE))
        run = _Run(source, as_dict(load_json(files[_SPEC])) if _SPEC in files else {}, state)
        if _INSTANCES in files:
            yield from in_batches(run.outcomes(files[_INSTANCES]), "outcomes")
        if _STATS in files:
            yield from in_batches(run.aggregates(files[_STATS]), "aggregates")
        yield Rows(table="metrics", rows=run.metrics())
        yield Rows(table="runs", rows=[run.row()])
        yield from run.problems
        yield from source.notes(run.notes(has_items=_INSTANCES in files))


def perturbation_name(perturbation: object) -> str:
    """Name what was done to an instance, with all that sets it apart; "" for the instance itself.

    >>> perturbation_name({"name": "typos", "robustness": True, "computed_on": "perturbed", "prob": 0.1})
    'typos(prob=0.1)'
    >>> perturbation_name({"name": "robustness", "robustness": True, "computed_on": "worst"}), perturbation_name(None)
    ('robustness', '')
    """
    said = as_dict(perturbation)
    if not said:
        return ""
    rest = (
        f"{key}={held(value)}".replace('"', "")
        for key, value in sorted(said.items())
        if key not in {"name", "robustness", "fairness", "computed_on"} and value is not None
    )
    more = ",".join(rest)
    return (as_text(said.get("name")) or "perturbed") + (f"({more})" if more else "")


@dataclass(slots=True)
class _State:
    """What the requests tell: the settings, which failed, a digest of each input, and when the last was answered."""

    adapter: Row = field(default_factory=dict[str, object])
    digests: dict[Key, str] = field(default_factory=dict[Key, str])
    failed: dict[Key, str] = field(default_factory=dict[Key, str])
    last: datetime | None = None


def _rank(name: str) -> int:
    return _FILES.index(name) if name in _FILES else -1


def _kind(path: Path) -> str:
    """Tell what a file holds: by its name, or by its first bytes under another one."""
    name = plain_name(path)
    if name in _FILES:
        return name
    for part in iter_json(path, arrays=("request_states",)):
        if not isinstance(part, JsonItem):
            return _SPEC if part.member in {"name", "scenario_spec"} else _STATE
        return _INSTANCES if "instance_id" in as_dict(part.value) else _STATS
    return _INSTANCES


def _read_state(path: Path | None) -> _State:
    state = _State()
    if path is None:
        return state
    for part in iter_json(path, arrays=("request_states",)):
        if not isinstance(part, JsonItem):
            if part.member == "adapter_spec":
                state.adapter = as_dict(part.value)
            continue
        if part.member != "request_states":
            raise InputError(f"{path}: is a list; the requests of a HELM run are an object with request_states")
        request = as_dict(part.value)
        instance, result = as_dict(request.get("instance")), as_dict(request.get("result"))
        item, trial = as_text(instance.get("id")), as_count(request.get("train_trial_index", 0))
        if item is None or trial is None:
            continue
        key = (item, perturbation_name(instance.get("perturbation")), trial)
        text = as_text(get(instance, "input", "text")) or ""
        state.digests[key] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        if result.get("success") is False:
            state.failed.setdefault(key, first_line(result.get("error")) or "the request failed without a message")
        answered = as_time(result.get("request_datetime"))
        if answered is not None and (state.last is None or answered > state.last):
            state.last = answered
    return state


class _Run:
    """One run: its names and settings, and what is met on the way through its statistics."""

    def __init__(self, source: Source, spec: Row, state: _State) -> None:
        self._spec, self._state = spec, state
        self._adapter = as_dict(spec.get("adapter_spec")) or state.adapter
        folder = readable_name(source.path.parent.name or source.path.resolve().parent.name)
        if plain_name(source.path) not in _FILES:
            folder = source.stem
        self.name = as_text(spec.get("name")) or folder
        found = _NAME.fullmatch(self.name)
        arguments = [part.partition("=") for part in found["arguments"].split(",")] if found else []
        named = next((value.replace("_", "/", 1) for name, _, value in arguments if name == "model"), None)
        model = as_text(self._adapter.get("model")) or as_text(self._adapter.get("model_deployment"))
        self._is_named = model is not None
        self._common: Row = {
            "run": f"{(self.name if found else source.stem).replace('/', '_')}~{source.digest[:8]}",
            "model": model or named or folder or source.stem,
            "benchmark": found["scenario"] if found else "HELM",
            "task": ",".join(f"{name}{sign}{value}" for name, sign, value in arguments if name not in _OF_MODEL),
        }
        self._common["system"] = self._common["model"]
        self._benchmark = str(self._common["benchmark"])
        self._is_likelihood = self._adapter.get("method") == "language_modeling"
        self._ranges, self._published = Ranges(), Ranges()
        # by hash, since a run has a hundred statistics of every instance: some 110 bytes for each that is a score
        self._values: dict[int, float | None] = {}
        self._n: Counter[tuple[str, str | None, str]] = Counter()
        self._counts: Counter[str] = Counter()
        self._splits: Counter[str] = Counter()
        self.problems: list[Problem] = []

    def outcomes(self, path: Path) -> Iterator[Row]:
        """Yield a row for every instance, trial and metric; then one for every instance without statistics."""
        left, failed = dict.fromkeys(self._state.digests), set[Key]()
        records = TypedRecords(Source(path=path), _Entry, called="statistics of instances")
        for locator, entry in records:
            item, trial = as_text(entry.instance_id), as_count(entry.train_trial_index)
            if not item or trial is None or not isinstance(entry.stats, list):
                records.leave_out(_BAD)
                continue
            stats = [stat for stat in entry.stats if isinstance(stat, _Stat)]
            said = entry.perturbation or next((stat.about.perturbation for stat in stats), None)
            key = (item, perturbation_name(said), trial)
            if key in self._state.failed:
                failed.add(key)
            common = {**self._common, **self._place(key), "locator": locator, **_columns(stats)}
            for stat in stats:
                row = self._outcome(key, stat)
                if row is not None:
                    left.pop(key, None)
                    yield {**common, **row}
        self.problems += records.problems()
        if records.n_left_out == records.n_read:
            raise InputError(
                f"{path}: none of its {records.n_read:,} entries has an instance_id, a whole train_trial_index and a list of "
                "stats; check that HELM wrote it"
            )
        self._counts[_FAILED] += len(failed)
        metrics = [metric for _, metric in self._ranges if "/" not in metric]
        if metrics:
            self._counts[_WITHOUT] += len(left)
            metric = self._headline(metrics) or metrics[0]
            for key in left:
                name = f"{metric}/perturbed" if key[1] else metric
                self._ranges.add(self._benchmark, name, None)
                reason = self._state.failed.get(key)
                none = unscored(reason or "HELM wrote no statistics of it", error=reason is not None)
                yield {**self._common, **self._place(key), "metric": name, **none}

    def _place(self, key: Key) -> Row:
        item, variant, trial = key
        digest = self._state.digests.get(key)
        return {"item": item, "variant": variant, "trial": trial, "n_trials": 1, "prompt_hash": digest}

    def _outcome(self, key: Key, stat: "_Stat") -> Row | None:
        """Read one statistic; None for what is no score, and for one that stands twice."""
        name, split = self._named(stat)
        if name is None:
            return None
        metric = f"{name}/perturbed" if key[1] else name
        number, n = as_number(stat.mean), as_count(stat.count)
        place = hash((key, metric))
        if place in self._values:
            self._counts[_TWICE] += self._values[place] != number
            return None
        self._values[place] = number
        about: Row = {"metric": metric, "split": split, "scenario": as_text(stat.about.sub_split)}
        if n is not None and n > 1:
            about["n_trials"] = n
        failure = self._state.failed.get(key)
        self._ranges.add(self._benchmark, metric, None if failure else number)
        self._splits[split or ""] += 1
        if failure is not None:
            return {**about, **unscored(failure, held(stat.mean), error=True)}
        if number is None:
            reason = "its count is 0" if n == 0 else "its mean is no number"
            return {**about, **unscored(reason, held(stat.mean))}
        self._n[metric, split, key[1]] += 1
        return {**about, **scored(number)}

    def _named(self, stat: "_Stat") -> tuple[str | None, str | None]:
        """Return the metric's name, None for what is no score, and the split."""
        name = as_text(stat.about.name)
        split = as_text(stat.about.split)
        if not name:
            self._counts[_BAD_NUMBERS] += 1
            return None, split
        if _is_bookkeeping(name) or (name in _LIKELIHOOD and not self._is_likelihood):
            return None, split
        return name, split

    def aggregates(self, path: Path) -> Iterator[Row]:
        """Yield the published means; those of the worst perturbation only where something was perturbed."""
        specs = get(self._spec, "data_augmenter_spec", "perturbation_specs")
        was_perturbed = bool(specs) or not isinstance(specs, list)
        records = TypedRecords(Source(path=path), _Stat, called="statistics")
        for _, stat in records:
            name, split = self._named(stat)
            number, n_trials = as_number(stat.mean), as_count(stat.count)
            perturbation = as_dict(stat.about.perturbation)
            if name is None or number is None or (perturbation and not was_perturbed):
                continue
            on = as_text(perturbation.get("computed_on")) or "perturbed"
            metric, variant = f"{name}/{on}" if perturbation else name, perturbation_name(perturbation)
            self._published.add(self._benchmark, metric, number)
            more = f", then over {n_trials} trials" if n_trials is not None and n_trials > 1 else ""
            yield {
                **{key: self._common[key] for key in ("run", "model", "benchmark", "task")},
                "variant": variant,
                "scenario": as_text(stat.about.sub_split),
                "metric": metric,
                "split": split,
                "estimate": number,
                # `count` here is the number of trials: the mean of each was taken before
                "n": self._n.get((metric, split, variant)),
                "method": f"published; mean over instances{more}",
                "unit": "proportion" if 0 <= number <= 1 and _HIGHER.fullmatch(name) else None,
            }
        self.problems += records.problems()

    def _headline(self, metrics: Iterable[str]) -> str | None:
        """Return the metric that HELM's tables show, else the first that the run declares."""
        there = list(metrics)
        groups = [as_text(group) or "" for group in as_list(self._spec.get("groups"))]
        known = [_HEADLINES[name] for name in (self._benchmark, *groups) if name in _HEADLINES]
        return next((metric for metric in (*known, "exact_match", *there) if metric in there), None)

    def metrics(self) -> list[Row]:
        """Describe what was met; published numbers only where no instance has the metric."""
        items = [metric for _, metric in self._ranges]
        more = [metric for _, metric in self._published if metric not in items]
        headline = self._headline(metric for metric in (items or more) if "/" not in metric)
        rows: list[Row] = []
        for known, names in ((self._ranges, items), (self._published, more)):
            for metric in names:
                base = metric.partition("/")[0]
                better = False if _LOWER.fullmatch(base) else True if _HIGHER.fullmatch(base) else None
                primary = metric == headline
                rows.append(known.row(self._benchmark, metric, higher_is_better=better, primary=primary))
        return rows

    def row(self) -> Row:
        """Return the row of `runs`."""
        adapter = self._adapter
        prompt = {name: value for name, value in adapter.items() if _PROMPT.fullmatch(name)}
        kept = ("method", "model_deployment", "num_outputs", "max_tokens", "stop_sequences", "num_train_trials")
        config: Row = {name: adapter[name] for name in kept if name in adapter}
        config |= {name: self._spec[name] for name in ("scenario_spec", "groups", "annotators") if self._spec.get(name)}
        config["perturbations"] = get(self._spec, "data_augmenter_spec", "perturbation_specs") or []
        return {
            **{key: value for key, value in self._common.items() if key != "task"},
            "harness": "HELM",
            "n_shots": as_count(adapter.get("max_train_instances")),
            "temperature": as_amount(adapter.get("temperature")),
            "item_limit": as_count(adapter.get("max_eval_instances")),
            "prompt_hash": hashlib.sha256(json_text(prompt).encode()).hexdigest()[:16] if prompt else None,
            "timestamp": self._state.last,
            "factor_names": [],
            "dependence": [],
            "config": json_text(config),
        }

    def notes(self, *, has_items: bool) -> Iterator[str]:
        """Say what a reader should know."""
        yield from told(self._counts)
        if not self._is_named:
            yield (
                f"no {_SPEC} is beside it, so the model is called {str(self._common['model'])!r} after the folder or the file, "
                "and shots and temperature are unknown; keep the files of a run together"
            )
        if not has_items:
            yield "published numbers without items: no two models can be compared item by item"
        splits = sorted(split for split in self._splits if split)
        if len(splits) > 1:
            yield (
                f"its instances are of the splits {', '.join(splits)}; HELM's tables show one of them "
                f"(for that: {Option('where', 'test' if 'test' in splits else splits[0], of='split')})"
            )


@lru_cache(maxsize=4096)
def _is_bookkeeping(name: str) -> bool:
    return _BOOKKEEPING.fullmatch(name) is not None


def _columns(stats: Iterable["_Stat"]) -> Row:
    """Return tokens and run time of an entry."""
    found: Row = {}
    for stat in stats:
        column = _COLUMNS.get(as_text(stat.about.name) or "")
        if column is not None:
            read = as_amount if column == "latency_s" else as_count
            found[column] = read(stat.mean)
    return found


LOADER: Final = HelmLoader()
