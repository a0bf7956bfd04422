"""Records as skills: fields by name, values as text, nothing dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.data.records import parse_json_record, skill_from_record
from skillfit.types import Skill


def made(**record: Any) -> Skill:
    found = skill_from_record(record, "f:1")
    assert found.skill is not None, found.reason
    return found.skill


@pytest.mark.parametrize("key", ["skill_id", "id", "_id"])
@pytest.mark.parametrize("body", ["body", "content", "text"])
def test_fields_are_found_by_name(key: str, body: str) -> None:  # UP-03
    record = {body: "text", "description": "d", "name": "n", key: "a/b"}
    backwards = dict(reversed(record.items()))
    assert made(**record) == made(**backwards) == Skill("a/b", "n", "d", "text")


def test_everything_else_is_kept() -> None:
    skill = made(
        id="a", name="n", body="b", license="MIT", source_repo="o/r", stars=3, tags=["x"], files=["a.py", "b/c.sh"]
    )
    assert (skill.license, skill.source, skill.files) == ("MIT", "o/r", ("a.py", "b/c.sh"))
    assert skill.extra == {"stars": 3, "tags": ["x"]}


@pytest.mark.parametrize(
    ("value", "text"), [(123, "123"), (False, "false"), (["a", "b"], "a, b"), ({"k": "v"}, '{"k": "v"}'), (1.5, "1.5")]
)
def test_values_that_are_no_text_are_coerced_and_told(value: Any, text: str) -> None:  # UP-62
    found = skill_from_record({"id": "a", "name": value, "description": "d", "body": "b"}, "f:1")
    assert found.skill is not None
    assert (found.skill.name, found.status) == (text, "repaired")
    assert "name_not_string" in found.reason


def test_a_whole_skill_md_is_parsed_and_the_record_wins() -> None:
    text = "---\nname: from-md\ndescription: From the file.\nversion: 2\n---\n# Body"
    assert made(id="a", skill_md=text) == Skill(
        "a", "from-md", "From the file.", "# Body", extra={"frontmatter_extra": {"version": "2"}}
    )
    assert made(id="a", name="own", content=text).body == text  # a record with a name says itself what its body is
    assert made(id="a", name="own", skill_md=text).name == "own"
    assert made(id="a", name="n", body="# Body", skill_md=text).extra == {}  # the same body twice
    assert made(id="a", name="n", body="other", skill_md=text).extra == {"skill_md": text}


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"name": "n", "body": "b"}, "no_id"),
        ({"id": None, "name": "n"}, "bad_id"),
        ({"id": " ", "name": "n"}, "bad_id"),
        ({"id": ["a"], "name": "n"}, "bad_id"),
        ({"id": True, "name": "n"}, "bad_id"),
        ({"id": "a\tb", "name": "n"}, "bad_id"),
        ({"id": "a\n", "name": "n"}, "bad_id"),
        ({"id": "\ud83d", "name": "n"}, "bad_id"),
        ({"id": "a"}, "no_usable_text"),
        ({"id": "a", "name": " ", "description": None, "body": "\n"}, "no_usable_text"),
    ],
)
def test_unusable_records_are_skipped_with_the_reason(record: dict[str, Any], code: str) -> None:
    found = skill_from_record(record, "f:1")
    assert (found.status, found.skill) == ("skipped", None)
    assert [note.code for note in found.notes] == [code]


def test_numbers_as_ids_are_text() -> None:
    assert made(id=17, name="n").skill_id == "17"


def test_missing_texts_stay_empty_and_are_told() -> None:
    found = skill_from_record({"id": "a/b", "body": "text"}, "f:1")
    assert found.skill == Skill("a/b", "", "", "text")
    assert {note.code for note in found.notes} == {"no_name", "no_description"}
    assert found.status == "loaded"


def test_lenient_json() -> None:
    record, notes = parse_json_record('{"id": "a", "x": NaN, "y": 1e999, "id": "b"}')
    assert record == {"id": "b", "x": None, "y": None}
    assert {note.code for note in notes} == {"not_a_number", "duplicate_key"}
    for text in ("[1]", "{", "", '"x"', "[" * 100_000):
        with pytest.raises(ValueError, match=r"."):
            parse_json_record(text)


def test_half_surrogate_pairs_are_replaced() -> None:
    record, _ = parse_json_record('{"id": "a", "name": "cut \\ud83d", "body": "b", "tags": {"\\ud83d": ["\\ud83d"]}}')
    found = skill_from_record(record, "f:1")
    assert found.skill is not None
    assert (found.skill.name, found.skill.extra, found.status) == ("cut ?", {"tags": {"?": ["?"]}}, "repaired")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("skill_id", "id", "name", "description", "body", "content", "skill_md", "license", "source", "files", "x")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_record_raises(record: dict[str, Any]) -> None:
    found = skill_from_record(record, "f:1")
    assert (found.skill is None) == (found.status == "skipped")
    assert found.status != "skipped" or found.reason
    if found.skill is not None:
        json.dumps(dict(found.skill.extra), ensure_ascii=False).encode()
