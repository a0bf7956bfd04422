"""A wrong command ends at once: exit code 2, one line on stderr with the key, the value and what to type instead."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from commands import Command, Ended
from skillfit.cli.config_errors import quoted

MOST_SECONDS = 10  # of processor time: the wall clock of a busy machine proves nothing


def told(ended: Ended) -> str:
    """The one line of a command that was refused."""
    assert ended.code == 2, ended.stderr
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith("error: ")
    assert ended.seconds < MOST_SECONDS
    return lines[0]


BAD = [
    # a misspelt key, with and without +
    ("evaluate.py", "retreiver=lexical", ["retreiver = lexical", "did you mean retriever?"]),
    ("evaluate.py", "+sead=3", ["sead = 3", "did you mean seed?"]),
    ("evaluate.py", "retriever.dpeth=5", ["retriever.dpeth = 5", "did you mean depth?"]),
    ("evaluate.py", "+retriever.dpeth=5", ["retriever.dpeth = 5", "did you mean depth?"]),
    ("evaluate.py", "qrels.unkown=drop", ["qrels.unkown = drop", "did you mean unknown?"]),
    ("evaluate.py", "+qrels.unkown=drop", ["qrels.unkown = 'drop'", "did you mean unknown?"]),
    ("evaluate.py", "+suite.bootstrap.levle=0.9", ["suite.bootstrap.levle = 0.9", "did you mean level?"]),
    ("evaluate.py", "hydra.run.dri=x", ["hydra.run.dri = x", "did you mean dir?"]),
    ("train.py", "component.temprature=1", ["component.temprature = 1", "did you mean temperature?"]),
    ("train.py", "+component.temprature=1", ["component.temprature = 1", "did you mean temperature?"]),
    ("train.py", "trainer.max_epoch=2", ["trainer.max_epoch = 2", "did you mean max_epochs"]),
    # a folder that cannot be made, a group set to null
    ("evaluate.py", "hydra.run.dir=/proc/run", ["/proc/run", "check the path"]),
    ("train.py", "logger=null", ["a group cannot be null", "logger=none"]),
    # a key that another option of the group has, or that only refers to another key
    ("evaluate.py", "data.corpus=x", ["data.corpus = x", "data=files has it"]),
    ("evaluate.py", "retriever.view.caps=none", ["retriever.view.caps = none", "set view.caps=none"]),
    ("evaluate.py", "+view.foo=1", ["view.foo = 1", "known: caps, fields, name, passages, separator"]),
    # an unknown option of a group
    ("evaluate.py", "retriever=lexcal", ["retriever = 'lexcal'", "did you mean lexical?"]),
    ("evaluate.py", "retriever=runs/x/model", ["retriever = 'runs/x/model'", "known: dense, hybrid, lexical"]),
    ("evaluate.py", "data=minni", ["data = 'minni'", "did you mean mini?"]),
    ("train.py", "logger=wandbb", ["logger = 'wandbb'", "did you mean wandb?"]),
    ("train.py", "~component", ["component", "add component=OPTION"]),
    # a value of the wrong type or outside its range
    ("evaluate.py", "seed=abc", ["seed = 'abc'", "expected a whole number"]),
    ("evaluate.py", "seed=", ["seed = ''", "expected a whole number"]),
    ("evaluate.py", "seed=null", ["seed", "expected a whole number"]),
    ("evaluate.py", "cache=null", ["cache", "expected text"]),
    ("evaluate.py", "seed=-1", ["seed = -1", "from 0 to"]),
    ("evaluate.py", "verbose=1", ["verbose = 1", "expected true or false"]),
    ("evaluate.py", "run=2024", ["run = 2024", "expected text", "\"run='2024'\""]),
    ("evaluate.py", "system=[a]", ["system = ['a']", "expected text"]),
    ("evaluate.py", "qrels=3", ["qrels = 3", "qrels.{unknown}"]),
    ("evaluate.py", "qrels.unknown=dorp", ["qrels.unknown = 'dorp'", "did you mean drop?"]),
    ("evaluate.py", "profile=srr", ["profile = 'srr'", "did you mean sr?"]),
    ("evaluate.py", "caps=relase", ["caps = 'relase'", "did you mean release?"]),
    ("evaluate.py", "retriever.k1=abc", ["retriever.k1 = 'abc'", "valid number"]),
    ("evaluate.py", "retriever.depth=0", ["retriever.depth = 0", "greater than or equal to 1"]),
    ("evaluate.py", "view.fields=[name,bdy]", ["view.fields = 'bdy'", "did you mean body?"]),
    ("evaluate.py", "suite.measures=nDCG@10", ["suite.measures = 'nDCG@10'", "'suite.measures=[nDCG@10]'"]),
    ("evaluate.py", "suite.measures=[nDGC@10]", ["nDGC@10", "did you mean nDCG?"]),
    ("train.py", "component.learning_rate=fast", ["component.learning_rate = 'fast'", "valid number"]),
    ("train.py", "component.batch_size=1", ["component.batch_size = 1", "greater than or equal to 2"]),
    ("train.py", "component.model=runs/x/model", ["component.model = 'runs/x/model'", "all-MiniLM-L6-v2"]),
    ("train.py", "trainer.accelerator=tpu", ["trainer.accelerator = 'tpu'", "known: auto, cpu, gpu"]),
    ("train.py", "trainer.precision=bf16", ["trainer.precision = 'bf16'", "bf16-mixed"]),
    # a + too many
    ("evaluate.py", "+seed=3", ["+seed = 3", "write seed=3 without the +"]),
    ("evaluate.py", "+retriever=dense", ["+retriever = dense", "write retriever=dense without the +"]),
    # no setting at all
    ("evaluate.py", "lexical", ["'lexical'", "key=value"]),
    ("evaluate.py", "=3", ["'=3'", "key=value"]),
    ("evaluate.py", "retriever.=3", ["'retriever.=3'", "no valid key"]),
    # one value for a sweep
    ("evaluate.py", "seed=1,2", ["seed = '1,2'", "add -m"]),
    # an object that is not there
    (
        "evaluate.py",
        "retriever._target_=skillfit.nope.X",
        ["retriever._target_ = 'skillfit.nope.X'", "cannot be found"],
    ),
]


@pytest.mark.parametrize(("script", "argument", "parts"), BAD, ids=[f"{script[:-3]} {word}" for script, word, _ in BAD])
def test_a_wrong_setting_is_told_in_one_line(command: Command, script: str, argument: str, parts: list[str]) -> None:
    line = told(command(script, argument))
    for part in parts:
        assert part in line


def test_a_refused_command_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    told(command("evaluate.py", "seed=abc"))
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert list(tmp_path.glob("runs/evaluate/*")) == []


def test_a_folder_that_the_user_named_stays(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    told(command("evaluate.py", "seed=abc", "hydra.run.dir=mine"))
    assert (tmp_path / "mine").is_dir()


def test_stack_traces_come_back_when_asked_for(command: Command, environment: dict[str, str]) -> None:
    environment["HYDRA_FULL_ERROR"] = "1"
    ended = command("evaluate.py", "seed=abc")
    assert ended.code == 1
    assert "Traceback" in ended.stderr


def advice(line: str) -> list[str]:
    """The words that a message says to type, as a shell takes them apart."""
    found = re.search(r"(?:quote the value twice|as one text): (.*?)(?:, as a list: .*)?$", line)
    assert found, line
    return shlex.split(found.group(1))


@pytest.mark.parametrize(
    "value",
    ["runs/epoch=3-step=99.trec", "Find: a, b (c)", "文件.trec", "a,b", "[a", "it's=b", "$HOME=x", "#1"],
)
def test_up_26_a_value_with_special_characters_is_repeated_with_its_quoted_form(command: Command, value: str) -> None:
    line = told(command("evaluate.py", f"run={value}"))
    assert f"run = {value!r}" in line
    (override,) = OverridesParser.create().parse_overrides(advice(line))
    assert override.value() == value


def test_up_26_the_quoted_form_typed_as_told_reaches_the_job(command: Command) -> None:
    line = told(command("evaluate.py", "run=runs/epoch=3, step (99).trec"))
    ended = command("evaluate.py", *advice(line))
    assert ended.code == 2
    # refused now only because no such run file is there
    assert ended.stderr.splitlines()[-1].startswith("error: runs/epoch=3, step (99).trec: no such file")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(lambda text: "${" not in text))
def test_up_26_any_text_survives_its_quoted_form(value: str) -> None:
    (word,) = shlex.split(quoted("run", value))
    (override,) = OverridesParser.create().parse_overrides([word])
    assert override.value() == value


def test_up_27_a_missing_value_is_named_with_its_user_and_the_override_to_give(command: Command) -> None:
    line = told(command("evaluate.py", "data=files"))
    assert "data.corpus is missing" in line
    assert "data=files needs it" in line
    assert "add data.corpus=VALUE" in line


@pytest.mark.parametrize(
    ("argument", "key", "target", "hint"),
    [
        ("run='${data.splt}'", "run = '${data.splt}'", "refers to data.splt", "did you mean data.split?"),
        ("view.name='${veiw}'", "view.name = '${veiw}'", "refers to veiw", "did you mean view?"),
        (
            "retriever.k1=${retriever.k}",
            "retriever.k1 = '${retriever.k}'",
            "refers to retriever.k",
            "give retriever.k1=VALUE",
        ),
        (
            "run='${oc.env:NOT_SET_HERE}'",
            "run = '${oc.env:NOT_SET_HERE}'",
            "'NOT_SET_HERE' not found",
            "give run=VALUE",
        ),
    ],
)
def test_up_27_a_reference_to_nothing_is_told_where_it_stands(
    command: Command, argument: str, key: str, target: str, hint: str
) -> None:
    line = told(command("evaluate.py", argument))
    for part in (key, target, hint):
        assert part in line


def test_up_27_a_reference_to_a_missing_value_names_the_missing_one(command: Command) -> None:
    line = told(command("evaluate.py", "data=files", "run='${data.corpus}'"))
    assert "data.corpus is missing" in line
    assert "run refers to it" in line
