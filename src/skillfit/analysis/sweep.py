"""The jobs of a sweep as one table: what differed, the dev metric with its interval, and what failed and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io import read_json
from skillfit.io.lock import is_locked
from skillfit.provenance import CONFIG, MARKER, NO_MATTER, read_state

FINISHED, FAILED, RUNNING, STOPPED, MISSING = "finished", "failed", "running", "stopped", "not started"
METRICS = "metrics.json"


@dataclass(frozen=True)
class SweepJob:
    """One job: `settings` are those of its overrides that not all jobs share; low, high, n: of the dev metric."""

    name: str
    folder: str
    settings: Mapping[str, str]
    status: str
    reason: str = ""
    metric: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class Sweep:
    """All jobs of a sweep in the order of their names. splits: what the jobs trained and chose on."""

    folder: Path
    jobs: tuple[SweepJob, ...]
    monitor: str
    splits: tuple[str, ...]

    @property
    def finished(self) -> list[SweepJob]:
        """The finished jobs, best first; of equal ones the first stays first."""
        done = [job for job in self.jobs if job.status == FINISHED and job.metric is not None]
        return sorted(done, key=lambda job: -(job.metric or 0.0))

    @property
    def best(self) -> SweepJob | None:
        """The finished job with the highest dev metric."""
        return next(iter(self.finished), None)

    @property
    def ranked(self) -> list[SweepJob]:
        """All jobs: the finished ones best first, then the others."""
        done = self.finished
        return [*done, *(job for job in self.jobs if job not in done)]

    @property
    def keys(self) -> list[str]:
        """The settings in which jobs differ."""
        return list(dict.fromkeys(key for job in self.jobs for key in job.settings))

    def count(self, *states: str) -> int:
        """How many jobs are in one of the states."""
        return sum(job.status in states for job in self.jobs)

    def notes(self) -> list[str]:
        """What a reader must know before quoting the best value."""
        where = f"{self.monitor} on the split {' and '.join(self.splits) or 'dev'}"
        notes = [f"{self.count(FINISHED)} of {len(self.jobs)} jobs finished; the metric is {where}."]
        if self.best:
            notes.append(
                f"Best of {len(self.jobs)} trials: {self.best.folder}. Its value is the highest of several on the "
                "queries that chose it, so it flatters."
            )
        if "test" in self.splits:
            notes.append("The sweep chose on the test split, so no figure of that split is unbiased any more.")
        else:
            notes.append(
                "No job of the sweep scored the test split: open it once, with evaluate.py, for the chosen model."
            )
        return notes

    def as_json(self) -> dict[str, Any]:
        """What `sweep.json` holds."""
        return {
            "folder": str(self.folder),
            "monitor": self.monitor,
            "splits": list(self.splits),
            "tried": len(self.jobs),
            "best": asdict(self.best) if self.best else None,
            "jobs": [asdict(job) for job in self.jobs],
            "notes": self.notes(),
        }


def read_sweep(path: Path | str) -> Sweep:
    """Read the run folders below a sweep's folder. Raises UserError if there are none, or none that train."""
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(folder, fix="no such folder; give the sweep's folder, hydra.sweep.dir")
    places = sorted(_job_folders(folder), key=lambda place: _natural(str(place.relative_to(folder))))
    if not places:
        raise UserError(folder, fix="holds no job of a sweep; give the folder that train.py -m printed")
    read = [(place, read_state(place), _config(place)) for place in places]
    if (folder / MARKER).exists():
        raise UserError(folder, fix="is the folder of one run; give the sweep's folder above it")
    typed = [_typed(state.get("overrides", []) if state else []) for _, state, _ in read]
    jobs = tuple(
        _job(folder, place, state, config, _own(settings, typed))
        for (place, state, config), settings in zip(read, typed, strict=True)
    )
    configs = [config for _, _, config in read if config]
    monitors = dict.fromkeys(str(_monitor(config)) for config in configs)
    splits = dict.fromkeys(str(s) for config in configs if (s := _component(config).get("dev_split")))
    return Sweep(folder, jobs, " / ".join(monitors) or "the dev metric", tuple(splits))


def _job_folders(folder: Path) -> Iterator[Path]:
    """The run folders at any depth, and the empty folders of jobs killed before they began."""
    for child in sorted(folder.iterdir()):
        if not child.is_dir() or child.name.startswith("."):
            continue
        if (child / MARKER).exists() or not any(child.iterdir()):
            yield child
        else:
            yield from _job_folders(child)


def _job(
    root: Path, place: Path, state: Mapping[str, Any] | None, config: Mapping[str, Any], settings: Mapping[str, str]
) -> SweepJob:
    name = str(place.relative_to(root))
    if state is None:
        return SweepJob(name, str(place), settings, MISSING)
    status = str(state.get("status"))
    if status == RUNNING and not is_locked(place):
        return SweepJob(name, str(place), settings, STOPPED, "its process is gone; resume=auto continues it")
    metric = state.get("metric")
    if not isinstance(metric, int | float):
        return SweepJob(name, str(place), settings, status, str(state.get("reason", "")))
    row = _row(place, float(metric), str(_monitor(config)))
    low, high, n = row.get("low"), row.get("high"), row.get("n")
    return SweepJob(name, str(place), settings, status, str(state.get("reason", "")), float(metric), low, high, n)


def _row(place: Path, metric: float, monitor: str) -> Mapping[str, Any]:
    """The row of `metrics.json` that the metric was taken from."""
    if not (place / METRICS).exists():
        return {}
    found = read_json(place / METRICS)
    rows = found.get("rows", []) if isinstance(found, dict) else []
    return next((row for row in rows if row.get("metric") == monitor and row.get("value") == metric), {})


def _config(place: Path) -> Mapping[str, Any]:
    found = read_json(place / CONFIG) if (place / CONFIG).exists() else {}
    return found if isinstance(found, dict) else {}


def _component(config: Mapping[str, Any]) -> Mapping[str, Any]:
    component = config.get("component")
    return component if isinstance(component, Mapping) else {}


def _monitor(config: Mapping[str, Any]) -> str:
    return str(_component(config).get("monitor", ""))


def _typed(overrides: Sequence[str]) -> dict[str, str]:
    pairs = (override.partition("=") for override in overrides)
    return {key.lstrip("+"): value for key, _, value in pairs if key.lstrip("+") not in NO_MATTER}


def _own(settings: Mapping[str, str], every: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The settings that not all jobs share."""
    known = [one for one in every if one]
    return {key: value for key, value in settings.items() if any(one.get(key) != value for one in known)}


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which job 10 comes after job 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
