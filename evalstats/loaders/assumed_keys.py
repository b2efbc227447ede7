"""What must hold across the rows of an assumed format: one row a key, one description an item, one system a run."""

from dataclasses import dataclass, field
from typing import Any

from evalstats.errors import InputError
from evalstats.loaders.assumed_rows import AssumedTable, Record
from evalstats.loaders.base import Source
from evalstats.loaders.mapping import ORDER

_SHOWN_CHARS = 80


@dataclass(slots=True)
class Ledger:
    """Remembers keys, items and runs while the rows of one table go by."""

    table: AssumedTable
    source: Source
    _keys: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])
    _orders: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    _items: dict[str, tuple[str, dict[str, str | None]]] = field(
        default_factory=dict[str, tuple[str, dict[str, str | None]]]
    )
    _runs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def required(self, record: Record, name: str) -> str:
        """Return a field that every row must have.

        Raises
        ------
        InputError
            If it is empty.
        """
        text = record.fields.get(name)
        if text is None:
            raise InputError(f"{record.where} has no {name}; every row needs one")
        return text

    def run(self, record: Record, model: str, system: str, *, parts: tuple[str, ...]) -> str:
        """Return the name of the run that a row belongs to, and take note of it.

        Raises
        ------
        InputError
            If a run of that name is of another system.
        """
        own = record.fields.get("run")
        name = self.source.run_id(*(part for part in (*parts, own) if part))
        known = self._runs.setdefault(name, {"model": model, "system": system, "judges": set(), "simulated": {}})
        if (known["model"], known["system"]) != (model, system):
            message = (
                f"{record.where}: run {name!r} is of {known['system']!r} and of {system!r}; give the systems names that "
                "differ in more than dots"
            )
            raise InputError(message)
        known["judges"].add(record.kept.get("judge"))
        if record.fields.get("simulated") is not None and len(known["simulated"]) < 3:
            known["simulated"][record.fields["simulated"]] = None
        return name

    def trial(self, record: Record, key: tuple[object, ...], what: str) -> dict[str, object]:
        """Return trial and n_trials of a row, and refuse one that repeats an earlier row.

        Raises
        ------
        InputError
            If the key with its trial stands in an earlier row already.
        """
        if self.table.bound.trial_from_order:
            trial: object = self._orders.get(key, 0)
            self._orders[key] = self._orders.get(key, 0) + 1
        else:
            trial = record.kept.get("trial", None if "n_trials" in record.kept else 0)
        first = self._keys.setdefault((*key, trial), record.where)
        if first != record.where:
            message = (
                f"{record.where} repeats {what[: 3 * _SHOWN_CHARS]}, which stands in {first} already; tell repetitions apart "
                f"by a column trial, or number them in the order of the file: {self.table.form.how_to_map(f'trial={ORDER}')}"
            )
            raise InputError(message)
        n_trials = record.kept.get("n_trials", None if trial is None else 1)
        return {"trial": trial, "n_trials": n_trials}

    def describe(self, record: Record, item: str, said: dict[str, str | None]) -> None:
        """Check that an item is described as it was before.

        Raises
        ------
        InputError
            If a row says something else of it.
        """
        where, known = self._items.setdefault(item, (record.where, said))
        for name, level in said.items():
            if known[name] != level:
                message = (
                    f"{record.where}: {_short(item)} has {name} {_short(level)}, but in {where} it has {_short(known[name])}; "
                    f"one item has one {name}: mend the file, or give the items names that differ"
                )
                raise InputError(message)

    def run_rows(self, *, factor_names: list[str], dependence: list[str], note: str = "") -> list[dict[str, object]]:
        """Make the rows of `runs`; each says that the format is assumed, and whether it is simulated."""
        dependent = list(dict.fromkeys([*dependence, *self.table.bound.dependence]))
        config = self.table.map_.as_config()
        rows: list[dict[str, object]] = []
        for name, known in self._runs.items():
            simulated = f"simulated: {'; '.join(known['simulated'])}" if known["simulated"] else ""
            judge = next(iter(known["judges"])) if len(known["judges"]) == 1 else None
            rows.append(
                {
                    "run": name,
                    "model": known["model"],
                    "system": known["system"],
                    "benchmark": self.table.form.benchmark,
                    "judge": judge,
                    "factor_names": factor_names,
                    "dependence": dependent,
                    "config": _as_json(config) if config else None,
                    "note": "; ".join(part for part in (simulated, self.table.form.note, note) if part),
                }
            )
        return rows


def _short(text: str | None) -> str:
    return "none" if text is None else repr(text[:_SHOWN_CHARS])


def _as_json(config: dict[str, object]) -> str:
    import json

    return json.dumps(config, ensure_ascii=False)
