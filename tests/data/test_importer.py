"""Imports: everything found is counted, nothing half-made is left, and a cache follows content and options."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from skillfit.data.corpus import Corpus, write_skills
from skillfit.data.importer import ImportOptions, import_cached, import_skills, load_imported
from skillfit.errors import UserError
from skillfit.io import read_json, read_jsonl, read_qrels
from skillfit.types import Skill


def pool(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def record(skill_id: str, **more: Any) -> dict[str, Any]:
    return {
        "skill_id": skill_id,
        "name": f"n-{skill_id}",
        "description": "does it",
        "body": f"text of {skill_id}",
    } | more


def report(folder: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_jsonl(folder / "import_report.jsonl")]


def test_round_trip(tmp_path: Path) -> None:
    source = pool(
        tmp_path / "s.jsonl", record("b", stars=1, files=["x.py"], license="MIT"), record("a", body=" Text  of B")
    )
    summary = import_skills([source], tmp_path / "out")
    corpus, queries, qrels = load_imported(tmp_path / "out")
    assert corpus.ids == ("a", "b")
    assert len(corpus) == 2
    assert list(corpus) == [corpus.get("a"), corpus.get("b")]
    assert corpus.get("b") == Skill(
        "b", "n-b", "does it", "text of b", "MIT", "", ("x.py",), {"stars": 1}, copy_group="a"
    )
    assert corpus.copies() == {"a": frozenset("ab"), "b": frozenset("ab")}
    assert "a" in corpus
    assert "c" not in corpus
    with pytest.raises(UserError, match="'c'"):
        corpus.get("c")
    assert (queries, qrels.required, qrels.grades) == ([], {}, {})
    assert corpus.content_hash == summary.content_hash == read_json(tmp_path / "out" / "manifest.json")["content_hash"]


def test_bad_lines_are_reported_with_their_place_and_stop_nothing(tmp_path: Path) -> None:  # UP-09
    source = tmp_path / "s.jsonl"
    good = json.dumps(record("a")).encode()
    bad = [b'{"id": "s17", "text": ', b"[1,2]", b'{"id": "s25", "text": null}', b'{"id": "\xff"}', b'{"name": "n"}']
    source.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([good, b"", *bad, b'{"id": "b", "text": "t"}']) + b"\r\n")
    summary = import_skills([source], tmp_path / "out")
    rows = report(tmp_path / "out")
    assert [(row["path"], row["status"], row["skill_id"]) for row in rows] == [
        ("s.jsonl:1", "loaded", "a"),
        *((f"s.jsonl:{number}", "skipped", None) for number in (3, 4, 5, 6, 7)),
        ("s.jsonl:8", "loaded", "b"),
    ]
    assert all(row["reason"] for row in rows if row["status"] == "skipped")
    assert (summary.found, summary.loaded, summary.skipped, summary.skills) == (7, 2, 5, 2)


def test_long_lines_are_skipped_with_the_limit(tmp_path: Path) -> None:  # UP-64
    source = pool(tmp_path / "s.jsonl", record("big", body="x" * 3_000_000), record("a"))
    import_skills([source], tmp_path / "out", ImportOptions(max_mib=1))
    big, small = report(tmp_path / "out")
    assert "1,048,576 bytes" in big["reason"]
    assert (small["path"], small["status"]) == ("s.jsonl:2", "loaded")


def test_counts_add_up_and_the_manifest_holds_no_machine_paths(
    skillfit_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(skillfit_data / "malformed", tmp_path / "malformed")
    monkeypatch.chdir(tmp_path)
    summary = import_skills(["malformed"], "out")
    rows = report(tmp_path / "out")
    statuses = [row["status"] for row in rows]
    assert summary.found == len(rows) == 25
    assert summary.found == summary.loaded + summary.repaired + summary.skipped
    assert [statuses.count(s) for s in ("loaded", "repaired", "skipped")] == [
        summary.loaded,
        summary.repaired,
        summary.skipped,
    ]
    assert {row["path"] for row in rows} == {
        case["path"] for case in json.loads((skillfit_data / "malformed" / "index.json").read_text())["files"]
    }
    assert {row["skill_id"] for row in rows if row["skill_id"]} == set(load_imported("out")[0].ids)
    manifest = read_json(tmp_path / "out" / "manifest.json")
    assert manifest["sources"] == [{"path": "malformed", "format": "folders"}]
    assert str(tmp_path) not in json.dumps(manifest) + json.dumps(rows)


def test_several_sources(tmp_path: Path) -> None:
    one, two = pool(tmp_path / "one.jsonl", record("a")), pool(tmp_path / "two.jsonl", record("b"))
    asked = pool(
        tmp_path / "asked.jsonl",
        {"query_id": "q", "text": "x", "required": ["a", "b"]},
        {"query_id": "n", "text": "y", "required": []},
    )
    import_skills([one, two, asked], tmp_path / "out")
    corpus, queries, qrels = load_imported(tmp_path / "out")
    assert corpus.ids == ("a", "b")
    assert [query.query_id for query in queries] == ["q", "n"]
    assert (qrels.size_of("q"), qrels.size_of("n"), qrels.size_of("other")) == ("multi", "none", "unjudged")
    assert read_qrels(tmp_path / "out" / "qrels.tsv") == {"q": {"a": 1, "b": 1}}
    assert [row["path"] for row in report(tmp_path / "out")] == [f"{one}:1", f"{two}:1"]


def test_importing_an_imported_folder_changes_nothing(tmp_path: Path) -> None:
    source = pool(tmp_path / "s.jsonl", record("b"), record("a", stars=2))
    asked = pool(
        tmp_path / "q.jsonl",
        {"query_id": "q", "text": "x", "required": ["a"], "split": "test"},
        {"query_id": "n", "text": "y", "required": []},
        {"query_id": "u", "text": "z"},
        {"query_id": "out", "text": "z", "required": ["a"], "scored": False},
    )
    first = import_skills([source, asked], tmp_path / "one")
    again = import_skills([tmp_path / "one"], tmp_path / "two")
    assert again.content_hash == first.content_hash
    assert again.queries == first.queries
    assert load_imported(tmp_path / "two")[1:] == load_imported(tmp_path / "one")[1:]
    assert (tmp_path / "one" / "corpus.arrow").read_bytes() == (tmp_path / "two" / "corpus.arrow").read_bytes()
    assert import_cached([tmp_path / "one"], tmp_path / "cache") == tmp_path / "one"


def test_an_id_clash_names_both_places(tmp_path: Path) -> None:
    one, two = pool(tmp_path / "one.jsonl", record("a")), pool(tmp_path / "two.jsonl", record("b"), record("a"))
    with pytest.raises(UserError) as error:
        import_skills([one, two], tmp_path / "out")
    assert f"{two}:2" in str(error.value)
    assert f"{one}:1" in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


def test_an_empty_corpus_is_refused_with_the_reasons(tmp_path: Path) -> None:
    source = pool(tmp_path / "s.jsonl", {"name": "no id"}, "[]")
    with pytest.raises(UserError, match=r"no usable skill among the 2 found.*s.jsonl:1 \(no_id.*s.jsonl:2 \(bad_json"):
        import_skills([source], tmp_path / "out")
    with pytest.raises(UserError, match="would be empty"):
        import_skills([pool(tmp_path / "e.jsonl")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_judged_ids_must_be_in_the_corpus(tmp_path: Path) -> None:
    source, asked = (
        pool(tmp_path / "s.jsonl", record("a")),
        pool(tmp_path / "q.jsonl", {"query_id": "q", "text": "x", "required": ["z"]}),
    )
    with pytest.raises(UserError, match="unknown=drop"):
        import_skills([source, asked], tmp_path / "out")
    summary = import_skills([source, asked], tmp_path / "out", ImportOptions(unknown="drop"))
    assert summary.queries["queries_without_known_skill"] == 1
    assert load_imported(tmp_path / "out")[2].required == {}


def test_results_are_never_overwritten(tmp_path: Path) -> None:
    source = pool(tmp_path / "s.jsonl", record("a"))
    (tmp_path / "out").mkdir()
    import_skills([source], tmp_path / "out")
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="not an empty folder"):
        import_skills([source], tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


def test_a_cut_off_shard_is_no_small_one(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl.gz"
    source.write_bytes(gzip.compress("".join(json.dumps(record(f"s{i}")) + "\n" for i in range(500)).encode())[:-30])
    with pytest.raises(UserError, match="damaged or cut off"):
        import_skills([source], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_content_hash_is_that_of_the_skills(tmp_path: Path) -> None:
    rows = [record("a"), record("b"), record("c")]
    hashes = set()
    for number, order in enumerate((rows, rows[::-1])):
        source = pool(tmp_path / f"{number}.jsonl", *order)
        hashes.add(import_skills([source], tmp_path / f"out{number}").content_hash)
    assert len(hashes) == 1
    for name in ("name", "description", "body", "license", "x"):
        source = pool(tmp_path / f"{name}.jsonl", *rows[:2], rows[2] | {name: "changed"})
        hashes.add(import_skills([source], tmp_path / f"out-{name}").content_hash)
    assert len(hashes) == 6
    corpus = write_skills(tmp_path / "made.arrow", reversed(list(load_imported(tmp_path / "out0")[0])))
    assert corpus.content_hash in hashes


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: (d / "manifest.json").unlink(), "has no manifest.json"),
        (lambda d: (d / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda d: (d / "manifest.json").write_text("{}"), "no manifest of an import"),
        (lambda d: edit_json(d / "manifest.json", format_version=2), "format_version"),
        (lambda d: edit_json(d / "manifest.json", files=None), "incomplete"),
        (lambda d: (d / "corpus.arrow").unlink(), "missing"),
        (lambda d: (d / "qrels.tsv").write_text("q\t0\tb\t1\n"), "another size|changed"),
        (lambda d: flip(d / "corpus.arrow"), "was changed"),
        (lambda d: (d / "grades.tsv").write_text("q\t0\tb\t1\n"), "not in the manifest"),
    ],
)
def test_a_folder_that_is_not_as_it_was_left_is_refused(tmp_path: Path, damage: Any, said: str) -> None:
    source, asked = (
        pool(tmp_path / "s.jsonl", record("a")),
        pool(tmp_path / "q.jsonl", {"query_id": "q", "text": "x", "required": ["a"]}),
    )
    import_skills([source, asked], tmp_path / "out")
    damage(tmp_path / "out")
    with pytest.raises(UserError, match=said):
        load_imported(tmp_path / "out")


def edit_json(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_the_cache_follows_content_and_options(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # UP-36
    source, cache = pool(tmp_path / "s.jsonl", record("a")), tmp_path / "cache"

    def said(options: ImportOptions | None = None) -> tuple[Path, str]:
        caplog.clear()
        with caplog.at_level(logging.INFO):
            folder = import_cached([source], cache, options)
        return folder, " ".join(record.getMessage() for record in caplog.records)

    first, text = said()
    assert "imported" in text
    assert "no import of these sources yet" in text
    again, text = said()
    assert again == first
    assert text.startswith("reused")
    os.utime(source, (1, 1))
    assert said()[0] == first

    stat = source.stat()
    source.write_text(source.read_text().replace("text of a", "TEXT of a"))
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert source.stat().st_size == stat.st_size
    second, text = said()
    assert second != first
    assert "the content has changed" in text
    assert load_imported(second)[0].get("a").body == "TEXT of a"

    third, text = said(ImportOptions(near_copies=0.9))
    assert third not in (first, second)
    assert "other options than before: near_copies" in text

    flip(second / "corpus.arrow")
    repaired, text = said()
    assert repaired == second
    assert "damaged" in text
    assert load_imported(second)[0].get("a").body == "TEXT of a"


def test_what_a_killed_import_left_is_never_taken_and_in_time_removed(tmp_path: Path) -> None:
    source, cache = pool(tmp_path / "s.jsonl", record("a")), tmp_path / "cache"
    folder = import_cached([source], cache)
    left = folder.parent / f".{folder.name}.abc.part"
    folder.rename(left)
    assert import_cached([source], cache) == folder
    assert left.exists()  # it may be another process at work
    os.utime(left, (1, 1))
    shutil.rmtree(folder)
    import_cached([source], cache)
    assert not left.exists()


def test_a_source_that_changes_under_the_import_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pool(tmp_path / "s.jsonl", record("a"))
    from skillfit.data.sources.jsonl import JsonlSource

    items = JsonlSource.items

    def growing(self: JsonlSource) -> Any:
        yield from items(self)
        pool(source, record("a"), record("b"))

    monkeypatch.setattr(JsonlSource, "items", growing)
    with pytest.raises(UserError, match="changed while it was read"):
        import_skills([source], tmp_path / "out")


def test_a_list_of_sources_is_needed(tmp_path: Path) -> None:
    for sources in ([], "one.jsonl"):
        with pytest.raises(UserError, match="give a list"):
            import_skills(sources, tmp_path / "out")


def test_a_corpus_survives_the_trip_to_a_worker(tmp_path: Path) -> None:
    import pickle

    corpus = write_skills(tmp_path / "c.arrow", [Skill("a", "n", "d", "b"), Skill("b", "n", "d", "b")])
    copy = pickle.loads(pickle.dumps(corpus))
    assert isinstance(copy, Corpus)
    assert list(copy) == list(corpus)
    with pytest.raises(UserError, match="occurs twice"):
        write_skills(tmp_path / "d.arrow", [Skill("a", "n", "d", "b"), Skill("a", "n", "d", "b")])


def test_texts_of_any_script_and_size_come_back(tmp_path: Path) -> None:
    bodies = ["", "🦞 日本語 \x00 \u2028 text", "x" * 5_000_000, "a\nb\r\nc"]
    rows = [Skill(f"s{i}", "n", "d", body, extra={"k": [1, None, {"x": "ü"}]}) for i, body in enumerate(bodies)]
    assert list(write_skills(tmp_path / "c.arrow", rows)) == rows
