"""HELM: the folder of one run, with the statistics of every instance, the published ones, the requests and the settings.

The item is the instance's id, which the scenario gives and every model shares; the trial is `train_trial_index` (other worked
examples). A perturbed instance is a variant of its item, and its scores are a metric of their own (`exact_match/perturbed`), so
that no mean mixes both. A request that failed is an error, though HELM scores the empty answer that stands in its place.
Files of real runs are among the fixtures of evaleval/every_eval_ever at 9bce413.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.errors import Option
from evalstats.loaders.base import Source, plain_name, readable_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format import FAILED, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import MAKERS, counts, floats, texts
from evalstats.loaders.rows import Ranges, Row, held, unscored
from evalstats.loaders.typed_records import Plain, TypedRecords
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

_TWICE: Final = "{n} statistics appear twice with different values; the first is kept"
_BAD: Final = "no instance_id, no whole train_trial_index, or no list of stats"
_NAMELESS: Final = "{n} statistics have no name and were dropped"

Key = tuple[str, str, int]
_KEY: Final = {"item": pl.String, "variant": pl.String, "trial": pl.Int64}


class _Name(Struct):
    name: Any = None
    split: Any = None
    sub_split: Any = None
    perturbation: Any = None


class _Stat(Struct):
    name: _Name | Plain = None
    count: Any = None
    mean: Any = None

    @property
    def about(self) -> _Name:
        """What the statistic is of."""
        return self.name if isinstance(self.name, _Name) else _Name()


class Statistics(_Stat):
    """The statistics of one instance, perturbed or not, in one trial of worked examples; or a published one."""

    instance_id: Any = None
    train_trial_index: Any = 0
    perturbation: Any = None
    stats: list[_Stat | Plain] | Plain = None


class _Input(Struct):
    text: Any = None


class _Instance(Struct):
    id: Any = None
    perturbation: Any = None
    input: _Input | Plain = None


class _Answer(Struct):
    success: Any = None
    error: Any = None
    request_datetime: Any = None


class _Request(Struct):
    """A request; what was asked is told apart by its digest, and the answer is passed over."""

    instance: _Instance
    train_trial_index: Any = 0
    result: _Answer | Plain = None


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


class _Run:
    """One run while its files are read: its settings, what its requests tell, and what was met among its statistics."""

    def __init__(self, file: FormatFile[Statistics]) -> None:
        self._file = file
        beside = {plain_name(path): path for path in file.source.companions}
        self._spec = as_dict(load_json(beside[_SPEC])) if _SPEC in beside else {}
        self._adapter = as_dict(self._spec.get("adapter_spec"))
        # a digest of each input, and why requests failed
        self._digests: dict[Key, str] = {}
        self._failed: dict[Key, str] = {}
        self._last: datetime | None = None
        if _STATE in beside:
            self._read_requests(beside[_STATE])
        self._published = Ranges()
        self._n: Counter[tuple[str, str | None, str]] = Counter()
        self._metrics: dict[str, None] = {}
        self._splits: set[str] = set()
        self._left = dict.fromkeys(self._digests)
        self._common = self._named()
        self._benchmark = str(self._common["benchmark"])

    def _read_requests(self, path: Path) -> None:
        """Take in the settings, which requests failed, a digest of each input, and when the last was answered."""
        source = Source(path=path)
        records = TypedRecords(source, _Request, at=("request_states",), keep=("adapter_spec",), called="requests")
        for _, request in records:
            instance, result = request.instance, request.result
            item, trial = as_text(instance.id), as_count(request.train_trial_index)
            if item is None or trial is None:
                continue
            key = (item, perturbation_name(instance.perturbation), trial)
            text = as_text(instance.input.text) if isinstance(instance.input, _Input) else None
            self._digests[key] = hashlib.sha256((text or "").encode("utf-8", "replace")).hexdigest()[:12]
            if not isinstance(result, _Answer):
                continue
            if result.success is False:
                self._failed.setdefault(key, first_line(result.error) or "the request failed without a message")
            answered = as_time(result.request_datetime)
            self._last = max(filter(None, (answered, self._last)), default=None)
        self._adapter = self._adapter or as_dict(records.members.get("adapter_spec"))

    def _named(self) -> Row:
        """Name the run, its model, and benchmark and task, which are the run's name without the model; describe it."""
        source, adapter = self._file.source, self._adapter
        folder = readable_name(source.path.absolute().parent.name)
        if plain_name(source.path) not in _FILES:
            folder = source.stem
        name = as_text(self._spec.get("name")) or folder
        found = _NAME.fullmatch(name)
        arguments = [part.partition("=") for part in found["arguments"].split(",")] if found else []
        named = next((value.replace("_", "/", 1) for name, _, value in arguments if name == "model"), None)
        model = as_text(adapter.get("model")) or as_text(adapter.get("model_deployment"))
        if model is None:
            model = named or folder or source.stem
            self._file.note(
                f"no {_SPEC} is beside it, so the model is called {model!r} after the folder or the file, "
                "and shots and temperature are unknown; keep the files of a run together"
            )
        run = f"{(name if found else source.stem).replace('/', '_')}~{source.digest[:8]}"
        benchmark = found["scenario"] if found else FORMAT.benchmark
        prompt = {name: value for name, value in adapter.items() if _PROMPT.fullmatch(name)}
        kept = ("method", "model_deployment", "num_outputs", "max_tokens", "stop_sequences", "num_train_trials")
        config: Row = {name: adapter[name] for name in kept if name in adapter}
        config |= {name: self._spec[name] for name in ("scenario_spec", "groups", "annotators") if self._spec.get(name)}
        config["perturbations"] = get(self._spec, "data_augmenter_spec", "perturbation_specs") or []
        self._file.runs[run] = {
            "run": run,
            "model": model,
            "system": model,
            "benchmark": benchmark,
            "harness": FORMAT.harness,
            "n_shots": as_count(adapter.get("max_train_instances")),
            "temperature": as_amount(adapter.get("temperature")),
            "item_limit": as_count(adapter.get("max_eval_instances")),
            "prompt_hash": hashlib.sha256(json_text(prompt).encode()).hexdigest()[:16] if prompt else None,
            "timestamp": self._last,
            "dependence": [],
            "config": json_text(config),
        }
        task = ",".join(f"{name}{sign}{value}" for name, sign, value in arguments if name not in _OF_MODEL)
        return {"run": run, "model": model, "benchmark": benchmark, "task": task}

    def at_once(self, records: list[Statistics]) -> pl.DataFrame:
        """Return the outcomes of a block of instances, or publish the statistics of one."""
        if isinstance(records[0].name, _Name):
            for record in records:
                self._publish(record)
            return pl.DataFrame()
        keys: list[Key] = []
        kept: list[int] = []
        stats: list[_Stat] = []
        of: list[int] = []
        for place, entry in enumerate(self._file.one_by_one(records)):
            item, trial = as_text(entry.instance_id), as_count(entry.train_trial_index)
            if not item or trial is None or not isinstance(entry.stats, list):
                self._file.leave_out(_BAD)
                continue
            own = [stat for stat in entry.stats if isinstance(stat, _Stat)]
            said = entry.perturbation or next((stat.about.perturbation for stat in own), None)
            of += [len(keys)] * len(own)
            stats += own
            keys.append((item, perturbation_name(said), trial))
            kept.append(place)
        entries = pl.DataFrame(keys, schema=_KEY, orient="row").with_columns(
            pl.Series(range(len(keys)), dtype=pl.Int64).alias("_of"),
            locator=self._file.locators.gather(kept),
            prompt_hash=pl.Series([self._digests.get(key) for key in keys], dtype=pl.String),
            _failure=pl.Series([self._failed.get(key) for key in keys], dtype=pl.String),
            run=pl.lit(self._common["run"]),
            task=pl.lit(self._common["task"]),
        )
        frame = self._outcomes(entries, stats, of)
        rest: list[int] = frame["_of"].unique().to_list()
        for place in rest:
            self._left.pop(keys[place], None)
        return frame.drop("_of")

    def _outcomes(self, entries: pl.DataFrame, stats: list[_Stat], of: list[int]) -> pl.DataFrame:
        """Return the outcomes among statistics, `of` which entry each is; one that stands twice counts once."""
        file, about, means = self._file, [stat.about for stat in stats], [stat.mean for stat in stats]
        found = pl.DataFrame(
            {
                "_of": pl.Series(of, dtype=pl.Int64),
                "_name": texts([each.name for each in about]).fill_null(""),
                "split": texts([each.split for each in about]),
                "scenario": texts([each.sub_split for each in about]),
                "score": floats(means),
                "_n": counts([stat.count for stat in stats]),
            }
        ).with_row_index("_stat")
        file.count(_NAMELESS, int((found["_name"] == "").sum()))
        for name, column in _COLUMNS.items():
            last = found.filter(_name=name).unique("_of", keep="last", maintain_order=True)
            values = MAKERS[column](last["score"].to_list()).alias(column)
            entries = entries.join(last.select("_of", values), on="_of", how="left") if last.height else entries
        names: list[str] = found["_name"].unique().to_list()
        found = found.filter(pl.col("_name").is_in([*filter(self._is_score, names)]))
        found = found.join(entries, on="_of", how="left", maintain_order="left").with_columns(
            metric=pl.col("_name") + pl.when(pl.col("variant") != "").then(pl.lit("/perturbed")).otherwise(pl.lit("")),
            n_trials=pl.max_horizontal(pl.col("_n").fill_null(1), 1),
        )
        # Each class of metrics writes entries of its own, in which some statistics come again.
        again, same = file.copies(found.select(*_KEY, "metric")), file.copies(found.select(*_KEY, "metric", "score"))
        file.count(_TWICE, int((again & ~same).sum()))
        failed, none = pl.col("_failure").is_not_null(), pl.col("score").is_null()
        why = pl.when(pl.col("_n") == 0).then(pl.lit("its count is 0")).otherwise(pl.lit("its mean is no number"))
        state = pl.when(failed).then(pl.lit("error")).when(none).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
        found = found.filter(~again).with_columns(
            score=pl.when(~failed).then("score"),
            status=state,
            status_reason=pl.when(none | failed).then(pl.coalesce("_failure", why)),
        )
        states = found.select("_stat", "status").iter_rows()
        raw = [None if status == "scored" else held(means[at]) for at, status in states]
        found = found.with_columns(value_raw=pl.Series(raw, dtype=pl.String))
        self._metrics.update(dict.fromkeys(found["metric"].unique(maintain_order=True)))
        self._splits.update(filter(None, found["split"].unique()))
        scored = found.filter(status="scored").group_by("metric", "split", "variant").len()
        self._n.update({(metric, split, variant): n for metric, split, variant, n in scored.iter_rows()})
        return found.drop("_stat", "_name", "_n", "_failure")

    def _is_score(self, name: str) -> bool:
        """Whether a statistic tells of the answer, and not of the request."""
        is_likelihood = name in _LIKELIHOOD and self._adapter.get("method") != "language_modeling"
        return bool(name) and _BOOKKEEPING.fullmatch(name) is None and not is_likelihood

    def _publish(self, stat: Statistics) -> None:
        """Publish a mean; that of the worst perturbation only where something was perturbed."""
        specs = get(self._spec, "data_augmenter_spec", "perturbation_specs")
        was_perturbed = bool(specs) or not isinstance(specs, list)
        name, split, perturbation = (
            as_text(stat.about.name) or "",
            as_text(stat.about.split),
            as_dict(stat.about.perturbation),
        )
        self._file.count(_NAMELESS, int(not name))
        number, n_trials = as_number(stat.mean), as_count(stat.count)
        if not self._is_score(name) or number is None or (perturbation and not was_perturbed):
            return
        on = as_text(perturbation.get("computed_on")) or "perturbed"
        metric, variant = f"{name}/{on}" if perturbation else name, perturbation_name(perturbation)
        # `count` here is the number of trials: the mean of each was taken before
        more = f", then over {n_trials} trials" if n_trials is not None and n_trials > 1 else ""
        self._published.add(self._benchmark, metric, number)
        row: Row = {
            **self._common,
            "variant": variant,
            "scenario": as_text(stat.about.sub_split),
            "metric": metric,
            "split": split,
            "estimate": number,
            "n": self._n.get((metric, split, variant)),
            "method": f"published; mean over instances{more}",
            "unit": "proportion" if 0 <= number <= 1 and _HIGHER.fullmatch(name) else None,
        }
        self._file.add("aggregates", row)

    def finish(self) -> Iterator[Sample]:
        """Return the instances without statistics, in the headline's metric, and say which splits there are."""
        items = [metric for metric in self._metrics if "/" not in metric]
        there = items or [metric for _, metric in self._published if "/" not in metric]
        groups = [as_text(group) or "" for group in as_list(self._spec.get("groups"))]
        known = [_HEADLINES[name] for name in (self._benchmark, *groups) if name in _HEADLINES]
        headline = next((metric for metric in (*known, "exact_match", *there) if metric in there), None)
        if items:
            self._file.metric(str(headline), primary=True)
        for metric in self._metrics:
            self._file.metric(metric, higher_is_better=_better(metric))
        for _, metric in self._published:
            if metric not in self._metrics:
                row = self._published.row(
                    self._benchmark, metric, higher_is_better=_better(metric), primary=not items and metric == headline
                )
                self._file.add("metrics", row)
        if not self._metrics:
            self._file.note("published numbers without items: no two models can be compared item by item")
        if len(self._splits) > 1:
            shown = "test" if "test" in self._splits else min(self._splits)
            self._file.note(
                f"its instances are of the splits {', '.join(sorted(self._splits))}; HELM's tables show one of them "
                f"(for that: {Option('where', shown, of='split')})"
            )
        for key in self._left if items else ():
            item, variant, trial = key
            shared: Row = {"run": self._common["run"], "task": self._common["task"], "item": item, "variant": variant}
            shared |= {"trial": trial, "n_trials": 1, "prompt_hash": self._digests[key]}
            reason = self._failed.get(key)
            none = unscored(reason or "HELM wrote no statistics of it", error=reason is not None)
            yield shared, [(f"{headline}/perturbed" if variant else str(headline), none)]


