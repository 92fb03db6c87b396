"""Packs through kills: SIGKILL at random moments, the same command again, until it is done.

    python -m benchmarks.pack_kills [--kills 50] [--rows 200000]

Some kills hit only the command (its workers must go with it), some the whole process group.
At the end the manifest must verify and the pack must hold exactly the source's elements.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHARD_SIZE = "60kB"
MAP = """
def slowed(element):
    # Some work per element, so that kills fall into the writing and not into the start.
    sum(range(400))
    return element
"""


def main() -> int:
    """Kill, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = make_source(Path(folder), options.rows)
        result = pack_through_kills(Path(folder), source, kills=options.kills, seed=0)
    print(json.dumps(result))
    path = Path(__file__).parent / "results" / "pack_kills.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["verified"] and result["same_multiset"] else 1


def make_source(folder: Path, rows: int) -> Path:
    """Rows of which some are equal, so that a doubled one cannot hide behind its twin."""
    import numpy as np

    chance = np.random.default_rng(0)
    path = folder / "rows.npz"
    values = chance.normal(size=(rows, 6)).astype(np.float32)
    np.savez(path, x=values, y=chance.integers(0, 3, rows))
    (folder / "slowing.py").write_text(MAP)
    return path


def pack_through_kills(folder: Path, source: Path, *, kills: int, seed: int) -> dict[str, Any]:
    """Kill so often, then let it finish, and compare."""
    chance = random.Random(seed)
    done = early = in_writing = 0
    longest = 0.3
    while done < kills:
        process = _start(folder, source)
        time.sleep(chance.uniform(0.05, longest))
        if process.poll() is not None:
            # Done before it could be killed: begin anew, and kill sooner.
            early, longest = early + 1, max(0.1, longest * 0.8)
            _start(folder, source, "--force").communicate()
            subprocess.run(["rm", "-rf", str(folder / "dest")], check=True)
            continue
        work = folder / "dest" / ".packing"
        in_writing += work.exists() and any(work.glob("*.part"))
        if chance.random() < 0.5:
            os.kill(process.pid, signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        done, longest = done + 1, min(3.0, longest * 1.05)
    last = _start(folder, source, "--verify")
    _, said = last.communicate()
    return {
        "kills": done,
        "in_writing": in_writing,
        "finished_before_its_kill": early,
        "verified": last.returncode == 0,
        "said": said.splitlines(),
        "same_multiset": _multiset(folder / "dest") == _expected(source),
    }


def _start(folder: Path, source: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fitdoctor",
            "pack",
            str(source),
            "dest",
            "--workers",
            "2",
            "--shard-size",
            SHARD_SIZE,
            "--map",
            "slowing:slowed",
            *more,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _multiset(dest: Path) -> Counter[bytes]:
    from fitdoctor.pack.example import decoder
    from fitdoctor.pack.manifest import read_manifest
    from fitdoctor.pack.verify import records_of

    manifest = read_manifest(dest)
    decode = decoder(manifest.schema)
    found: Counter[bytes] = Counter()
    for path in manifest.paths:
        for record in records_of(path, manifest.file_format):
            element = decode(record)
            found[element["x"].tobytes() + element["y"].tobytes()] += 1
    return found


def _expected(source: Path) -> Counter[bytes]:
    import numpy as np

    arrays = np.load(source)
    return Counter(x.tobytes() + y.tobytes() for x, y in zip(arrays["x"], arrays["y"], strict=True))


if __name__ == "__main__":
    sys.exit(main())
