"""`per_query.parquet` as one table a system: ids, groups and one value a query and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillfit.errors import UserError
from skillfit.metrics.summary import NOT_GIVEN

GROUP = "group:"
SIZES = ("single", "multi")
AGAIN = "run the evaluation again into a new folder"


@dataclass(frozen=True, eq=False)
class QueryTable:
    """One system's scored queries, one position each in every array.

    groups: axis -> (Q,) values, `size` among them; None where a query says nothing. values: metric -> (Q,).
    """

    query_ids: tuple[str, ...]
    n_required: tuple[int, ...]
    groups: Mapping[str, tuple[str | None, ...]]
    values: Mapping[str, NDArray[np.float64]]

    def take(self, query_ids: Sequence[str]) -> QueryTable:
        """The same table with only these queries, in this order."""
        place = {query_id: i for i, query_id in enumerate(self.query_ids)}
        at = [place[query_id] for query_id in query_ids]
        return QueryTable(
            tuple(query_ids),
            tuple(self.n_required[i] for i in at),
            {axis: tuple(column[i] for i in at) for axis, column in self.groups.items()},
            {metric: column[at] for metric, column in self.values.items()},
        )

    def members(self, group: str) -> NDArray[np.intp]:
        """The positions of a group as `metrics.json` names it: `all`, `single`, `multi` or `axis=value`."""
        if group == "all":
            return np.arange(len(self.query_ids))
        axis, value = ("size", group) if group in SIZES else tuple(group.split("=", 1))
        column = self.groups.get(axis, (None,) * len(self.query_ids))
        return np.flatnonzero([(NOT_GIVEN if other is None else other) == value for other in column])


def read_queries(file: Path, metrics: Sequence[str]) -> dict[str, QueryTable]:
    """The tables of all systems. Raises UserError for a missing file or column, or a value that is no number."""
    columns = _columns(file)
    for name in ("system", "query_id", "size", "n_required", *metrics):
        if name not in columns:
            raise UserError(file, "column", name, f"is missing; {AGAIN}")
    systems = [str(system) for system in columns["system"]]
    tables = {}
    for system in dict.fromkeys(systems):
        at = [i for i, other in enumerate(systems) if other == system]
        rows = {name: [column[i] for i in at] for name, column in columns.items()}
        _check(rows, metrics, f"{file}: system {system}")
        axes = {name.removeprefix(GROUP): tuple(column) for name, column in rows.items() if name.startswith(GROUP)}
        values = {metric: np.asarray(rows[metric], dtype=np.float64) for metric in metrics}
        required = tuple(rows["n_required"])
        tables[system] = QueryTable(tuple(rows["query_id"]), required, {"size": tuple(rows["size"]), **axes}, values)
    return tables


def _columns(file: Path) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise UserError(file, fix=f"is missing; {AGAIN}")
    try:
        return dict(pq.read_table(file).to_pydict())
    except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
        raise UserError(file, fix=f"is no readable Parquet file ({str(error).splitlines()[0]}); {AGAIN}") from error


def _check(rows: Mapping[str, Sequence[Any]], metrics: Sequence[str], place: str) -> None:
    ids = rows["query_id"]
    if len(set(ids)) < len(ids):
        twice = next(query_id for query_id in ids if list(ids).count(query_id) > 1)
        raise UserError(place, "query_id", twice, f"stands twice; {AGAIN}")
    for metric in metrics:
        for query_id, value in zip(ids, rows[metric], strict=True):
            if not isinstance(value, int | float) or not np.isfinite(value):
                raise UserError(place, f"query {query_id}: {metric}", value, f"expected a finite number; {AGAIN}")
