"""Places that are no source, or only partly readable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillfit.data.importer import import_skills
from skillfit.data.options import ImportOptions
from skillfit.data.sources import open_source
from skillfit.errors import UserError

SKILL = "---\nname: x\ndescription: words here\n---\nbody words\n"


def test_devices_and_pipes_are_no_sources(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(os.devnull), tmp_path / "pipe"):
        with pytest.raises(UserError, match="is a device, pipe or socket"):
            open_source(path, ImportOptions())


def test_a_folder_that_may_not_be_searched_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UserError, match="may not be searched"):
        open_source(tmp_path, ImportOptions())


def test_a_folder_closed_to_one_format_is_left_to_the_next(tmp_path, monkeypatch):
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "a" / "SKILL.md").write_text(SKILL)
    from skillfit.data.sources.skillsbench import SkillsBenchSource

    def closed(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path / "b"))

    monkeypatch.setattr(SkillsBenchSource, "fits", closed)
    assert import_skills([str(tmp_path / "src")], tmp_path / "out").skills == 1


def test_two_sources_with_one_name_are_told_a_way_that_works(tmp_path):
    for parent in ("one", "two"):
        (tmp_path / "all" / parent / "skills" / "a").mkdir(parents=True)
        (tmp_path / "all" / parent / "skills" / "a" / "SKILL.md").write_text(SKILL)
    both = [str(tmp_path / "all" / parent / "skills") for parent in ("one", "two")]
    with pytest.raises(UserError, match="import both from a folder above them"):
        import_skills(both, tmp_path / "out")
    assert import_skills([str(tmp_path / "all")], tmp_path / "out").skills == 2
