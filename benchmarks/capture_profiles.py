"""Record small device profiles of the three backends: test data for the readers of profiles.

`python -m benchmarks.capture_profiles OUT [--backends tensorflow,jax,torch] [--seconds 60]` writes
one `OUT/BACKEND.tar.gz` per backend. In each, per case: the framework's own profile of a few steps
on a frozen batch, started as fitdoctor starts it; a JSON beside it with the step time without a
profiler and with what another reader makes of the profile. fitdoctor itself is not imported.

The backends start and compile at the same time, and measure one after the other.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

CASES = {
    "tensorflow": ("net_xla", "net_graph", "loop_graph", "net_eager"),
    "jax": ("net", "loop"),
    "torch": ("net", "loop"),
}
ROOT = Path(__file__).resolve().parent.parent
LAST_S = 10.0  # kept for measuring, whoever is still compiling


def main() -> int:
    """Start a process per backend, let them measure in turn, say what came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--meeting", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.worker:
        worker(options.worker, options.out, options.meeting)
        return 0
    names = options.backends.split(",")
    deadline = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder)
        running = {name: _started(name, options.out, meeting) for name in names}
        while time.monotonic() < deadline - len(names) * LAST_S and not all(
            process.poll() is not None or (meeting / name).exists()
            for name, process in running.items()
        ):
            time.sleep(0.1)
        (meeting / "go").touch()
        for process in running.values():
            try:
                process.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()  # packs what is there
                process.wait()
    for name in names:
        packed = options.out / f"{name}.tar.gz"
        size = f"{packed.stat().st_size / 1e3:.0f} kB" if packed.exists() else "nothing"
        print(f"{name}: {size}")
    return 0


def _started(name: str, out: Path, meeting: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.capture_profiles", str(out), "--worker", name]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {
        **os.environ,
        "KERAS_BACKEND": name,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    return subprocess.Popen([*command, "--meeting", str(meeting)], env=variables)


def worker(backend: str, out: Path, meeting: Path) -> None:
    """All cases of one backend; whatever fails is written down as such."""
    import signal

    from benchmarks.capture_cases import prepared

    def stop(*_: object) -> None:
        raise TimeoutError("out of time")

    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder)
        try:
            ready = {}
            for case in CASES[backend]:
                with _written_down(kept, case):
                    ready[case] = prepared(backend, case)
            (meeting / backend).touch()
            while not (meeting / "go").exists():
                time.sleep(0.05)
            with (meeting / "lock").open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                for case, steps in ready.items():
                    with _written_down(kept, case):
                        _record(backend, case, steps, kept)
            _machine(backend, kept)
        except TimeoutError:
            (kept / "out_of_time.txt").write_text(traceback.format_exc())
        with tarfile.open(out / f"{backend}.tar.gz", "w:gz") as packed:
            packed.add(kept, arcname=backend)


class _written_down:
    """A failure of one case costs that case only."""

    def __init__(self, folder: Path, case: str) -> None:
        self._path = folder / f"{case}.error.txt"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, TimeoutError):
            return False
        text = "".join(traceback.format_exception(kind, error, trace))
        self._path.write_text(text)
        print(text, file=sys.stderr)
        return True


def _record(backend: str, case: str, steps: Any, folder: Path) -> None:
    from benchmarks.capture_readers import RECORDERS

    truth: dict[str, Any] = {"backend": backend, "case": case, "layers": steps.layers}
    truth["step_ns_without_profiler"] = steps.timed()
    path = folder / f"{case}.json"
    path.write_text(json.dumps(truth, indent=1))
    try:
        RECORDERS[backend](steps, folder / case, truth)
    finally:
        path.write_text(json.dumps(truth, indent=1, default=str))
    print(backend, case, {k: v for k, v in truth.items() if not isinstance(v, dict | list)})


def _machine(backend: str, folder: Path) -> None:
    import keras

    framework = __import__(backend)
    found: dict[str, Any] = {"keras": keras.__version__, backend: framework.__version__}
    for name, arguments in {
        "gpu": ["-L"],
        "query": ["-q", "-d", "CLOCK,POWER,PERFORMANCE,TEMPERATURE"],
    }.items():
        try:
            done = subprocess.run(
                ["nvidia-smi", *arguments], capture_output=True, text=True, timeout=5
            )
            found[name] = done.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            found[name] = str(error)
    (folder / "machine.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    sys.exit(main())
