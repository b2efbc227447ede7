"""`evalstats run`: two commands are asked item by item until the difference between them is decided, and no longer.

Items are taken in random order, each command once an item; after every batch the confidence sequence of `compare` is looked at,
which holds at every look. What was answered stands in a journal at once, so that a run that was killed goes on where it was.
"""

import csv
import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evalstats.atomic import write_whole
from evalstats.cli import options
from evalstats.errors import EvalStatsError, InputError, Option
from evalstats.record import record
from evalstats.regular import read_regular

if TYPE_CHECKING:
    from evalstats.analysis.compare.result import Comparison

Row = dict[str, Any]
# Asks one side about one item, and returns what it scored: `score`, or `error` with the reason.
Asker = Callable[[Row], Row]

SIDES = ("baseline", "candidate")
JOURNAL, SETTINGS, STORE = "outcomes.jsonl", "run.json", "store"
COLUMNS = ("item", "model", "score", "status", "status_reason", "timestamp", "latency_s")
_IDS = ("id", "item", "item_id", "question_id", "sample_id", "example_id", "idx", "index")
_KEPT = ("cost_usd", "latency_s", "input_tokens", "output_tokens", "n_turns")
_DECIDED = ("better", "worse", "equivalent")
_REASON_CHARS = 200
_MOST_ITEMS = 1_000_000