def _better(metric: str) -> bool | None:
    base = metric.partition("/")[0]
    return False if _LOWER.fullmatch(base) else True if _HIGHER.fullmatch(base) else None


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make a source of every folder; files under other names stand alone."""
    folders: dict[Path, dict[str, Path]] = {}
    for path in sorted(files):
        name = plain_name(path)
        folders.setdefault(path.parent if name in _FILES else path, {}).setdefault(name, path)
    for found in folders.values():
        first, *others = (found[name] for name in (*_FILES, *found) if name in found)
        if plain_name(first) in (_STATE, _SPEC):
            message = f"has no scores: neither {_INSTANCES} nor {_STATS} is beside it; it is skipped"
            yield Problem(path=str(first), message=message, severity="note")
        else:
            yield Source(path=first, companions=tuple(dict.fromkeys(path for path in others if path != first)))


_BESIDE: Final = "a file that HELM writes beside the results"
_FAILURES: Final = (
    "{n} scores are of requests that failed: they are errors (`value_raw` has the score that HELM gives an "
    "empty answer)"
)
FORMAT: Final = Format(
    name="helm",
    title="HELM run folders (per_instance_stats.json, stats.json, scenario_state.json, run_spec.json)",
    version="1",
    upstream="stanford-crfm/helm at 63754d0, benchmark/runner.py, metrics/metric.py, metrics/statistic.py, executor.py",
    benchmark="HELM",
    harness="HELM",
    signs=(
        Sign("instance_id stats", 0.95, without="predicted_text", shapes=("array",)),
        Sign("name count sum", text=('"split"',), shapes=("array",)),
        Sign("scenario_spec adapter_spec", 0.95, shapes=OBJECT),
        Sign("adapter_spec", text=('"request_states"',), shapes=OBJECT),
        Sign("adapter_spec", name=_STATE, shapes=OBJECT),
        # What summaries and the web page are made of; no result stands only there.
        Sign("name description", 0.6, name="scenario.json", skip=_BESIDE),
        Sign("input references", 0.6, name="instances.json", skip=_BESIDE),
        Sign("instance_id", 0.6, name="display_predictions.json", skip=_BESIDE),
        Sign("instance_id", 0.6, name="display_requests.json", skip=_BESIDE),
        Sign("scenario_spec adapter_spec", 0.6, name="run_specs.json", skip=_BESIDE),
        Sign("run_spec", 0.6, name="runs.json", skip=_BESIDE),
    ),
    record=Statistics,
    columns=lambda records, file: file.state(_Run).at_once(records),
    finish=lambda file: file.state(_Run).finish(),
    keep=(_STATE, _SPEC),
    called="statistics",
    grouped=_grouped,
    counts={_FAILURES: FAILED},
    expected=f"Put {_INSTANCES} or {_STATS} of the same run beside it",
)
