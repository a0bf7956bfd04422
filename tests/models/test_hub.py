"""A hub that answers, one that does not, and the copy on the disk; each in its own process, as its settings are."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

FILES = {
    "config.json": b"{}",
    "1_Pooling/config.json": b"{}",
    "tokenizer.json": b"{}",
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"pickle",
    "onnx/config.json": b"{}",
}
COMMIT = "c" * 40
FETCH = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
from skillfit.errors import UserError
from skillfit.models.hub import fetch
try:
    print(fetch("group/tiny"))
except UserError as error:
    sys.exit(str(error))
"""


class Hub(BaseHTTPRequestHandler):
    """As much of a hub as a download asks for."""

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/group/tiny/tree/"):
            sizes = [{"type": "file", "path": name, "size": len(body)} for name, body in FILES.items()]
            self.answer(json.dumps([file | {"oid": "0"} for file in sizes]).encode())
        elif self.path.startswith("/api/models/group/tiny"):
            siblings = [{"rfilename": name} for name in FILES]
            self.answer(json.dumps({"id": "group/tiny", "sha": COMMIT, "siblings": siblings}).encode())
        elif (name := self.path.partition("/resolve/")[2].partition("/")[2]) in FILES:
            self.answer(FILES[name])
        else:
            self.answer(b"", 404)

    do_HEAD = do_GET  # noqa: N815

    def answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        tag = hashlib.sha256(body).hexdigest()
        for field, value in (("ETag", f'"{tag}"'), ("X-Repo-Commit", COMMIT), ("Content-Length", str(len(body)))):
            self.send_header(field, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def fetched(home, endpoint: str, **more: str) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.perf_counter()
    unwanted = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "http_proxy", "HTTP_PROXY")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment = kept | {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"} | more
    done = subprocess.run([sys.executable, "-c", FETCH], env=environment, capture_output=True, text=True, timeout=60)
    return done, time.perf_counter() - started


NOBODY = "http://127.0.0.1:9"


def test_an_unreachable_hub_is_told_in_one_line_within_seconds(tmp_path):
    done, seconds = fetched(tmp_path, NOBODY)
    assert done.returncode == 1
    assert seconds < 10
    (line,) = done.stderr.splitlines()
    assert line.startswith("config: model = 'group/tiny': cannot be loaded: it is not on this disk")
    assert f"the hub {NOBODY} cannot be reached" in line


def test_a_hub_that_never_answers_is_given_up(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts and says nothing
        done, seconds = fetched(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert done.returncode == 1
    assert seconds < 15
    assert "cannot be reached" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_model_is_downloaded_once_and_then_there_without_a_hub(tmp_path, hub):
    done, _ = fetched(tmp_path, hub)
    assert (done.returncode, done.stderr) == (0, "fetching group/tiny from the hub, unless it is cached\n")
    folder = tmp_path / "hub" / "models--group--tiny" / "snapshots" / COMMIT
    assert done.stdout.strip() == str(folder)
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}
    assert there == {"config.json", "1_Pooling/config.json", "tokenizer.json", "model.safetensors"}

    without, seconds = fetched(tmp_path, NOBODY)
    assert without.stdout == done.stdout
    assert seconds < 10
    (line,) = without.stderr.splitlines()
    assert line.startswith("group/tiny: the hub")
    assert "using the copy on this disk" in line

    offline, _ = fetched(tmp_path, hub, HF_HUB_OFFLINE="1")
    assert (offline.stdout, offline.stderr) == (done.stdout, "")


def test_offline_is_honoured(tmp_path, hub):
    done, _ = fetched(tmp_path, hub, HF_HUB_OFFLINE="1")
    assert done.returncode == 1
    assert "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set" in done.stderr


def test_a_name_that_the_hub_does_not_know_is_told(tmp_path, hub):
    done, _ = fetched(tmp_path, f"{hub}/elsewhere")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "does not know it" in line