@record
class Limits:
    """How far a run goes: at most so many items, looked at after every batch, with a margin and a level."""

    budget: int
    batch: int = 20
    jobs: int = 1
    margin: str | None = None
    conf_level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that are none."""
        for name in ("budget", "batch", "jobs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give a whole number of at least 1")


def command_asker(command: str, *, timeout: float) -> Asker:
    """Return what asks a command: the item as JSON on its standard input, its score on its standard output.

    The last line that it prints is a number, true or false, or an object with `score` (and `cost_usd` and the like), or with
    `error`. Another exit status than 0, no such line and a time-out are errors of the run, and no wrong answers. There is no
    shell.
    """
    parts = shlex.split(command)
    if not parts:
        raise InputError("the command is empty; give what is run once per item, such as 'python ask.py'")

    def ask(item: Row) -> Row:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                parts, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise InputError(f"{parts[0]!r} cannot be run ({error.strerror or error}); check the command") from error
        try:
            out, err = process.communicate(json.dumps(item).encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"error": f"no answer within {timeout:g} s"}
        if process.returncode:
            said = err.decode(errors="replace").strip().splitlines()
            return {"error": f"exit status {process.returncode}{f': {said[-1]}' if said else ''}"}
        return answer_of(out.decode(errors="replace"))

    return ask


def answer_of(text: str) -> Row:
    r"""Read what a command printed.

    >>> answer_of("thinking...\n1"), answer_of('{"score": 0.5, "cost_usd": 0.01}')
    ({'score': 1.0}, {'score': 0.5, 'cost_usd': 0.01})
    >>> answer_of("I think so")
    {'error': "printed no score as its last line: 'I think so'"}
    """
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    unread = {"error": f"printed no score as its last line: {last[:_REASON_CHARS]!r}"}
    try:
        value: object = json.loads(last)
    except ValueError:
        return unread
    answer = cast("Row", value) if isinstance(value, dict) else {"score": value}
    if answer.get("error") is not None:
        return {"error": str(answer["error"])}
    score = answer.get("score")
    if not isinstance(score, int | float) or not math.isfinite(score):
        return unread
    kept = {name: answer[name] for name in _KEPT if isinstance(answer.get(name), int | float)}
    return {"score": float(score), **kept}


def read_items(path: Path, key: str | None = None) -> dict[str, Row]:
    """Return the items of a JSON Lines or CSV file by their ids: the column `key`, else a usual one, else the line's number.

    InputError if the file cannot be read, or an id stands twice.
    """
    try:
        text = read_regular(path).removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    if text.lstrip().startswith(("{", "[")):
        try:
            whole: list[Any] = (
                json.loads(text)
                if text.lstrip().startswith("[")
                else [json.loads(line) for line in text.splitlines() if line.strip()]
            )
        except ValueError as error:
            raise InputError(f"{path}: is neither JSON Lines nor a JSON list ({error})") from error
        rows: list[Row] = [cast("Row", row) if isinstance(row, dict) else {"input": row} for row in whole]
    else:
        rows = list(csv.DictReader(text.splitlines()))
    if not rows or len(rows) > _MOST_ITEMS:
        raise InputError(f"{path}: holds {len(rows):,} items; between 1 and {_MOST_ITEMS:,} were expected")
    name = key or next((each for each in _IDS if all(row.get(each) not in (None, "") for row in rows)), None)
    if key is not None and any(row.get(key) in (None, "") for row in rows):
        raise InputError(f"{path}: column {key!r} is empty or absent in some items; name another with {Option('key')}")
    items: dict[str, Row] = {}
    for number, row in enumerate(rows, start=1):
        item = str(row[name]) if name is not None else str(number)
        if item in items:
            raise InputError(f"{path}: item {item!r} appears twice; give each item its own id")
        items[item] = row
    return items


def drive(
    items: Mapping[str, Row],
    askers: Sequence[Asker],
    folder: Path,
    limits: Limits,
    *,
    settings: Mapping[str, object],
    rules: Sequence[str] = (),
) -> Iterator["Comparison"]:
    """Ask both sides item by item, in batches, and yield the comparison at each look; the last one is decided or all there is.

    `settings` say what is run: a folder that holds another run is refused, one of the same run is gone on with.
    """
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    told = {**settings, "seed": limits.seed, "margin": limits.margin, "budget": limits.budget, "items": len(items)}
    if (folder / SETTINGS).exists():
        before: Row = json.loads(read_regular(folder / SETTINGS))
        other = [name for name in told if told[name] != before.get(name)]
        if other:
            raise InputError(
                f"{folder}: holds a run of another {other[0]}; give a folder of its own with {Option('out')}"
            )
    else:
        write_whole(folder / SETTINGS, json.dumps(told, indent=1) + "\n")
    done = _journalled(folder / JOURNAL)
    names = list(items)
    places: list[int] = np.random.default_rng(limits.seed).permutation(len(names)).tolist()
    order = [names[place] for place in places]
    left = [name for name in order[: limits.budget] if name not in done]
    if done:
        yield (found := look(folder, limits, len(items)))
        if decides(found, rules):
            return

    def asked(name: str) -> str:
        return _asked(name, items[name], askers, min(limits.budget, len(items)))

    with ThreadPoolExecutor(limits.jobs) as pool, (folder / JOURNAL).open("a", encoding="utf-8") as journal:
        for first in range(0, len(left), limits.batch):
            for lines in pool.map(asked, left[first : first + limits.batch]):
                journal.write(lines)
                journal.flush()
                os.fsync(journal.fileno())
            yield (found := look(folder, limits, len(items)))
            if decides(found, rules):
                return


def _asked(name: str, item: Row, askers: Sequence[Asker], planned: int) -> str:
    """Ask both sides about an item, and return their lines of the journal."""
    from evalstats.schema.columns import LOOKS

    lines: list[str] = []
    looks = f"after every batch, {planned} planned"
    for side, ask in zip(SIDES, askers, strict=True):
        began = perf_counter()
        answer = ask(item)
        row: Row = {
            "item": name,
            "model": side,
            "score": answer.get("score"),
            "status": "scored",
            "status_reason": None,
        }
        if "score" not in answer:
            row |= {"status": "error", "status_reason": str(answer.get("error", "no score"))[:_REASON_CHARS]}
        row |= {"latency_s": round(perf_counter() - began, 6), **{k: v for k, v in answer.items() if k in _KEPT}}
        lines.append(json.dumps({**row, "timestamp": datetime.now(UTC).isoformat(), LOOKS: looks}))
    return "\n".join(lines) + "\n"


def _journalled(path: Path) -> set[str]:
    """Return the items that both sides have; a line that a kill cut off, and an item with one side alone, are taken out."""
    if not path.exists():
        return set()
    kept: dict[str, list[str]] = {}
    for line in read_regular(path).splitlines():
        try:
            kept.setdefault(str(json.loads(line)["item"]), []).append(line)
        except (ValueError, KeyError, TypeError):
            continue
    whole = {name: lines for name, lines in kept.items() if len(lines) == len(SIDES)}
    from evalstats.cli.output import write_atomically

    write_atomically(path, "".join(f"{line}\n" for lines in whole.values() for line in lines))
    return set(whole)


def look(folder: Path, limits: Limits, n_items: int) -> "Comparison":
    """Compare what the journal holds so far, by the interval that holds at every look."""
    from evalstats.analysis.compare.compare import compare
    from evalstats.loaders.column_map import ColumnMap
    from evalstats.loaders.registry import read

    data = read(folder / JOURNAL, column_map=ColumnMap.from_options([f"{name}={name}" for name in COLUMNS]))
    failed = data.outcomes.filter(status="error")
    for side in SIDES:
        own = failed.filter(model=side)
        if own.height and own.height == data.outcomes.filter(model=side).height:
            raise InputError(
                f"the {side} failed on all {own.height:,} items so far ({own['status_reason'][0]}); mend the command, and give "
                f"a new folder with {Option('out')}"
            )
    return compare(
        data,
        *SIDES,
        sequential=True,
        planned_n=min(limits.budget, n_items),
        margin=limits.margin,
        conf_level=limits.conf_level,
        seed=limits.seed,
    )


def decides(result: "Comparison", rules: Sequence[str] = ()) -> bool:
    """Whether a run can stop: it has a verdict, or, where a gate asks for no more, excludes a loss beyond the margin."""
    noninferior = result.at_margin is not None and result.at_margin.noninferior
    return result.verdict in _DECIDED or ("not-noninferior" in rules and noninferior)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", cls=options.Command)(run)


def run(
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="CMD", help="Command for the baseline, run once per item.")
    ],
    candidate: Annotated[str, typer.Option("--candidate", metavar="CMD", help="Command for the candidate.")],
    items: Annotated[Path, typer.Option("--items", metavar="FILE", help="Items: JSON Lines, a JSON list or CSV.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the run; reuse it to resume.")],
    margin: Annotated[
        str | None, typer.Option("--margin", metavar="TEXT", help="Largest difference that does not matter: 2pp.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", help="Maximum number of items; default: all.", show_default=False),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Items between looks.")] = 20,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Items to run in parallel.")] = 1,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Time limit for an answer; a timeout is an error.")
    ] = 120,
    key: Annotated[
        str | None, typer.Option("--key", metavar="COLUMN", help="Column with the item ids.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed for the order of the items.")] = 0,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on", metavar="RULE", help="Exit with status 1 if the rule fails, as in compare.", show_default=False
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Run two commands item by item until the result is decided.

    Each reads an item as JSON from standard input and prints its score as the last line: a number, true, false, or an object
    with score (and cost_usd). The interval is valid at every look, so stopping early is allowed.
    """
    from evalstats.analysis.compare.gate import check_rule, gate
    from evalstats.cli.ingest_run import ingest
    from evalstats.cli.output import say, written
    from evalstats.document.numbers import interval_words, scaled
    from evalstats.loaders.column_map import ColumnMap

    for rule in fail_on or ():
        check_rule(rule, has_margin=margin is not None)
    read = read_items(items, key)
    limits = Limits(budget=budget or len(read), batch=batch, jobs=jobs, margin=margin, seed=seed)
    askers = [command_asker(command, timeout=timeout) for command in (baseline, candidate)]
    asked, result = {"baseline": baseline, "candidate": candidate}, None
    try:
        for result in drive(read, askers, out, limits, settings=asked, rules=fail_on or ()):
            where = f"{result.n_items:,} of {min(limits.budget, len(read)):,} items"
            shown = f"{scaled(result.estimate, result.scale, 1, sign=True)} {result.unit}".rstrip()
            ends = interval_words(result.conf_low, result.conf_high, result.scale)
            say(f"{where}: {shown}, {ends}, {result.verdict}", quiet=quiet)
    except KeyboardInterrupt:
        raise EvalStatsError(f"stopped; the same command goes on with the run in {out}") from None
    if result is None:
        raise InputError(f"{items}: holds no item left to ask")
    columns = ColumnMap.from_options([f"{name}={name}" for name in COLUMNS])
    ingest([out / JOURNAL], out / STORE, column_map=columns)
    left = min(limits.budget, len(read)) - result.n_items
    if decides(result, fail_on or ()) and left > 0:
        say(f"decided with {left:,} items to spare", quiet=quiet)
    print(written(result, quiet=quiet))
    say(f"to ask again: evalstats compare {' '.join(SIDES)} --store {out / STORE}", quiet=quiet)
    if fail_on:
        judged = gate(result, *fail_on)
        say(
            f"gate {'passed' if judged.passed else 'failed' if judged.passed is False else 'not answered'}: {judged.reason}"
        )
        raise typer.Exit(judged.exit_status)
