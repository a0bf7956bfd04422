from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.errors import UserError
from skillfit.io.jsonl import field, read_json, read_jsonl, write_json, write_jsonl

ROWS = [{"id": "s1", "text": "naïve – 技能 😀"}, {"id": "s2", "text": "a\u2028b\x85c\nd", "n": 1.5, "none": None}]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_rows_come_back_with_their_line_numbers(tmp_path, name):
    path = tmp_path / name
    assert write_jsonl(tmp_path / "rows.jsonl", ROWS) == 2
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress((tmp_path / "rows.jsonl").read_bytes()))
    assert list(read_jsonl(path)) == [(1, ROWS[0]), (2, ROWS[1])]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(rows=st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=4))
def test_any_rows_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write_jsonl(path, rows) == len(rows)
    assert [row for _, row in read_jsonl(path)] == rows
    write_json(path.with_suffix(".json"), rows)
    assert read_json(path.with_suffix(".json")) == rows


def test_half_a_surrogate_pair_comes_back(tmp_path):
    rows = [{"body": "cut here: \ud83d"}]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    write_json(tmp_path / "rows.json", rows)
    assert [row for _, row in read_jsonl(tmp_path / "rows.jsonl")] == read_json(tmp_path / "rows.json") == rows


def test_bom_crlf_and_blank_lines_are_accepted_and_lines_keep_their_numbers(tmp_path):
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "s1"}\r\n\r\n  \t\r\n{"id": "s2"}\r\n\n')
    assert list(read_jsonl(path)) == [(1, {"id": "s1"}), (4, {"id": "s2"})]


def test_up_09_fault_is_told_with_file_line_and_reason(tmp_path):
    lines = [json.dumps({"id": f"s{i}"}) for i in range(1, 26)]
    for number, wrong, reason in [
        (17, '{"id": "s17", "text": ', "is not valid JSON"),
        (20, "[1,2]", "holds a JSON list"),
        (5, '"text"', "holds a JSON str"),
        (6, '{"score": NaN}', "NaN is not a JSON number"),
        (7, '{"score": -Infinity}', "-Infinity is not a JSON number"),
        (8, '{"id": "a", "id": "b"}', "'id' is given twice"),
        (9, '{"n": ' + "1" * 5000 + "}", "is not valid JSON"),
        (10, "[" * 100_000, "is not valid JSON"),
    ]:
        path = tmp_path / f"line{number}.jsonl"
        path.write_text("\n".join([*lines[: number - 1], wrong, *lines[number:]]))
        with pytest.raises(UserError, match=rf"line{number}\.jsonl:{number}: ") as caught:
            list(read_jsonl(path))
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)


def test_lines_before_a_fault_are_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "s1"}\noops\n')
    rows = read_jsonl(path)
    assert next(rows) == (1, {"id": "s1"})
    with pytest.raises(UserError, match=r"rows\.jsonl:2"):
        next(rows)


def test_text_that_is_not_utf8_is_named_by_line_and_byte(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"id": "s1"}\n{"id": "caf\xe9"}\n')
    with pytest.raises(UserError, match=r"latin\.jsonl:2: byte 11: is not UTF-8"):
        list(read_jsonl(path))


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-12], lambda data: data[:40] + b"\0\0\0\0" + data[44:], lambda data: b"no gzip at all"],
    ids=["cut off", "changed", "not gzip"],
)
def test_damaged_gzip_is_told(tmp_path, damage):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(damage(gzip.compress("".join(f'{{"id": "s{i}"}}\n' for i in range(500)).encode())))
    with pytest.raises(UserError, match=r"rows\.jsonl\.gz: the gzip file is damaged or cut off"):
        list(read_jsonl(path))


def test_missing_file_and_folder(tmp_path):
    for reader in (lambda path: list(read_jsonl(path)), read_json):
        with pytest.raises(UserError, match=r"nowhere: no such file"):
            reader(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is not a file"):
        list(read_jsonl(tmp_path))


@pytest.mark.parametrize("reader", [read_json, lambda path: list(read_jsonl(path))])
def test_file_that_may_not_be_read_is_told(tmp_path, monkeypatch, reader):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr(Path, "open", refuse)  # chmod would not stop a superuser
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UserError, match=r"a\.json: cannot be read \(Permission denied\); check its permissions"):
        reader(tmp_path / "a.json")


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', '{"a": 1, "a": 2}', "\xff"])
def test_malformed_json_is_told(tmp_path, text):
    path = tmp_path / "metrics.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=r"metrics\.json: is not valid JSON"):
        read_json(path)


def test_json_with_bom(tmp_path):
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}


def test_nan_is_never_written_and_the_old_file_stays(tmp_path):
    path = tmp_path / "metrics.json"
    write_json(path, {"value": 1})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"value": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_jsonl(path, [{"value": 1}, {"value": float("inf")}])
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.json"]


def test_field_takes_the_first_name_that_is_there():
    assert field({"id": "s1", "skill_id": "other"}, ("id", "skill_id"), "f:1") == "s1"
    assert field({"skill_id": 7}, ("id", "skill_id"), "f:1") == "7"


@pytest.mark.parametrize("value", [None, "", "  ", True, ["a"], {"a": 1}])
def test_field_refuses_what_is_no_text(value):
    with pytest.raises(UserError, match=r"f:3: text = .*: give non-empty text"):
        field({"text": value}, ("text",), "f:3")


def test_missing_field_tells_what_is_there():
    with pytest.raises(UserError, match=r"f:3: text: is missing; the record has: id, body"):
        field({"id": "s", "body": ""}, ("text",), "f:3")
