"""Files at the door: atomic writes, content hashes, JSON Lines, qrels and run files."""

from skillfit.io.files import atomic_dir, atomic_write, hash_paths, hash_text
from skillfit.io.jsonl import read_json, read_jsonl, write_json, write_jsonl
from skillfit.io.qrels import read_qrels, write_qrels
from skillfit.io.runs import read_run, write_predictions, write_trec_run

__all__ = [
    "atomic_dir",
    "atomic_write",
    "hash_paths",
    "hash_text",
    "read_json",
    "read_jsonl",
    "read_qrels",
    "read_run",
    "write_json",
    "write_jsonl",
    "write_predictions",
    "write_qrels",
    "write_trec_run",
]
