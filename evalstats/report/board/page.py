"""What the leaderboard page is about: the data it was given, the leaderboard, and the same with suspected clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from evalstats.analysis.grouping import without_clusters
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.errors import EvalStatsError
from evalstats.loaders.plan_file import read_plan
from evalstats.report.again import plan_again
from evalstats.report.board.names import board_names, with_board_names
from evalstats.report.handover import read_data
from evalstats.report.opened import files_of, names_given, reading_of, shown_day
from evalstats.report.rutbench import code_to_repeat, simulated_rutbench
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan

Adjust = Literal["max-t", "holm", "bh", "by"]
_MOST_SUSPECTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardPage:
    """A leaderboard and what the page says around it.

    Attributes
    ----------
    board
        Names in it are as the page shows them: long ones shortened.
    alternatives
        The same leaderboard with clusters that the data hint at and nobody declared, by name of the factor.
    reproduce
        Code that gives the same result.
    full_names
        Shortened names of `board` with what they stand for.
    files
        Name of the file of every run.
    """

    board: Leaderboard
    alternatives: tuple[tuple[str, Leaderboard], ...] = ()
    engine: str = ""
    rendered: date
    reproduce: str = ""
    full_names: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    data: EvalData
    metric: str | None
    baseline: str | None
    adjust: Adjust | None
    models: tuple[str, ...] | None
    conf_level: float | None
    contrast: str
    pass_hat: int | None
    pass_at: int | None
    accept: tuple[str, ...]
    missing: str | None
    plan: Plan | None
    seed: int

    def answer(self, cluster: Sequence[str] | None) -> Leaderboard:
        return leaderboard(
            self.data,
            metric=self.metric,
            baseline=self.baseline,
            cluster=cluster,
            adjust=self.adjust,
            models=self.models,
            conf_level=self.conf_level,
            contrast=self.contrast,
            pass_hat=self.pass_hat,
            pass_at=self.pass_at,
            accept=self.accept,
            missing=self.missing,
            plan=self.plan,
            seed=self.seed,
        )


def open_page(
    *,
    store: str = "",
    metric: str | None = None,
    baseline: str | None = None,
    cluster: str | Sequence[str] | None = None,
    adjust: Adjust | None = None,
    models: str | Sequence[str] | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    pass_hat: int | None = None,
    pass_at: int | None = None,
    accept: str | Sequence[str] | None = None,
    missing: str | None = None,
    plan: str | Path | None = None,
    seed: int = 0,
    reading: str = "",
    engine: str = "",
    rendered: str = "",
) -> LeaderboardPage:
    """Read the data and put all models into their places.

    Parameters
    ----------
    store
        Folder of a store or of tables; empty for simulated results of RUT-Bench, so that the page can be rendered as it
        stands.
    cluster, models, accept
        One or several names.
    plan
        Path of an `evalstats.toml`.
    reading
        Python expression that reads the data, for the code that repeats the leaderboard.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.leaderboard` raises.
    """
    question = _Question(
        data=read_data(store) if store else simulated_rutbench(),
        metric=metric,
        baseline=baseline or None,
        adjust=adjust,
        models=names_given(models),
        conf_level=conf_level,
        contrast=contrast,
        pass_hat=pass_hat,
        pass_at=pass_at,
        accept=names_given(accept) or (),
        missing=missing,
        plan=read_plan(plan) if plan else None,
        seed=seed,
    )
    clusters = names_given(cluster)
    result = question.answer(clusters)
    names = board_names(result)
    return LeaderboardPage(
        board=with_board_names(result, names),
        alternatives=tuple(
            (factor, with_board_names(other, names)) for factor, other in _asked_again(question, result, clusters)
        ),
        engine=engine,
        rendered=shown_day(rendered),
        reproduce=code_to_repeat("leaderboard", _options(question, clusters, plan), reading_of(store, reading)),
        full_names=tuple((short, name) for name, short in names.items()),
        files=files_of(question.data),
    )


def _asked_again(
    question: _Question, board: Leaderboard, clusters: tuple[str, ...] | None
) -> list[tuple[str, Leaderboard]]:
    """Repeat the leaderboard with every factor that was flagged as undeclared dependence taken for clusters."""
    if without_clusters(clusters):
        return []
    found: list[tuple[str, Leaderboard]] = []
    for row in [row for row in board.dependence if row.flag == "warn"][:_MOST_SUSPECTS]:
        try:
            found.append((row.factor, question.answer([*(clusters or ()), row.factor])))
        except EvalStatsError:  # it cannot serve as clusters; the warning itself stands on the page
            continue
    return found


def _options(
    question: _Question, clusters: tuple[str, ...] | None, plan: str | Path | None
) -> tuple[tuple[str, object, object], ...]:
    """Return the arguments of the leaderboard: name, value, default."""
    return (
        ("metric", question.metric, None),
        ("baseline", question.baseline, None),
        ("cluster", list(clusters) if clusters else None, None),
        ("adjust", question.adjust, None),
        ("models", list(question.models) if question.models else None, None),
        ("conf_level", question.conf_level, None),
        ("contrast", question.contrast, "model"),
        ("pass_hat", question.pass_hat, None),
        ("pass_at", question.pass_at, None),
        ("accept", list(question.accept), []),
        ("missing", question.missing, None),
        ("plan", plan_again(plan), None),
        ("seed", question.seed, 0),
    )
