"""How much memory can still be had: what the machine has, less where a limit says so."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.ledger.cgroup import own_cgroup

SOURCE = str(Path(__file__).parents[2] / "src")
LIMIT = 300_000_000


def test_without_a_limit_it_is_the_machines() -> None:
    found = available_bytes()
    assert found is not None
    assert found > 10_000_000


def test_a_limit_of_the_process_counts() -> None:
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from fitdoctor.inside.lab.apparatus.memory import available_bytes\n"
                "print(available_bytes())",
            ],
            env={"PYTHONPATH": SOURCE},
            preexec_fn=lambda limit=limit: resource.setrlimit(limit, (LIMIT, LIMIT)),
            capture_output=True,
            text=True,
            check=True,
        )
        assert 0 < int(done.stdout) < LIMIT


def test_a_limit_of_the_group_counts_less_what_is_taken(tmp_path: Path) -> None:
    inner = tmp_path / "fs" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "member").write_text("0::/a/b\n")
    assert own_cgroup(tmp_path / "member", tmp_path / "fs").memory_left_bytes() is None
    (inner.parent / "memory.max").write_text("9000\n")
    (inner.parent / "memory.current").write_text("5000\n")
    (inner / "memory.max").write_text("max\n")
    assert own_cgroup(tmp_path / "member", tmp_path / "fs").memory_left_bytes() == 4000
    # Files that were read are given back when memory is needed.
    (inner.parent / "memory.stat").write_text("anon 3000\ninactive_file 1500\n")
    assert own_cgroup(tmp_path / "member", tmp_path / "fs").memory_left_bytes() == 5500
