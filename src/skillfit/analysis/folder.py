"""An evaluation's run folder as a typed record; what is missing, unfinished or malformed is told by file and fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from skillfit.analysis.queries import QueryTable, read_queries
from skillfit.errors import UserError
from skillfit.io import read_json

METRICS, WORST, PER_QUERY, MARKER = "metrics.json", "worst.json", "per_query.parquet", "run.json"
AGAIN = "run the evaluation again into a new folder"
MINI = frozenset({"mini", "skillfit-mini"})


@dataclass(frozen=True)
class MetricRow:
    """One figure: the mean of a metric over the n scored queries of a group, with its 95 % interval."""

    suite: str
    benchmark: str
    system: str
    group: str
    metric: str
    value: float = Field(allow_inf_nan=False)
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    n: int = Field(ge=1)


@dataclass(frozen=True)
class ShownSkill:
    """A skill as the report lists it; rank is its place in the ranking, None if it was not returned."""

    skill_id: str
    name: str
    description: str = ""
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True)
class WorstQuery:
    """A query the system did badly on, its required skills and what stood above them."""

    system: str
    query_id: str
    text: str
    size: str
    metric: str
    value: float
    required: tuple[ShownSkill, ...]
    above: tuple[ShownSkill, ...]


@plain_dataclass(frozen=True)
class RunRecord:
    """All that a report draws on. rows are in the order of `metrics.json`; `queries` holds one table a system."""

    path: Path
    rows: tuple[MetricRow, ...]
    worst: tuple[WorstQuery, ...]
    queries: Mapping[str, QueryTable]
    provenance: Mapping[str, Any]

    @property
    def suite(self) -> str:
        """The suite that was evaluated."""
        return self.rows[0].suite

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return self.rows[0].benchmark

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems in the order of the rows."""
        return tuple(dict.fromkeys(row.system for row in self.rows))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics in the order of the rows."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def data(self) -> Mapping[str, Any]:
        """The facts about the data: name, hashes, counts."""
        return _mapping(self.provenance.get("data"))

    @property
    def is_mini(self) -> bool:
        """Whether the numbers come from the embedded demonstration data."""
        return self.benchmark in MINI or self.data.get("name") in MINI

    def counts(self, system: str) -> Mapping[str, Any]:
        """Where every query went, for one system."""
        counts = _mapping(self.provenance.get("counts"))
        return _mapping(counts[system]) if isinstance(counts.get(system), Mapping) else counts

    def facts(self, system: str) -> Mapping[str, Any]:
        """How one system answered: retriever, view, shares of cut texts, times."""
        return _mapping(_mapping(self.provenance.get("systems")).get(system))


def read_folder(path: Path | str, *, finished: bool = True) -> RunRecord:
    """Read an evaluation's run folder.

    finished=False also accepts the folder of a job that is still running but has written its numbers, so that the job
    can draw its own report. Raises UserError naming the file that is missing, unfinished or malformed.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(folder, fix="no such run folder; give the folder that evaluate.py printed")
    _check_state(folder, finished=finished)
    metrics = read_json(folder / METRICS) if (folder / METRICS).exists() else None
    if metrics is None:
        raise UserError(folder / METRICS, fix=f"is missing; {AGAIN}")
    if not isinstance(metrics, dict) or not isinstance(metrics.get("provenance"), dict):
        raise UserError(folder / METRICS, fix=f"expected an object with rows and provenance; {AGAIN}")
    rows = _parse(list[MetricRow], metrics.get("rows"), folder / METRICS, "rows")
    _check_rows(rows, folder / METRICS)
    if not (folder / WORST).exists():
        raise UserError(folder / WORST, fix=f"is missing; {AGAIN}")
    worst = _parse(list[WorstQuery], read_json(folder / WORST), folder / WORST, "")
    names = tuple(dict.fromkeys(row.metric for row in rows))
    queries = read_queries(folder / PER_QUERY, names)
    for system in dict.fromkeys(row.system for row in rows):
        if system not in queries:
            raise UserError(folder / PER_QUERY, "system", system, f"has rows in {METRICS} but none here; {AGAIN}")
    return RunRecord(folder, tuple(rows), tuple(worst), queries, metrics["provenance"])


def _check_state(folder: Path, *, finished: bool) -> None:
    if not (folder / MARKER).exists():
        raise UserError(folder / MARKER, fix="is missing, so this is no run folder; give one that evaluate.py printed")
    state = read_json(folder / MARKER)
    status = state.get("status") if isinstance(state, dict) else None
    if status == "finished" or (status == "running" and not finished and (folder / METRICS).exists()):
        return
    reason = f" ({state['reason']})" if isinstance(state, dict) and state.get("reason") else ""
    if status == "running":
        fix = f"the run has not finished; wait for it, or, if its process is gone, {AGAIN}"
    elif status == "failed":
        fix = f"the run failed{reason}; mend that and {AGAIN}"
    else:
        fix = f"expected running, finished or failed; {AGAIN}"
    raise UserError(folder / MARKER, "status", status, fix)


def _check_rows(rows: Sequence[MetricRow], file: Path) -> None:
    if not rows:
        raise UserError(file, "rows", "[]", f"holds no figure; {AGAIN}")
    for key in ("suite", "benchmark"):
        values = {getattr(row, key) for row in rows}
        if len(values) > 1:
            raise UserError(file, key, ", ".join(sorted(values)), f"one folder holds one {key}; {AGAIN}")
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        key3 = (row.system, row.group, row.metric)
        if key3 in seen:
            raise UserError(file, "row", " / ".join(key3), f"stands twice; {AGAIN}")
        seen.add(key3)


def _parse(kind: Any, value: Any, file: Path, name: str) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        fault = error.errors()[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
        raise UserError(file, f"{name}{where}".lstrip("."), fault["input"], f"{fault['msg']}; {AGAIN}") from error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
