"""Benchmark formats: SkillRouter, SkillRet, BEIR, SkillsBench and bundles, with what their files leave open."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from skillfit.data.importer import import_skills, load_imported
from skillfit.data.options import ImportOptions
from skillfit.data.sources import formats, open_source
from skillfit.errors import UserError


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def skill(skill_id: str) -> dict[str, Any]:
    return {
        "skill_id": skill_id,
        "name": skill_id.rsplit("/", 1)[-1],
        "description": "d e",
        "body": f"body of {skill_id}",
    }


@pytest.fixture
def skillrouter(tmp_path: Path) -> Path:
    root = tmp_path / "eval_core"
    jsonl(
        root / "tasks.jsonl",
        *(
            {"task_id": task, "domain": "d", "instruction_text": f"do {task}", "difficulty": "easy", "tags": []}
            for task in ("t1", "t2", "t3", "t4", "t5")
        ),
    )
    entry: dict[str, Any] = {
        "gt_skill_ids": ["gt/a", "gt/pdf"],
        "core_gt_ids": ["gt/a"],
        "auxiliary_gt_ids": ["gt/pdf"],
    }
    relevance = {
        "t1": {**entry, "relevance": {"gt/a": 3, "gt/pdf": 3, "degraded/a_1": 1}, "task_type": "mixed"},
        "t2": {
            **entry,
            "core_gt_ids": ["gt/a", "gt/gone"],
            "relevance": {"gt/a": 3, "gt/gone": 3},
            "task_type": "clean",
        },
        "t3": {**entry, "core_gt_ids": ["gt/gone"], "relevance": {}, "task_type": "clean"},
        "t4": {**entry, "core_gt_ids": ["gt/pdf"], "relevance": {"gt/pdf": 3}, "task_type": "generic_only"},
    }
    (root / "relevance.json").write_text(json.dumps(relevance))
    easy = [skill("gt/a"), skill("gt/pdf"), skill("data/x")]
    jsonl(root / "easy" / "part-0.jsonl.gz", *easy[:2])
    jsonl(root / "easy" / "part-1.jsonl.gz", *easy[2:])
    jsonl(root / "hard" / "part-0.jsonl.gz", *easy, skill("degraded/a_1"))
    return root


def test_skillrouter(skillrouter: Path, tmp_path: Path) -> None:
    summary = import_skills([skillrouter], tmp_path / "easy")
    corpus, queries, qrels = load_imported(tmp_path / "easy")
    assert corpus.ids == ("data/x", "gt/a", "gt/pdf")
    assert [q.query_id for q in queries] == ["t1", "t2", "t3", "t4", "t5"]
    assert queries[0].groups == {"domain": "d", "difficulty": "easy", "task_type": "mixed"}
    assert qrels.required == {"t1": frozenset({"gt/a"}), "t2": frozenset({"gt/a"})}
    assert qrels.grades == {"t1": {"gt/a": 3, "gt/pdf": 3}, "t2": {"gt/a": 3}}
    assert summary.queries == {
        "judged": 2, "queries": 5, "queries_with_fewer_skills": 1, "queries_without_known_skill": 1, "unjudged": 2,
        "unknown_skills_dropped": 2, "unscored": 1, "without_relevance": 1,
    }  # fmt: skip


def test_skillrouter_options(skillrouter: Path, tmp_path: Path) -> None:
    import_skills([skillrouter], tmp_path / "hard", ImportOptions(tier="hard", ground_truth="all"))
    corpus, _, qrels = load_imported(tmp_path / "hard")
    assert "degraded/a_1" in corpus
    assert qrels.required["t1"] == {"gt/a", "gt/pdf"}
    assert qrels.grades["t1"]["degraded/a_1"] == 1
    with pytest.raises(UserError, match="gt/gone"):
        import_skills([skillrouter], tmp_path / "strict", ImportOptions(unknown="error"))
    assert not (tmp_path / "strict").exists()


@pytest.mark.parametrize("grade", [0.5, -1, True, "x", None])
def test_skillrouter_grades_are_integers(skillrouter: Path, tmp_path: Path, grade: Any) -> None:  # UP-42
    file = skillrouter / "relevance.json"
    data = json.loads(file.read_text())
    data["t1"]["relevance"]["gt/a"] = grade
    file.write_text(json.dumps(data))
    with pytest.raises(UserError, match=r"task t1: gt/a: grade"):
        import_skills([skillrouter], tmp_path / "out")


def test_skillrouter_without_a_tier(skillrouter: Path, tmp_path: Path) -> None:
    for shard in (skillrouter / "hard").iterdir():
        shard.unlink()
    with pytest.raises(UserError, match="tier=easy"):
        import_skills([skillrouter], tmp_path / "out", ImportOptions(tier="hard"))


def test_beir(tmp_path: Path) -> None:
    root = tmp_path / "beir"
    jsonl(
        root / "corpus.jsonl",
        {"_id": "d1", "title": "T", "text": "body one"},
        {"_id": "d2", "title": "", "text": "body two"},
    )
    jsonl(
        root / "queries.jsonl",
        {"_id": "q1", "text": "one"},
        {"_id": "q2", "text": "two"},
        {"_id": "q3", "text": "three"},
    )
    (root / "qrels").mkdir()
    (root / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    (root / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td2\t1\n")
    import_skills([root], tmp_path / "all")
    corpus, queries, qrels = load_imported(tmp_path / "all")
    assert (corpus.get("d1").name, corpus.get("d1").body, corpus.get("d2").name) == ("T", "body one", "")
    assert [dict(q.groups) for q in queries] == [{"split": "test"}, {"split": "dev"}, {}]
    assert qrels.required == {"q1": {"d1"}, "q2": {"d2"}}
    assert qrels.grades["q1"] == {"d1": 2, "d2": 0}
    import_skills([root], tmp_path / "test", ImportOptions(split="test"))
    assert [q.query_id for q in load_imported(tmp_path / "test")[1]] == ["q1"]
    with pytest.raises(UserError, match="dev, test"):
        import_skills([root], tmp_path / "train", ImportOptions(split="train"))
    (root / "qrels" / "dev.tsv").write_text("q1\td2\t1\n")
    with pytest.raises(UserError, match="is judged in dev and test"):
        import_skills([root], tmp_path / "both")


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "flat"])
def test_skillret(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "skillret"
    md = "---\nname: s\ndescription: d e\n---\nbody text"
    skill_row = {"id": "s1", "name": "n", "namespace": "ns", "description": "d", "stars": 3, "license": "mit"}
    tables: dict[str, dict[str, Any]] = {
        "skills": {**skill_row, "repo": "o/r", "body": "body text", "skill_md": md},
        "queries": {"id": "q1", "original_id": "o", "query": "ask", "skill_ids": ["s1"], "k": 1},
        "qrels": {"query_id": "q1", "skill_id": "s1", "relevance": 1},
    }
    for table, row in tables.items():
        for split in ("train", "test"):
            own = json.loads(json.dumps(row).replace('"s1"', f'"s-{split}"').replace('"q1"', f'"q-{split}"'))
            if kind == "parquet":
                pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
                file = root / "data" / table / f"{split}-00000-of-00001.parquet"
                file.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist([own]), file)
            else:
                name = f"data/{table}/{split}.jsonl" if kind == "jsonl" else f"{table}_{split}.jsonl"
                jsonl(root / name, own)
    import_skills([root], tmp_path / "test")
    corpus, queries, qrels = load_imported(tmp_path / "test")
    only = corpus.get("s-test")
    assert (corpus.ids, only.body, only.source, only.license) == (("s-test",), "body text", "o/r", "mit")
    assert (only.extra["split"], only.extra["namespace"], only.extra["stars"]) == ("test", "ns", 3)
    assert "skill_md" not in only.extra
    assert (queries[0].text, queries[0].groups, qrels.required) == ("ask", {"split": "test"}, {"q-test": {"s-test"}})
    import_skills([root], tmp_path / "all", ImportOptions(split="all"))
    assert load_imported(tmp_path / "all")[0].ids == ("s-test", "s-train")
    with pytest.raises(UserError, match="test, train"):
        import_skills([root], tmp_path / "dev", ImportOptions(split="dev"))


@pytest.fixture
def skillsbench(tmp_path: Path) -> Path:
    root = tmp_path / "tasks"
    for task, names in (("fix-pdf", ("pdf", "ocr")), ("no-skills", ())):
        folder = root / task
        (folder / "environment").mkdir(parents=True)
        (folder / "instruction.md").write_text(f"Please {task}.\n")
        (folder / "task.toml").write_text('version = "1.0"\n[metadata]\ndifficulty = "hard"\ncategory = "office"\n')
        for name in names:
            place = folder / "environment" / "skills" / name
            place.mkdir(parents=True)
            (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: a b\n---\nbody of {name}")
    return root


def test_skillsbench(skillsbench: Path, tmp_path: Path) -> None:
    summary = import_skills([skillsbench], tmp_path / "out")
    corpus, queries, qrels = load_imported(tmp_path / "out")
    assert corpus.ids == ("skillsbench/fix-pdf/ocr", "skillsbench/fix-pdf/pdf")
    assert [(q.query_id, q.text, dict(q.groups)) for q in queries] == [
        ("fix-pdf", "Please fix-pdf.", {"difficulty": "hard", "domain": "office"}),
        ("no-skills", "Please no-skills.", {"difficulty": "hard", "domain": "office"}),
    ]
    assert qrels.required == {"fix-pdf": frozenset(corpus.ids)}
    assert summary.queries["without_skills"] == 1
    import_skills([skillsbench / "fix-pdf"], tmp_path / "one")
    assert load_imported(tmp_path / "one")[0].ids == corpus.ids


def test_skillsbench_faults(skillsbench: Path, tmp_path: Path) -> None:
    (skillsbench / "fix-pdf" / "environment" / "skills" / "ocr" / "SKILL.md").write_text("")
    summary = import_skills([skillsbench], tmp_path / "out")
    assert load_imported(tmp_path / "out")[2].required == {"fix-pdf": {"skillsbench/fix-pdf/pdf"}}
    assert summary.queries["unknown_skills_dropped"] == 1
    (skillsbench / "no-skills" / "task.toml").write_text("= x")
    with pytest.raises(UserError, match=r"task.toml.*not valid TOML"):
        import_skills([skillsbench], tmp_path / "bad")


@pytest.mark.parametrize("shape", ["folders", "files"])
def test_bundle(tmp_path: Path, shape: str) -> None:
    root = tmp_path / "bundle"
    asked = {"query_id": "q", "text": "ask", "required": ["g/a"]}
    if shape == "folders":
        (root / "skills" / "g" / "a").mkdir(parents=True)
        (root / "skills" / "g" / "a" / "SKILL.md").write_text("---\nname: a\ndescription: a b\n---\nbody")
        jsonl(root / "queries" / "one.jsonl", asked, {"query_id": "r", "text": "ask too"})
    else:
        jsonl(root / "skills.jsonl", skill("g/a"))
        jsonl(root / "queries.jsonl", asked, {"query_id": "r", "text": "ask too"})
    (root / "qrels.tsv").write_text("r\t0\tg/a\t1\n")
    (root / "grades.tsv").write_text("q\t0\tg/a\t3\n")
    import_skills([root], tmp_path / "out")
    corpus, _, qrels = load_imported(tmp_path / "out")
    assert corpus.ids == ("g/a",)
    assert (qrels.required, qrels.grades) == ({"q": {"g/a"}, "r": {"g/a"}}, {"q": {"g/a": 3}})


def test_tables(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from datasets import Dataset

    rows = [{**skill(f"s{i}"), "stars": float("nan") if i else 2.0} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    import_skills([tmp_path / "t.parquet"], tmp_path / "one")
    corpus, _, _ = load_imported(tmp_path / "one")
    assert [s.extra["stars"] for s in corpus] == [2.0, None, None]
    Dataset.from_list(rows).save_to_disk(str(tmp_path / "saved"))
    summary = import_skills([tmp_path / "saved"], tmp_path / "two")
    assert summary.content_hash == corpus.content_hash
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(UserError, match="cannot be read as a table"):
        import_skills([tmp_path / "bad.parquet"], tmp_path / "three")


def test_detection_and_override(skillrouter: Path, tmp_path: Path) -> None:
    assert open_source(skillrouter, ImportOptions()).name == "skillrouter"
    assert open_source(skillrouter / "easy", ImportOptions()).name == "jsonl"
    assert open_source(skillrouter / "easy", ImportOptions(format="folders")).name == "folders"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UserError) as error:
        open_source(empty, ImportOptions())
    for name, source in formats().items():
        assert f"{name}: {source.looks_for}" in str(error.value)
    with pytest.raises(UserError, match="did you mean jsonl"):
        open_source(empty, ImportOptions(format="jsonnl"))
    with pytest.raises(UserError, match="no such file"):
        open_source(tmp_path / "nowhere", ImportOptions())


def test_loading_scripts_are_named_and_never_run(tmp_path: Path) -> None:  # UP-35
    root = tmp_path / "scripted"
    root.mkdir()
    text = "import datasets\nraise SystemExit\nclass Scripted(datasets.GeneratorBasedBuilder): ...\n"
    (root / "scripted.py").write_text(text)
    with pytest.raises(UserError, match=r"scripted.*scripted\.py.*import its JSONL or Parquet files"):
        open_source(root, ImportOptions())


@pytest.mark.parametrize("name", sorted(formats()))
def test_a_forced_format_that_does_not_fit_is_a_user_error(name: str, tmp_path: Path) -> None:
    for kind in ("folder", "file.txt"):
        place = tmp_path / kind
        place.mkdir() if kind == "folder" else place.write_text("nothing here")
        with pytest.raises(UserError):
            import_skills([place], tmp_path / "out", ImportOptions(format=name))
        assert not (tmp_path / "out").exists()
