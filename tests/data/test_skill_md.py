"""SKILL.md as it is found in the wild: every odd file ends with a skill or a reason, and no text is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.data.skill_md import ParsedSkill, parse_skill_md


def parse(text: str | bytes, folder: str = "x") -> ParsedSkill:
    return parse_skill_md(text, folder=folder)


def codes(parsed: ParsedSkill) -> set[str]:
    return {note.code for note in parsed.notes}


def with_description(lines: str) -> str:
    return f"---\nname: x\n{lines}\nlicense: MIT\n---\n\n# Body\n\ntext\n"


def test_plain_file() -> None:
    parsed = parse("---\nname: x\ndescription: Does things well.\nlicense: MIT\ntags: [a, b]\n---\n# Body\n\ntext\n")
    assert (parsed.name, parsed.description, parsed.body) == ("x", "Does things well.", "# Body\n\ntext")
    assert (parsed.license, parsed.status, parsed.reason) == ("MIT", "loaded", "")
    assert parsed.extra == {"frontmatter_extra": {"tags": ["a", "b"]}}


def test_malformed_files_end_as_their_index_says(skillfit_data: Path) -> None:
    root = skillfit_data / "malformed"
    cases = json.loads((root / "index.json").read_text())["files"]
    assert len(cases) == 25
    for case in cases:
        path = root / case["path"]
        parsed = parse_skill_md(path.read_bytes(), folder=path.parent.name, file_name=path.name)
        if case["expect"] == "skip":
            assert parsed.status == "skipped", case["id"]
            assert parsed.reason, case["id"]
            continue
        assert parsed.status in ({"loaded"} if case["expect"] == "load" else {"loaded", "repaired"}), case["id"]
        assert case["expect"] == "load" or parsed.reason, case["id"]
        assert parsed.name == case["name"], case["id"]
        assert parsed.description.startswith(case["description_starts"]), case["id"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("description: >-\n  Pull tables\n  from PDFs.", "Pull tables from PDFs."),
        ("description: >\n  Pull tables\n\n  from PDFs.", "Pull tables\nfrom PDFs."),
        ("description: |\n  Pull tables\n  from PDFs.", "Pull tables\nfrom PDFs."),
        ('description: "Pull tables\n  from PDFs."', "Pull tables from PDFs."),
        ("description: 'It''s: quoted'", "It's: quoted"),
        ("description: Pull tables\n  from PDFs.", "Pull tables from PDFs."),
        ("description:\n  Pull tables\n  from PDFs.", "Pull tables from PDFs."),
    ],
)
def test_multi_line_descriptions_keep_their_text(lines: str, expected: str) -> None:  # UP-60
    parsed = parse(with_description(lines))
    assert parsed.description == expected
    assert (parsed.status, parsed.license) == ("loaded", "MIT")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("description: >-\n  Pull: tables\n  from PDFs.", "Pull: tables from PDFs."),
        ("description: |\n  Pull\n  from PDFs.", "Pull\nfrom PDFs."),
        ('description: "Use \\"x\\"\n  now"', 'Use "x" now'),
        ("description: Use when: always\n  and on", "Use when: always and on"),
        ("description: 'It''s'", "It's"),
    ],
)
def test_the_line_by_line_reading_keeps_them_too(lines: str, expected: str) -> None:  # UP-60
    parsed = parse(with_description(f"{lines}\nbroken: [@x"))
    assert parsed.description == expected
    assert (parsed.status, parsed.license) == ("repaired", "MIT")
    assert "yaml_error" in codes(parsed)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: 123", "123"),
        ("name: no", "no"),
        ("name: 1.10", "1.10"),
        ("name: 0x1F", "0x1F"),
        ("name: 2026-01-02", "2026-01-02"),
        ("name: 1_000", "1_000"),
        ("name: !!str 12", "12"),
        ("name: 'no'", "no"),
    ],
)
def test_scalars_stay_as_written(line: str, name: str) -> None:  # UP-62
    parsed = parse(f"---\n{line}\ndescription: 2026-01-02\n---\nbody text")
    assert (parsed.name, parsed.description, parsed.status) == (name, "2026-01-02", "loaded")
    assert "not_text" in codes(parsed)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("description: [a, b]", "[a, b]"),
        ("description:\n  - one thing\n  - another", "one thing, another"),
        ("description:\n  Design it: parts. [X]\n  Trigger: plan. [Y]", "Design it: parts. [X] Trigger: plan. [Y]"),
        ("description: {a: b}", "{a: b}"),
        ("description:\n  Émojis 🦞: ok\n  More: ünï", "Émojis 🦞: ok More: ünï"),
    ],
)  # fmt: skip
def test_collections_are_joined_back_to_text(lines: str, expected: str) -> None:  # UP-62
    parsed = parse(with_description(lines))
    assert (parsed.description, parsed.status) == (expected, "repaired")
    assert "description_not_string" in codes(parsed)


def test_departures_from_the_rules_are_told_and_nothing_is_cut() -> None:  # UP-61
    long_name, long_text = "n" * 65, "d" * 1_025
    parsed = parse(f"---\nname: {long_name}\ndescription: {long_text} x\n---\nbody text", folder="other")
    assert (parsed.name, parsed.description) == (long_name, f"{long_text} x")
    assert {"long_name", "long_description", "name_not_folder"} <= codes(parsed)
    assert "1,027 characters (limit 1,024), kept whole" in parsed.reason
    assert "name_form" in codes(parse("---\nname: PDF_Tools\ndescription: a b\n---\nbody"))
    assert parsed.status == "loaded"


@pytest.mark.parametrize("value", ["", "~", "null", "''", '"  "'])
def test_missing_values(value: str) -> None:  # UP-61
    parsed = parse(
        f"---\nname: {value}\ndescription: {value}\nsummary: Not a description.\n---\nbody text", folder="the-folder"
    )
    assert (parsed.name, parsed.description, parsed.status) == ("the-folder", "", "repaired")
    assert {"no_name", "no_description"} <= codes(parsed)
    assert parsed.extra == {"frontmatter_extra": {"summary": "Not a description."}}


def test_key_case() -> None:
    assert parse("---\nName: a\nDescription: b c\n---\nbody").name == "a"
    both = parse("---\nName: Other\nname: x\ndescription: b c\n---\nbody")
    assert (both.name, both.status) == ("x", "loaded")
    assert "key_case" in codes(both)
    assert both.extra == {"frontmatter_extra": {"Name": "Other"}}


def test_line_ends_and_marks_do_not_change_what_is_read() -> None:
    plain = "---\nname: x\ndescription: a b\n---\n\n# T\n\ntext\n"
    expected = parse(plain)
    for variant in (plain.replace("\n", "\r\n"), plain.replace("\n", "\r"), "\ufeff" + plain, "\n \n" + plain):
        parsed = parse(variant.encode())
        assert (parsed.name, parsed.description, parsed.body) == (expected.name, expected.description, expected.body)
        assert parsed.reason
    assert parse(plain.encode("utf-16")).body == expected.body


def test_a_rule_in_the_body_does_not_close_an_unclosed_frontmatter() -> None:
    text = "---\nname: x\ndescription: Does: things\n\n# Title\n\nSome prose, no keys.\n\n---\n\nmore prose\n"
    parsed = parse(text)
    assert (parsed.name, parsed.description) == ("x", "Does: things")
    assert parsed.body == "# Title\n\nSome prose, no keys.\n\n---\n\nmore prose"
    assert "unclosed_frontmatter" in codes(parsed)


def test_a_rule_at_the_top_is_no_frontmatter() -> None:
    text = "---\n# Title\nSome prose here.\n---\nmore"
    parsed = parse(text)
    assert (parsed.name, parsed.body) == ("x", text)
    assert "no_frontmatter" in codes(parsed)


def test_several_paragraphs_inside_closed_fences_stay_one_description() -> None:
    parsed = parse("---\nname: x\ndescription: Bad: yaml\n\nUse when: asked.\nlicense: MIT\n---\nbody text")
    assert (parsed.description, parsed.license, parsed.body) == ("Bad: yaml Use when: asked.", "MIT", "body text")


def test_tags_are_never_constructed_and_references_never_expanded(tmp_path: Path) -> None:
    target = tmp_path / "made"
    text = f"---\nname: x\ndescription: a b\nhook: !!python/object/apply:os.mkdir [{target}]\n---\nbody"
    assert "unsafe_yaml_tag" in codes(parse(text))
    assert not target.exists()
    bomb = "a: &a [x, x]\n" + "".join(
        f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
    )
    parsed = parse(f"---\nname: x\ndescription: a b\n{bomb}---\nbody")
    assert (parsed.name, parsed.description) == ("x", "a b")
    assert len(json.dumps(parsed.extra)) < 2_000


@pytest.mark.parametrize("head", ["x: " + "[" * 100_000, "x:\n" + "".join(" " * i + "a:\n" for i in range(3_000))])
def test_deep_nesting_is_no_crash(head: str) -> None:
    assert parse(f"---\nname: x\ndescription: a b\n{head}\n---\nbody").name == "x"


def test_empty_and_wordless_files_are_skipped_by_name() -> None:
    for text in ("", " \n\t\n", "\ufeff", "word"):
        assert parse(text).status == "skipped"
        assert "no_usable_text" in codes(parse(text))


def test_long_lines_are_kept_whole() -> None:  # UP-64
    words = "word " * 200_000
    assert len(parse(f"---\nname: x\ndescription: a b\n---\n{words}").body.split()) == 200_000


@given(st.one_of(st.text(), st.binary(), st.text(alphabet="-\n:# >|'\"[]{}&*!?%@`ax\t\r\ufeff")))
def test_no_content_raises(data: str | bytes) -> None:
    parsed = parse(data)
    assert parsed.status in ("loaded", "repaired", "skipped")
    assert parsed.skip is None or parsed.reason
    for text in (parsed.name, parsed.description, parsed.body, json.dumps(parsed.extra, ensure_ascii=False)):
        text.encode()


@given(st.text(alphabet="-\n:# >|'\"[]{}ax\t", max_size=200))
def test_no_word_of_a_file_is_lost(head: str) -> None:
    text = f"---\nname: kept-name\n{head}\n---\nthe body"
    parsed = parse(text)
    told = " ".join((parsed.name, parsed.description, parsed.body, parsed.license, json.dumps(parsed.extra)))
    assert "kept-name" in told
    assert "the body" in parsed.body
