from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skillfit.analysis.folder import read_folder
from skillfit.errors import UserError


def test_reads_what_the_suite_wrote(make_run):
    record = read_folder(make_run(systems={"bm25": 0.5, "dense": 0.8}))
    assert record.systems == ("bm25", "dense")
    assert record.benchmark == "skillsbench"
    assert record.metrics[0] == "Hit@1"
    assert len(record.queries["dense"].query_ids) == 75
    assert record.counts("bm25")["none"] == 8
    assert record.facts("dense")["cut_by_caps"]["body"] == 0.2104
    assert not record.is_mini
    first = next(row for row in record.rows if row.group == "all")
    assert first.value == pytest.approx(record.queries["bm25"].values["Hit@1"].mean())


def test_groups_of_a_table_have_the_n_of_their_rows(make_run):
    record = read_folder(make_run())
    table = record.queries["bm25"]
    for row in record.rows:
        assert len(table.members(row.group)) == row.n, row.group
        assert table.values[row.metric][table.members(row.group)].mean() == pytest.approx(row.value)


def test_counts_written_once_for_all_systems(make_run):
    def flat(pieces: dict[str, Any]) -> None:
        pieces["provenance"]["counts"] = {"queries": 90, "scored": 75, "none": 15}

    assert read_folder(make_run(edit=flat)).counts("bm25") == {"queries": 90, "scored": 75, "none": 15}


def test_a_running_job_may_read_its_own_folder(make_run):
    path = make_run(status="running")
    assert read_folder(path, finished=False).systems == ("bm25",)
    with pytest.raises(UserError, match=r"run\.json: status = 'running'.*has not finished"):
        read_folder(path)


@pytest.mark.parametrize("name", ["metrics.json", "worst.json", "per_query.parquet", "run.json"])
def test_a_missing_file_is_named(make_run, name):
    path = make_run()
    (path / name).unlink()
    with pytest.raises(UserError, match=f"{name}: is missing"):
        read_folder(path)


@pytest.mark.parametrize("name", ["metrics.json", "worst.json", "per_query.parquet", "run.json"])
@pytest.mark.parametrize("content", ["", "{", "[1]", "null", '{"status": 3}'])
def test_a_damaged_file_is_named(make_run, name, content):
    path = make_run()
    (path / name).write_text(content)
    with pytest.raises(UserError, match=name):
        read_folder(path)


def _set(key: str, value: Any):
    def edit(pieces: dict[str, Any]) -> None:
        pieces["rows"][3][key] = value

    return edit


@pytest.mark.parametrize(
    ("key", "value"),
    [("value", None), ("value", "much"), ("low", float("nan")), ("n", 0), ("metric", None), ("benchmark", "other")],
)
def test_a_bad_row_is_named(make_run, key, value):
    with pytest.raises(UserError, match=r"metrics\.json.*(again|NaN)"):
        read_folder(make_run(edit=_set(key, value)))


def test_a_row_twice_is_refused(make_run):
    path = make_run(edit=lambda pieces: pieces["rows"].append(pieces["rows"][0]))
    with pytest.raises(UserError, match=r"bm25 / all / Hit@1'?: stands twice"):
        read_folder(path)


def test_a_failed_run_gives_its_reason(make_run):
    def failed(pieces: dict[str, Any]) -> None:
        pieces["state"] = {"status": "failed", "reason": "UserError: no such corpus"}

    path = make_run(edit=failed)
    for finished in (True, False):
        with pytest.raises(UserError, match="no such corpus"):
            read_folder(path, finished=finished)


def test_no_folder_and_a_folder_of_something_else(tmp_path):
    with pytest.raises(UserError, match="no such run folder"):
        read_folder(tmp_path / "absent")
    with pytest.raises(UserError, match=r"run\.json: is missing"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda rows: [row.pop("MRR@10") for row in rows], r"column = 'MRR@10'"),
        (lambda rows: rows[5].update({"MRR@10": None}), r"query q005: MRR@10"),
        (lambda rows: rows[5].update({"MRR@10": float("inf")}), r"query q005: MRR@10 = inf"),
        (lambda rows: rows.append(dict(rows[0])), r"query_id = 'q000': stands twice"),
        (lambda rows: [row.update(system="other") for row in rows], r"system = 'bm25'"),
    ],
)
def test_bad_per_query_rows_are_named(make_run, edit, told):
    path = make_run()
    rows = pq.read_table(path / "per_query.parquet").to_pylist()
    edit(rows)
    pq.write_table(pa.Table.from_pylist(rows), path / "per_query.parquet")
    with pytest.raises(UserError, match=rf"per_query\.parquet.*{told}"):
        read_folder(path)
