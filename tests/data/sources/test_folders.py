"""Folders of SKILL.md: which files are skills, what they are called, and what is told about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillfit.data.options import ImportOptions
from skillfit.data.sources import Found, open_source


def skill(folder: Path, name: str = "SKILL.md", text: str = "---\nname: x\ndescription: a b\n---\nbody") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def found_in(path: Path, **options: object) -> dict[str, Found]:
    source = open_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert source.name == "folders"
    items = list(source.items())
    assert len({item.path for item in items}) == len(items)
    return {item.path: item for item in items}


def ids(found: dict[str, Found]) -> set[str]:
    return {item.skill.skill_id for item in found.values() if item.skill}


def test_nesting_rule(tmp_path: Path) -> None:  # UP-63
    pool = tmp_path / "pool"
    for place in ("group/x", "x", "x/assets/template", ".git/x", "deep/er/and/er/y"):
        skill(pool / place)
    found = found_in(pool)
    assert ids(found) == {"pool/group/x", "pool/x", "pool/deep/er/and/er/y"}
    inner = found.pop("x/assets/template/SKILL.md")
    assert (inner.status, [note.code for note in inner.notes]) == ("skipped", ["nested"])
    assert "inside the skill x," in inner.reason
    assert len(found) == 3
    assert ids(found_in(pool, nested="load")) == ids(found) | {"pool/x/assets/template"}


def test_a_file_that_is_no_skill_owns_nothing(tmp_path: Path) -> None:
    skill(tmp_path / "a", text="")
    skill(tmp_path / "a" / "b")
    assert [item.status for item in found_in(tmp_path, namespace="n").values()] == ["skipped", "loaded"]


@pytest.mark.parametrize(("namespace", "expected"), [(None, "pool/g/x"), ("", "g/x"), ("acme/v1", "acme/v1/g/x")])
def test_ids(tmp_path: Path, namespace: str | None, expected: str) -> None:
    skill(tmp_path / "pool" / "g" / "x")
    assert ids(found_in(tmp_path / "pool", namespace=namespace)) == {expected}


def test_one_skill_as_the_source(tmp_path: Path) -> None:
    file = skill(tmp_path / "solo")
    assert ids(found_in(tmp_path / "solo")) == ids(found_in(file)) == {"solo"}
    assert ids(found_in(tmp_path / "solo", namespace="")) == {"solo"}


def test_the_folder_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill(tmp_path / "pool" / "x")
    monkeypatch.chdir(tmp_path / "pool")
    assert ids(found_in(Path())) == {"pool/x"}


def test_bundled_files_are_listed(tmp_path: Path) -> None:
    base = tmp_path / "x"
    skill(base)
    skill(base / "inner")
    for name in ("a.py", "scripts/b.sh", ".hidden", ".git/config", "inner/c.md"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).touch()
    (base / "link").symlink_to(tmp_path)
    item = found_in(tmp_path)["x/SKILL.md"]
    assert item.skill
    assert set(item.skill.files) == {"a.py", "scripts/b.sh", "inner/SKILL.md", "inner/c.md"}
    outer = found_in(tmp_path, nested="load")["x/SKILL.md"]
    assert outer.skill
    assert set(outer.skill.files) == {"a.py", "scripts/b.sh"}


def test_links_are_told_and_not_followed(tmp_path: Path) -> None:
    outside = skill(tmp_path / "outside" / "s", text="---\nname: secret\ndescription: a b\n---\nbody")
    pool = tmp_path / "pool"
    skill(pool / "x")
    (pool / "linked").symlink_to(outside.parent)
    (pool / "loop").symlink_to(pool)
    (pool / "y").mkdir()
    (pool / "y" / "SKILL.md").symlink_to(outside)
    (pool / "broken").mkdir()
    (pool / "broken" / "SKILL.md").symlink_to(tmp_path / "nowhere")
    found = found_in(pool)
    assert ids(found) == {"pool/x"}
    links = {path for path, item in found.items() if [note.code for note in item.notes] == ["link"]}
    assert links == {"linked", "loop", "y/SKILL.md", "broken/SKILL.md"}


def test_sizes(tmp_path: Path) -> None:  # UP-64
    skill(tmp_path / "big", text="---\nname: x\ndescription: a b\n---\n" + "x" * 1_500_000)
    skill(tmp_path / "line", text="---\nname: x\ndescription: a b\n---\n" + "word " * 200_000)
    skill(tmp_path / "base64", text="---\nname: x\ndescription: a b\n---\n" + "QUJD" * 200_000)
    skill(tmp_path / "empty", text="")
    found = found_in(tmp_path, max_mib=1)
    assert found["big/SKILL.md"].reason.startswith("too_large: 1.4 MiB (limit 1 MiB)")
    assert found["empty/SKILL.md"].reason.startswith("no_usable_text")
    assert len(ids(found)) == 2
    assert len(ids(found_in(tmp_path))) == 3


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill(tmp_path / "ok")
    closed = skill(tmp_path / "closed")
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "locked").mkdir()
    scandir, access = os.scandir, os.access

    def scan(path: str) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))
    found = found_in(tmp_path, namespace="n")
    assert ids(found) == {"n/ok"}
    assert {path: item.notes[0].code for path, item in found.items() if item.notes and not item.skill} == {
        "closed/SKILL.md": "unreadable",
        "folder/SKILL.md": "not_a_file",
        "pipe/SKILL.md": "not_a_file",
        "locked": "unreadable",
    }


def test_file_name_case(tmp_path: Path) -> None:
    skill(tmp_path / "a", "skill.md")
    skill(tmp_path / "b", "Skill.md")
    skill(tmp_path / "b")
    found = found_in(tmp_path, namespace="n")
    assert ids(found) == {"n/a", "n/b"}
    assert found["a/skill.md"].status == "repaired"
    assert found["b/SKILL.md"].skill
    assert found["b/Skill.md"].status == "skipped"


def test_names_that_no_id_can_be_made_of(tmp_path: Path) -> None:
    skill(tmp_path / "tab\there")
    skill(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")))
    found = found_in(tmp_path, namespace="n")
    assert [item.notes[0].code for item in found.values()] == ["bad_id", "bad_id"]
    assert all(path.encode() for path in found)


def test_one_odd_file_stops_nothing(tmp_path: Path) -> None:  # UP-62
    heads = [
        "name: 123",
        "name: no",
        "name: x\ndescription: [a, b]",
        "description: 2026-01-02",
        "name: 1.10",
        "name: [",
        "\x00",
    ]
    for number, head in enumerate(heads):
        skill(tmp_path / f"s{number}", text=f"---\n{head}\n---\nbody text")
    found = found_in(tmp_path, namespace="")
    assert ids(found) == {f"s{number}" for number in range(len(heads))}


def test_the_fingerprint_follows_content_not_times(tmp_path: Path) -> None:  # UP-36
    file = skill(tmp_path / "x")

    def fingerprint() -> str:
        return open_source(tmp_path, ImportOptions()).fingerprint()

    before, stat = fingerprint(), file.stat()
    os.utime(file, (1, 1))
    assert fingerprint() == before
    file.write_text(file.read_text().replace("body", "BODY"))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    changed = fingerprint()
    assert changed != before
    (tmp_path / "x" / "new.py").touch()
    assert fingerprint() not in (before, changed)
