"""Every supported Python, Keras and backend by itself: installed, run, and what came of it.

    python -m benchmarks.matrix [--only jax] [--python 3.12] [--keras 3.10 3.15]

Each row is a fresh environment with one backend: `pip install` of this checkout, one Keras and one
backend, then `fitdoctor run` on a small training that waits for its data. A row that fails says
why. Rows of an earlier call are kept unless they are measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "matrix.json"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
KERAS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
NEWEST_KERAS, MIDDLE_PYTHON = "3.15", "3.12"
PACKAGES = {"tensorflow": "tensorflow-cpu", "jax": "jax", "torch": "torch"}
# pip may have to fetch a gigabyte; a run is seconds.
INSTALL_S, RUN_S = 1200, 180
SCRIPT = """
import keras, numpy as np

class Slow(keras.utils.PyDataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        x = np.array([[sum(v * v for v in range(4000)) % 7.0] for _ in range(16)], "float32")
        return x, x

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(Slow(), epochs=200, verbose=0)
"""


def main() -> int:
    """Measure row by row; each is written as soon as it is there."""
    options = _parser().parse_args()
    rows = {_key(row): row for row in _stored()}
    for python, keras, backend in _wanted(options):
        row = measured(python, keras, backend)
        rows[_key(row)] = row
        print(_line(row), flush=True)
        _write([rows[key] for key in sorted(rows)])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", choices=PYTHONS, default=list(PYTHONS))
    parser.add_argument("--keras", nargs="+", choices=KERAS, default=list(KERAS))
    parser.add_argument("--only", nargs="+", choices=tuple(PACKAGES), default=list(PACKAGES))
    return parser


def _wanted(options: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Every Python with the newest Keras, and every Keras with one Python: not the product."""
    pairs = [(python, NEWEST_KERAS) for python in PYTHONS]
    pairs += [(MIDDLE_PYTHON, keras) for keras in KERAS if keras != NEWEST_KERAS]
    return [
        (python, keras, backend)
        for python, keras in pairs
        for backend in options.only
        if python in options.python and keras in options.keras
    ]


def measured(python: str, keras: str, backend: str) -> dict[str, Any]:
    """One row."""
    row: dict[str, Any] = {"python": python, "keras": keras, "backend": backend}
    row |= {"date": str(date.today()), "verdict": None, "failed": None}
    interpreter = interpreter_of(python)
    if interpreter is None:
        return row | {"failed": "no interpreter"}
    with tempfile.TemporaryDirectory(prefix="fitdoctor-matrix-") as scratch:
        folder = Path(scratch)
        try:
            row |= _installed(interpreter, keras, backend, folder)
            row |= _run(folder, backend)
        except subprocess.TimeoutExpired:
            row["failed"] = "took too long"
        except subprocess.CalledProcessError as error:
            row["failed"] = _last_line(error.stderr)
    return row


def interpreter_of(version: str) -> str | None:
    """The command of a Python, from the path or from where pyenv keeps them."""
    found = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found += [str(one) for one in sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    for command in filter(None, found):
        asked = [command, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return command
    return None


def _installed(interpreter: str, keras: str, backend: str, folder: Path) -> dict[str, Any]:
    home = folder / "env"
    python = str(home / "bin" / "python")
    _checked([interpreter, "-m", "venv", str(home)], folder)
    began = time.monotonic()
    wanted = [f"keras=={keras}.*", PACKAGES[backend]]
    _checked([python, "-m", "pip", "install", "--quiet", str(ROOT), *wanted], folder)
    took = round(time.monotonic() - began, 1)
    names = ("keras", PACKAGES[backend])
    program = f"from importlib.metadata import version as v; print(*map(v, {names}))"
    keras_version, backend_version = _checked([python, "-c", program], folder).split()
    return {"install_s": took, "keras_is": keras_version, "backend_is": backend_version}


def _run(folder: Path, backend: str) -> dict[str, Any]:
    (folder / "train.py").write_text(SCRIPT)
    words = ["run", "--budget", "8", "--no-trials", "--json", "report.json", "train.py"]
    began = time.monotonic()
    _checked([str(folder / "env" / "bin" / "fitdoctor"), *words], folder, backend)
    took = round(time.monotonic() - began, 1)
    report = json.loads((folder / "report.json").read_text())
    (workload,) = report["workloads"]
    return {
        "verdict": workload["verdict"],
        "findings": [finding["rule"] for finding in workload["findings"]],
        "not_measured": len(workload["not_measured"]),
        "notes": [item["message"] for item in [*report["health"], *workload["health"]]],
        "run_s": took,
    }


def _checked(command: list[str], folder: Path, backend: str = "") -> str:
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables |= {"TF_CPP_MIN_LOG_LEVEL": "3", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    variables |= {"KERAS_BACKEND": backend} if backend else {}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=True,
        timeout=RUN_S if backend else INSTALL_S,
    )  # fmt: skip
    return done.stdout


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return (errors or lines or ["no reason given"])[-1][:200]


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["python"], row["keras"], row["backend"]


def _line(row: dict[str, Any]) -> str:
    came = row["failed"] or f"{row['verdict']} {' '.join(row['findings'])}"
    return f"Python {row['python']}  Keras {row['keras']:<5} {row['backend']:<11} {came}"


def _stored() -> list[dict[str, Any]]:
    return list(json.loads(RESULT.read_text())["rows"]) if RESULT.exists() else []


def _write(rows: list[dict[str, Any]]) -> None:
    machine = {"cpus": os.cpu_count(), "platform": platform.platform()}
    text = json.dumps({"date": str(date.today()), "machine": machine, "rows": rows}, indent=1)
    RESULT.write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
