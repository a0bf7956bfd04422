from __future__ import annotations

import os
import stat

import pytest

from skillfit.errors import UserError
from skillfit.io.files import atomic_dir, atomic_write, hash_file, hash_paths, hash_text


class Interruption(BaseException):
    """What Ctrl-C raises is no Exception either."""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Interruption])
def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "metrics.json"
    path.write_text("old")

    def write():
        with atomic_write(path) as handle:
            handle.write("half of the n")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_appears_at_the_end_with_utf8_and_lf(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    with atomic_write(path) as handle:
        handle.write("ä\n")
        assert not path.exists()
    assert path.read_bytes() == b"\xc3\xa4\n"
    with atomic_write(path, "wb") as handle:
        handle.write(b"\r\n")
    assert path.read_bytes() == b"\r\n"


def test_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    with atomic_write(tmp_path / "ours"):
        pass
    usual, ours = ((tmp_path / name).stat().st_mode for name in ("usual", "ours"))
    assert stat.S_IMODE(usual) == stat.S_IMODE(ours)


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for opened in (atomic_write(tmp_path / "file" / "a.txt"), atomic_dir(tmp_path / "file" / "a")):
        with pytest.raises(UserError, match="cannot write"), opened:
            pass
    with pytest.raises(UserError, match="is a folder"), atomic_write(tmp_path):
        pass


def test_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "index"

    def build():
        with atomic_dir(target) as work:
            (work / "shard0").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        build()
    assert not list(tmp_path.iterdir())
    with atomic_dir(target) as work:
        (work / "shard0").write_text("x")
        assert not target.exists()
    assert (target / "shard0").read_text() == "x"


def test_empty_folder_is_used_and_a_filled_one_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with atomic_dir(tmp_path / "empty") as work:
        (work / "a").write_text("x")
    with pytest.raises(UserError, match="exists and is not an empty folder"), atomic_dir(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty" / "a").read_text() == "x"


def test_folder_filled_by_another_process_meanwhile_is_left(tmp_path):
    def build():
        with atomic_dir(tmp_path / "index") as work:
            (work / "ours").write_text("x")
            (tmp_path / "index").mkdir()
            (tmp_path / "index" / "theirs").write_text("y")

    with pytest.raises(UserError, match="filled by another process"):
        build()
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_hash_text_keeps_parts_apart():
    assert hash_text("ab", "c") != hash_text("a", "bc") != hash_text("abc")
    assert hash_text("a") == hash_text("a")
    assert len(hash_text("\ud83d")) == 64


def test_hash_follows_content_and_names_not_times(tmp_path):
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("one")
    (folder / "scripts" / "run.py").write_text("x")
    first = hash_paths([folder])
    os.utime(folder / "SKILL.md", (0, 0))
    (folder / ".hidden").write_text("ignored")
    (folder / "link").symlink_to(tmp_path)
    assert hash_paths([folder]) == first
    times = (folder / "SKILL.md").stat()
    (folder / "SKILL.md").write_text("two")
    os.utime(folder / "SKILL.md", ns=(times.st_atime_ns, times.st_mtime_ns))  # same size, same time
    assert hash_paths([folder]) != first
    (folder / "SKILL.md").write_text("one")
    (folder / "scripts" / "run.py").rename(folder / "scripts" / "other.py")
    assert hash_paths([folder]) != first


def test_hash_is_the_same_elsewhere(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("x")
    assert hash_paths([tmp_path / "here"]) == hash_paths([tmp_path / "there"])
    assert hash_file(tmp_path / "here" / "a.txt") == hash_file(tmp_path / "there" / "a.txt")
    assert hash_paths([tmp_path / "here" / "a.txt"]) == hash_paths([tmp_path / "here"])
    both = hash_paths([tmp_path / "here", tmp_path / "there"], root=tmp_path)
    assert both != hash_paths([tmp_path / "here", tmp_path / "here"], root=tmp_path)


def test_hash_of_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        hash_paths([tmp_path / "nowhere"])
