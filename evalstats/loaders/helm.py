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
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.errors import InputError, Option, UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_batches, plain_name, read_head, readable_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format_columns import MAKERS, counts, floats, texts
from evalstats.loaders.rows import GroupCounter, Ranges, Row, held, told, unscored
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
_KEY: Final = {"item": pl.String, "variant": pl.String, "trial": pl.Int64}


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


class Statistics(Struct):
    """The statistics of one instance, perturbed or not, in one trial of worked examples."""

    instance_id: Any = None
    train_trial_index: Any = 0
    perturbation: Any = None
    stats: list[_Stat | Other] | Plain = None


class _Input(Struct):
    text: Any = None


class _Instance(Struct):
    id: Any = None
    perturbation: Any = None
    input: _Input | Other = None


class _Answer(Struct):
    success: Any = None
    error: Any = None
    request_datetime: Any = None


class _Request(Struct):
    """A request; what was asked is told apart by its digest, and the answer is passed over."""

    instance: _Instance | Other = None
    train_trial_index: Any = 0
    result: _Answer | Other = None


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

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, published numbers, metrics, the run, and notes."""
        files = {_kind(path): path for path in (*source.companions, source.path)}
        if not files.keys() & {_INSTANCES, _STATS}:
            raise UnreadableFileError(
                f"{source.path}: holds requests and no scores; put {_INSTANCES} of the same run beside it"
            )
        state = _read_state(files.get(_STATE))
        run = _Run(source, as_dict(load_json(files[_SPEC])) if _SPEC in files else {}, state)
        if _INSTANCES in files:
            yield from run.outcomes(files[_INSTANCES])
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
    if (name := plain_name(path)) in _FILES:
        return name
    head = read_head(path)
    if head.shape == "object":
        return _SPEC if head.keys & {"name", "scenario_spec"} else _STATE
    return _INSTANCES if "instance_id" in head.keys else _STATS


def _read_state(path: Path | None) -> _State:
    state = _State()
    if path is None:
        return state
    records = TypedRecords(
        Source(path=path), _Request, lists=("request_states",), keep=("adapter_spec",), called="requests"
    )
    if records.head.shape == "array":
        raise InputError(f"{path}: is a list; the requests of a HELM run are an object with request_states")
    for _, request in records:
        instance, result = request.instance, request.result
        if not isinstance(instance, _Instance):
            continue
        item, trial = as_text(instance.id), as_count(request.train_trial_index)
        if item is None or trial is None:
            continue
        key = (item, perturbation_name(instance.perturbation), trial)
        text = as_text(instance.input.text) if isinstance(instance.input, _Input) else None
        state.digests[key] = hashlib.sha256((text or "").encode("utf-8", "replace")).hexdigest()[:12]
        if not isinstance(result, _Answer):
            continue
        if result.success is False:
            state.failed.setdefault(key, first_line(result.error) or "the request failed without a message")
        answered = as_time(result.request_datetime)
        if answered is not None and (state.last is None or answered > state.last):
            state.last = answered
    state.adapter = as_dict(records.members.get("adapter_spec"))
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
        # the statistics that were met, without their values and with them
        self._met, self._said = GroupCounter(), GroupCounter()
        self._n: Counter[tuple[str, str | None, str]] = Counter()
        self._counts: Counter[str] = Counter()
        self._splits: set[str] = set()
        self.problems: list[Problem] = []

    def outcomes(self, path: Path) -> Iterator[Frame | Rows]:
        """Yield a row for every instance, trial and metric; then one for every instance without statistics."""
        left, failed = dict.fromkeys(self._state.digests), set[Key]()
        records = TypedRecords(Source(path=path), Statistics, called="statistics of instances")
        for block in records.blocks():
            keys: list[Key] = []
            kept: list[int] = []
            stats: list[_Stat] = []
            of: list[int] = []
            for place, entry in enumerate(records.one_by_one(block)):
                item, trial = as_text(entry.instance_id), as_count(entry.train_trial_index)
                if not item or trial is None or not isinstance(entry.stats, list):
                    records.leave_out(_BAD)
                    continue
                own = [stat for stat in entry.stats if isinstance(stat, _Stat)]
                said = entry.perturbation or next((stat.about.perturbation for stat in own), None)
                of += [len(keys)] * len(own)
                stats += own
                keys.append((item, perturbation_name(said), trial))
                kept.append(place)
            failed |= self._state.failed.keys() & keys
            frame = self._frame(keys, records.locators.gather(kept), stats, of)
            rest: list[int] = frame["_of"].unique().to_list()
            for place in rest:
                left.pop(keys[place], None)
            yield Frame(table="outcomes", frame=frame.drop("_of"))
        self.problems += records.problems()
        if records.n_left_out == records.n_read:
            raise InputError(
                f"{path}: none of its {records.n_read:,} entries has an instance_id, a whole train_trial_index and a list of "
                "stats; check that HELM wrote it"
            )
        self._counts[_FAILED] += len(failed)
        metrics = [metric for _, metric in self._ranges if "/" not in metric]
        if not metrics:
            return
        self._counts[_WITHOUT] += len(left)
        metric = self._headline(metrics) or metrics[0]
        rows: list[Row] = []
        for item, variant, trial in left:
            name, reason = f"{metric}/perturbed" if variant else metric, self._state.failed.get((item, variant, trial))
            self._ranges.add(self._benchmark, name, None)
            known: Row = {"item": item, "variant": variant, "trial": trial, "n_trials": 1, "metric": name}
            known["prompt_hash"] = self._state.digests[item, variant, trial]
            none = unscored(reason or "HELM wrote no statistics of it", error=reason is not None)
            rows.append({**self._common, **known, **none})
        yield from in_batches(rows, "outcomes")

    def _frame(self, keys: list[Key], locators: pl.Series, stats: list["_Stat"], of: list[int]) -> pl.DataFrame:
        """Return the outcomes among statistics, `of` which entry each is; one that stands twice counts once."""
        entries = pl.DataFrame(keys, schema=_KEY, orient="row").with_columns(
            pl.Series(range(len(keys)), dtype=pl.Int64).alias("_of"),
            locator=locators,
            prompt_hash=pl.Series([self._state.digests.get(key) for key in keys], dtype=pl.String),
            _failure=pl.Series([self._state.failed.get(key) for key in keys], dtype=pl.String),
            **{name: pl.lit(value) for name, value in self._common.items()},
        )
        about, means = [stat.about for stat in stats], [stat.mean for stat in stats]
        found = pl.DataFrame(
            {
                "_of": pl.Series(of, dtype=pl.Int64),
                "_name": texts([each.name for each in about]),
                "split": texts([each.split for each in about]),
                "scenario": texts([each.sub_split for each in about]),
                "score": floats(means),
                "_n": counts([stat.count for stat in stats]),
            }
        ).with_row_index("_stat")
        self._counts[_BAD_NUMBERS] += int((found["_name"].fill_null("") == "").sum())
        for name, column in _COLUMNS.items():
            last = found.filter(_name=name).unique("_of", keep="last", maintain_order=True)
            values = MAKERS[column](last["score"].to_list()).alias(column)
            entries = entries.join(last.select("_of", values), on="_of", how="left") if last.height else entries
        is_score = {name: self._is_score(name) for name in found["_name"].drop_nulls().unique().to_list()}
        found = found.filter(pl.col("_name").is_in([name for name, holds in is_score.items() if holds]))
        found = found.join(entries, on="_of", how="left", maintain_order="left").with_columns(
            metric=pl.col("_name") + pl.when(pl.col("variant") != "").then(pl.lit("/perturbed")).otherwise(pl.lit("")),
            n_trials=pl.max_horizontal(pl.col("_n").fill_null(1), 1),
        )
        key = (*_KEY, "metric")
        again, same = self._met.again(found.select(key)), self._said.again(found.select(*key, "score"))
        self._counts[_TWICE] += int((again & ~same).sum())
        failed, none = pl.col("_failure").is_not_null(), pl.col("score").is_null()
        why = pl.when(pl.col("_n") == 0).then(pl.lit("its count is 0")).otherwise(pl.lit("its mean is no number"))
        state = pl.when(failed).then(pl.lit("error")).when(none).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
        found = found.filter(~again).with_columns(
            score=pl.when(~failed).then("score"),
            status=state,
            status_reason=pl.when(none | failed).then(pl.coalesce("_failure", why)),
        )
        raw = [
            None if status == "scored" else held(means[at])
            for at, status in found.select("_stat", "status").iter_rows()
        ]
        found = found.with_columns(value_raw=pl.Series(raw, dtype=pl.String))
        self._ranges.add_frame(found, self._benchmark)
        self._splits.update(found["split"].drop_nulls().unique())
        scored = found.filter(status="scored").group_by("metric", "split", "variant").len()
        self._n.update({(metric, split, variant): n for metric, split, variant, n in scored.iter_rows()})
        return found.drop("_stat", "_name", "_n", "_failure")

    def _is_score(self, name: str) -> bool:
        """Whether a statistic tells of the answer, and not of the request."""
        is_likelihood = name in _LIKELIHOOD and not self._is_likelihood
        return bool(name) and _BOOKKEEPING.fullmatch(name) is None and not is_likelihood

    def aggregates(self, path: Path) -> Iterator[Row]:
        """Yield the published means; those of the worst perturbation only where something was perturbed."""
        specs = get(self._spec, "data_augmenter_spec", "perturbation_specs")
        was_perturbed = bool(specs) or not isinstance(specs, list)
        records = TypedRecords(Source(path=path), _Stat, called="statistics")
        for _, stat in records:
            name, split = as_text(stat.about.name) or "", as_text(stat.about.split)
            self._counts[_BAD_NUMBERS] += not name
            number, n_trials = as_number(stat.mean), as_count(stat.count)
            perturbation = as_dict(stat.about.perturbation)
            if not self._is_score(name) or number is None or (perturbation and not was_perturbed):
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


LOADER: Final = HelmLoader()
