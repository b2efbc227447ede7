"""What there is to find in a simulated lab and live world: every true number that a layer of `gap()` estimates."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.simulate.lab_live_world import LabLiveWorld
from evalstats.stats.checks import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabLiveTruth:
    """True values over endless users, and over endless items in the lab's own mix.

    Arrays go along `models` (both sides), then `lab_only`, unless they say otherwise; gaps are live less lab.

    Attributes
    ----------
    unit
        Of the live side: "proportion", or "log-odds" for votes.
    lab_names, live_names
        Names as either side writes them; `aliases` maps the first to the second where they differ.
    ideal
        The scenario of the ideal user.
    lab_mix, live_mix
        Shares of the scenarios.
    lab_cells, live_cells
        Shape (n, n_scenarios): probabilities of success; `live_cells` is None for votes.
    lab, live
        Score of each model: probability of success over its side's mix; for votes the strength, sum 0 over `models`.
    total, mix, behaviour
        live less lab; the part that the mix makes, and that behaviour within scenarios makes (Kitagawa's, without
        interaction). None for votes, and the parts also where one side never has a scenario that the other has.
    poststratified
        The lab's probabilities over the live mix, which are what the lab can know; None where the lab never covers one.
    drop
        Success with users that are not ideal, in their live shares, less that with the ideal one, both in the lab (negative:
        the model does worse); None where the live mix has ideal users only.
    planted
        The gap put in (with the random one where tau is above 0), scenario by scenario ones left out.
    slope, intercept
        Line through the true scores of `models`, planted gaps taken out: with one mix on both sides slope 1 and intercept
        `behaviour_shift`; for votes the slope asked for.
    calibrated
        Distance of the true live score from that line: the planted gap, and what no line can follow.
    deleted
        Of `models` only: distance from the line through the true scores of all other models, planted gaps and all.
    tau
        Standard deviation (n - 2) of `calibrated` over models without a planted gap; None where fewer than 3 are left.
    """

    models: tuple[str, ...]
    lab_only: tuple[str, ...]
    lab_names: tuple[str, ...]
    live_names: tuple[str, ...]
    scenarios: tuple[str, ...]
    ideal: str
    unit: str
    lab_mix: FloatArray
    live_mix: FloatArray
    lab_cells: FloatArray
    live_cells: FloatArray | None
    lab: FloatArray
    live: FloatArray
    total: FloatArray | None
    mix: FloatArray | None
    behaviour: FloatArray | None
    poststratified: FloatArray | None
    drop: FloatArray | None
    planted: FloatArray
    slope: float
    intercept: float
    calibrated: FloatArray
    deleted: FloatArray
    tau: float | None

    @property
    def aliases(self) -> dict[str, str]:
        """Name in the lab to name live, where they differ."""
        return {
            lab: live
            for lab, live in zip(self.lab_names[: len(self.models)], self.live_names, strict=True)
            if lab != live
        }

    def to_frame(self) -> pl.DataFrame:
        """One row for each model, with every number that is one a model."""
        columns: dict[str, object] = {
            "model": [*self.models, *self.lab_only],
            "lab_name": list(self.lab_names),
            "live_name": [*self.live_names, *[None] * len(self.lab_only)],
            **{
                name: getattr(self, name)
                for name in (
                    "lab",
                    "live",
                    "total",
                    "mix",
                    "behaviour",
                    "poststratified",
                    "drop",
                    "planted",
                    "calibrated",
                )
            },
            "deleted": [*self.deleted.tolist(), *[None] * len(self.lab_only)],
        }
        return pl.DataFrame(columns, strict=False)

    def to_dict(self) -> dict[str, object]:
        """Return what a JSON file can hold."""
        cells: dict[str, object] = {
            name: [] if table is None else table.tolist()
            for name, table in (("lab_cells", self.lab_cells), ("live_cells", self.live_cells))
        }
        return {
            "unit": self.unit,
            "ideal": self.ideal,
            "scenarios": list(self.scenarios),
            "lab_mix": self.lab_mix.tolist(),
            "live_mix": self.live_mix.tolist(),
            "slope": self.slope,
            "intercept": self.intercept,
            "tau": self.tau,
            "aliases": self.aliases,
            "models": self.to_frame().to_dicts(),
            **cells,
        }


def lab_live_truth(world: LabLiveWorld) -> LabLiveTruth:
    """Work out every true value of a world.

    Examples
    --------
    >>> from evalstats.simulate.lab_live_design import LabLiveDesign
    >>> from evalstats.simulate.lab_live_world import make_lab_live_world
    >>> truth = lab_live_truth(make_lab_live_world(LabLiveDesign(n_models=8, gaps={"model-03": -0.15})))
    >>> round(truth.slope, 9), truth.calibrated[2].round(9), abs(truth.mix).max() < 1e-12
    (1.0, np.float64(-0.15), np.True_)
    """
    design, n = world.design, world.n_models
    lab = world.lab_cells @ world.lab_mix
    live = world.strengths if world.live_cells is None else world.live_cells @ world.live_mix
    assert live is not None, "a world has cells or strengths"  # noqa: S101 - for the type
    slope, intercept = _line(lab[:n], (live - world.gaps)[:n])
    calibrated = live - intercept - slope * lab
    mix, behaviour = _kitagawa(world)
    lab_names, live_names = _written(world.names, n, aliases=design.aliases)
    return LabLiveTruth(
        models=design.names,
        lab_only=design.lab_only,
        lab_names=lab_names,
        live_names=live_names,
        scenarios=tuple(design.scenarios),
        ideal=design.scenarios[0],
        unit="log-odds" if world.live_cells is None else "proportion",
        lab_mix=world.lab_mix,
        live_mix=world.live_mix,
        lab_cells=world.lab_cells,
        live_cells=world.live_cells,
        lab=lab,
        live=live,
        total=None if world.live_cells is None else live - lab,
        mix=mix,
        behaviour=behaviour,
        poststratified=world.lab_cells @ world.live_mix if _covers(world) else None,
        drop=_drop(world),
        planted=world.gaps,
        slope=slope,
        intercept=intercept,
        calibrated=calibrated,
        deleted=_deleted(lab[:n], live[:n]),
        tau=_tau(calibrated[:n], np.array([name in design.gaps for name in design.names])),
    )


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    across = x - x.mean()
    slope = float(across @ y / (across @ across))
    return slope, float(y.mean() - slope * x.mean())


def _deleted(x: FloatArray, y: FloatArray) -> FloatArray:
    if x.size <= 2:
        return np.full(x.size, np.nan)
    lines = [_line(np.delete(x, m), np.delete(y, m)) for m in range(x.size)]
    return np.array([y[m] - intercept - slope * x[m] for m, (slope, intercept) in enumerate(lines)])


def _tau(calibrated: FloatArray, planted: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float | None:
    rest = calibrated[~planted]
    return None if rest.size < 3 else float(np.sqrt(rest @ rest / (rest.size - 2)))


def _covers(world: LabLiveWorld) -> bool:
    return not ((world.lab_mix == 0.0) & (world.live_mix > 0.0)).any()


def _kitagawa(world: LabLiveWorld) -> tuple[FloatArray | None, FloatArray | None]:
    if world.live_cells is None or ((world.lab_mix > 0.0) != (world.live_mix > 0.0)).any():
        return None, None
    mix = (world.lab_cells + world.live_cells) / 2.0 @ (world.live_mix - world.lab_mix)
    behaviour = (world.live_cells - world.lab_cells) @ ((world.lab_mix + world.live_mix) / 2.0)
    return mix, behaviour


def _drop(world: LabLiveWorld) -> FloatArray | None:
    others = world.live_mix[1:]
    if others.sum() == 0.0:
        return None
    return world.lab_cells[:, 1:] @ (others / others.sum()) - world.lab_cells[:, 0]


def _written(names: tuple[str, ...], n: int, *, aliases: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names as the lab and as the live side write them: `model-03` and `Model 03 (2026-03)`."""
    if not aliases:
        return names, names[:n]
    return names, tuple(f"{name.replace('-', ' ').title()} (2026-03)" for name in names[:n])


def mix_of(names: tuple[str, ...], shares: FloatArray) -> Mapping[str, float]:
    """Return the shares by name, those above 0."""
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0.0}
