"""Which systems were measured alike: a score by another judge or another version of the task is another quantity.

Two systems with a grave difference between their runs (see `analysis.comparability`) are not compared. Systems are
gathered around the first of their kind, so that each is looked at against a few others and not against all.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.analysis.arms import Arm
from evalstats.analysis.comparability.comparability import RunDifference, Severity, run_comparability
from evalstats.schema.data import EvalData

Bools = npt.NDArray[np.bool_]
# Which items a system has is the comparability graph's matter, in full.
_ELSEWHERE = frozenset({"items", "n_trials"})
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """One thing in which the runs of some systems differ from those of another, the reference.

    `explanation` is that of the first of them, a clause without a full stop; `alike` is whether it is the same for all.
    Severities are those of `RunDifference`.
    """

    setting: str
    severity: Severity
    reference: str
    models: tuple[str, ...]
    explanation: str
    alike: bool = True

    def __str__(self) -> str:
        if self.setting == "unrecorded":
            return self.explanation
        shown = ", ".join(self.models[:_SHOWN])
        more = f" and {len(self.models) - _SHOWN} more" if len(self.models) > _SHOWN else ""
        so = "" if self.alike else f" (so for {self.models[0]}, and likewise for the rest)"
        return f"{shown}{more} against {self.reference}: {self.explanation}{so}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulers:
    """Who was measured alike: the number of every system's kind, and all differences that are known.

    `apart` are the settings that set the kinds apart; empty where there is one kind.
    """

    kind: tuple[int, ...]
    differences: tuple[EntryDifference, ...] = ()
    apart: tuple[str, ...] = ()

    def allowed(self) -> Bools:
        """Return which two systems may be compared, shape (n_models, n_models)."""
        kinds = np.array(self.kind)
        return np.asarray(kinds[:, np.newaxis] == kinds, dtype=np.bool_)

    def of(self, severity: Severity) -> tuple[str, ...]:
        """Return the differences of one severity in words."""
        return tuple(str(each) for each in self.differences if each.severity == severity)

    def refusal(self) -> tuple[str, ...]:
        """Return why some are not compared with others, and how to declare that the difference is intended."""
        if not self.apart:
            return ()
        options = " ".join(f"--accept {name}" for name in self.apart)
        listed = ", ".join(f'"{name}"' for name in self.apart)
        advice = (
            f"models whose runs differ in {' or '.join(self.apart)} are not compared with one another; where the difference is "
            f"intended, declare it: {options} (in Python: accept=[{listed}])"
        )
        return (*self.of("invalid"), advice)

    def ordered(self, order: Sequence[int]) -> "Rulers":
        """Put the systems in another order."""
        return Rulers(kind=tuple(self.kind[j] for j in order), differences=self.differences, apart=self.apart)


def rulers_of(
    data: EvalData, arms: Sequence[Arm], *, contrast: str, accept: Collection[str], reference: int = 0
) -> Rulers:
    """Compare what is recorded of the systems' runs, and gather those that were measured alike.

    Parameters
    ----------
    accept
        Settings in which the runs differ on purpose.
    reference
        The system to look at first; it is of kind 0.
    """
    order = [reference, *(j for j in range(len(arms)) if j != reference)]
    firsts: list[int] = []
    kind = [0] * len(arms)
    seen: list[tuple[str, str, RunDifference]] = []
    grave: list[RunDifference] = []
    for j in order:
        for number, first in enumerate(firsts):
            found = _differences(data, arms[first], arms[j], contrast, accept)
            invalid = [each for each in found if each.severity == "invalid"]
            grave.extend(invalid)
            seen.extend((arms[first].name, arms[j].name, each) for each in (invalid or found))
            if not invalid:
                kind[j] = number
                break
        else:
            kind[j] = len(firsts)
            firsts.append(j)
    apart = tuple(dict.fromkeys(each.setting for each in grave)) if len(firsts) > 1 else ()
    return Rulers(kind=tuple(kind), differences=_gathered(seen), apart=apart)


def _differences(
    data: EvalData, first: Arm, second: Arm, contrast: str, accept: Collection[str]
) -> list[RunDifference]:
    found = run_comparability(
        data,
        first.runs,
        second.runs,
        first_rows=first.rows,
        second_rows=second.rows,
        contrast=contrast,
        accept=accept,
    )
    return [each for each in found if each.setting not in _ELSEWHERE]


def _gathered(seen: Sequence[tuple[str, str, RunDifference]]) -> tuple[EntryDifference, ...]:
    """Say of several systems at once that they differ from one in the same setting."""
    models: dict[tuple[str, str, Severity], list[str]] = {}
    words: dict[tuple[str, str, Severity], list[str]] = {}
    for reference, name, each in seen:
        key = (reference, each.setting, each.severity)
        models.setdefault(key, []).append(name)
        words.setdefault(key, []).append(each.explanation)
    unrecorded = False
    found: list[EntryDifference] = []
    for key, names in models.items():
        reference, setting, severity = key
        # That nothing is recorded is said once, whoever was looked at.
        if setting == "unrecorded" and unrecorded:
            continue
        unrecorded = unrecorded or setting == "unrecorded"
        found.append(
            EntryDifference(
                setting=setting,
                severity=severity,
                reference=reference,
                models=tuple(names),
                explanation=words[key][0],
                alike=len(set(words[key])) == 1,
            )
        )
    return tuple(found)
