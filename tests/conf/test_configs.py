"""Every option file composes and builds its object, and every key is read by somebody."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from skillfit.cli.app import build
from skillfit.cli.config_check import PLAIN, check_keys, config_dir

ROOT = Path(__file__).resolve().parents[2]
CONF = config_dir()
JOBS = {"train": "train.py", "evaluate": "evaluate.py", "mine": "src/skillfit/cli/mine.py"}
BUILT = {
    "train": ("component", "data", "trainer"),
    "evaluate": ("suite", "data", "retriever"),
    "mine": ("mix", "filter", "categories", "data", "semantic", "lexical"),
}
# Options and jobs that ask for a value.
NEEDED = {"data=files": ["data.corpus=skills"], "mine": ["out=x"], "pairs=file": ["pairs.file.path=x"]}
DENSE = {"evaluate": ["retriever=dense"]}  # what makes a job use an encoder
REFERRED = {"encoder": ("model", "pooling", "max_length"), "prompts": ("query_prompt", "document_prompt")}
LATE = {"logger"}  # built after the run folder is claimed, as it loads Lightning
PARTS = {"pairs", "search"}  # objects of another group's object, and settings of Hydra's: no object of their own
SHARED = ("cli/app.py", "cli/resume.py")  # what reads root keys for every job


def groups_of(job: str) -> list[str]:
    entries = yaml.safe_load((CONF / f"{job}.yaml").read_text(encoding="utf-8"))["defaults"]
    names = [next(iter(entry)) for entry in entries if isinstance(entry, dict)]
    return [name for name in names if "@" not in name and (CONF / name).is_dir()]


def options(group: str) -> list[str]:
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def composed(job: str, *overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(job, list(overrides))


EVERY_OPTION = [
    (job, group, option)
    for job in JOBS
    for group in groups_of(job)
    if group != "experiment"
    for option in options(group)
]


def test_every_option_file_belongs_to_a_job() -> None:
    reached = {group for job in JOBS for group in groups_of(job)} | {"hydra_run"}
    there = {path.name for path in CONF.iterdir() if path.is_dir() and list(path.glob("*.yaml"))}
    assert there <= reached, f"no job offers {sorted(there - reached)}"


@pytest.mark.parametrize(("job", "group", "option"), EVERY_OPTION)
def test_every_option_builds(job: str, group: str, option: str) -> None:
    choice = f"{group}={option}"
    cfg = composed(job, choice, *NEEDED.get(choice, []), *NEEDED.get(job, []))
    check_keys(cfg, job)
    for key in {group, *BUILT[job]} - LATE - PARTS - set(PLAIN):
        built = build(cfg, key)
        assert type(built).__name__ == OmegaConf.select(cfg, key)._target_.rsplit(".", 1)[1]


@pytest.mark.parametrize(("group", "option"), [(group, option) for group in PLAIN for option in options(group)])
def test_every_option_of_a_group_of_values_has_its_keys_and_each_is_referred_to(group: str, option: str) -> None:
    assert set(yaml.safe_load((CONF / group / f"{option}.yaml").read_text(encoding="utf-8"))) == set(PLAIN[group])
    for job, owner in {"train": "component", "evaluate": "retriever", "mine": "semantic"}.items():
        cfg = composed(job, f"{group}={option}", *DENSE.get(job, []), *NEEDED.get(job, []))
        values = [OmegaConf.select(cfg, f"{owner}.{key}") for key in REFERRED[group]]
        assert values == list(cfg[group].values())[: len(values)]


def test_a_model_named_apart_from_its_preset_wins() -> None:
    cfg = composed("evaluate", "retriever=hybrid", "encoder=bge_small", "retriever.model=runs/x/model")
    assert (cfg.retriever.model, cfg.retriever.parts.dense.model) == ("runs/x/model", "runs/x/model")
    assert composed("train", "encoder=bge_small", "component.model=runs/x/model").component.model == "runs/x/model"


@pytest.mark.parametrize("option", options("data"))
def test_both_jobs_can_ask_any_data_for_queries(option: str) -> None:
    choice = f"data={option}"
    data: Any = build(composed("train", choice, *NEEDED.get(choice, [])), "data")
    assert callable(data.load)  # evaluate.py: the queries of one split
    assert callable(data.load_all)  # train.py: all splits


@pytest.mark.slow
def test_logger_none_leaves_nothing_to_build() -> None:
    assert not composed("train", "logger=none").get("logger")


@pytest.mark.parametrize("option", [option for option in options("logger") if option != "none"])
def test_every_logger_builds(option: str, tmp_path: Path) -> None:
    cfg = composed("train", f"logger={option}", f"logger.save_dir={tmp_path}")
    assert type(build(cfg, "logger")).__name__ == cfg.logger._target_.rsplit(".", 1)[1]


@pytest.mark.parametrize("job", sorted(file.stem for file in CONF.glob("*.yaml")))
def test_every_job_composes_and_knows_its_own_keys(job: str) -> None:
    root = yaml.safe_load((CONF / f"{job}.yaml").read_text(encoding="utf-8"))
    needed = [f"{key}=x" for key, value in root.items() if value == "???"]
    check_keys(composed(job, *needed), job)


@pytest.mark.parametrize("file", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_experiment_runs_by_the_command_at_its_top(file: Path) -> None:
    package, command, *_ = file.read_text(encoding="utf-8").splitlines()
    assert package == "# @package _global_"
    words = shlex.split(command.lstrip("# "))
    assert words[0] == "python"
    assert f"experiment={file.stem}" in words
    job = words[1].removesuffix(".py")
    cfg = composed(job, *(word for word in words[2:] if word != "-m"))
    check_keys(cfg, job)
    for key in BUILT[job]:
        build(cfg, key)


@pytest.mark.parametrize("job", JOBS)
def test_every_root_key_is_read(job: str) -> None:
    root = yaml.safe_load((CONF / f"{job}.yaml").read_text(encoding="utf-8"))
    sources = [ROOT / JOBS[job], *(ROOT / "src" / "skillfit" / name for name in SHARED)]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    files = "".join(path.read_text(encoding="utf-8") for path in CONF.rglob("*.yaml"))
    unread = [
        key
        for key in sorted(set(root) - {"defaults", "hydra"})
        if not re.search(rf"cfg\.{key}\b|\bcfg\[\"{key}\"\]", code) and f"${{{key}}}" not in files
    ]
    assert not unread, f"nothing reads {unread}"


@pytest.mark.parametrize("job", JOBS)
def test_overrides_reach_the_object(job: str) -> None:
    part = {"train": "component", "evaluate": "retriever", "mine": "semantic"}[job]
    built: Any = build(composed(job, "view=nd", "caps=paper", *NEEDED.get(job, [])), part)
    assert built.view.name == "nd"
    assert built.view.limits.query == 1_500


def test_no_object_of_a_config_loads_a_deep_learning_library() -> None:
    code = (
        "import sys\n"
        "from hydra import compose, initialize_config_dir\n"
        "from skillfit.cli.app import build\n"
        "from skillfit.cli.config_check import config_dir\n"
        f"for job, keys in {BUILT!r}.items():\n"
        "    with initialize_config_dir(str(config_dir()), version_base='1.3'):\n"
        f"        cfg = compose(job, {NEEDED!r}.get(job, []))\n"
        "    for key in keys:\n"
        "        build(cfg, key)\n"
        "print([name for name in ('torch', 'transformers', 'pytorch_lightning') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
