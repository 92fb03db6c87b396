"""CPU or GPU: six models, five batch sizes, three backends; is `fitdoctor devices` right?

`python -m benchmarks.devices [--models mlp,lstm] [--backends tensorflow,jax,torch]`. On a machine
without a GPU only the CPU is measured, and nothing is claimed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.device_models import MODELS
from fitdoctor.devices.runs import CPU_ONLY

ROOT = Path(__file__).resolve().parent.parent
SIZES = (8, 32, 128, 512, 2048)
SWEPT_AT = 32
# Where both take the same time within this factor, either answer is right.
TIE = 1.1


def environment(backend: str, device: str) -> dict[str, str]:
    """The variables that put a fresh process on a device."""
    chosen = CPU_ONLY if device == "cpu" else {}
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **chosen,
        "KERAS_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    }


def real(backend: str, device: str, model: str) -> dict[str, float] | None:
    """Seconds per step by batch size, from real fits."""
    command = [sys.executable, "-m", "benchmarks.device_worker", model, *map(str, SIZES)]
    done = subprocess.run(
        command, env=environment(backend, device), capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode:
        print(done.stderr[-400:], file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def predicted(backend: str, model: str) -> dict[str, Any] | None:
    """What `fitdoctor devices` says of the model at one batch size."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "devices.json"
        script = str(ROOT / "benchmarks" / "device_models.py")
        command = [sys.executable, "-m", "fitdoctor", "devices", "--budget", "4"]
        done = subprocess.run(
            [*command, "-o", str(output), script, model, str(SWEPT_AT)],
            env=environment(backend, "gpu"),
            capture_output=True,
            text=True,
            cwd=folder,
        )
        if done.returncode or not output.exists():
            print(done.stdout[-400:], done.stderr[-800:], file=sys.stderr)
            return None
        report: dict[str, Any] = json.loads(output.read_text())
        report["text"] = done.stdout
        return report


def winner(report: dict[str, Any], size: int) -> tuple[str | None, float | None]:
    """The faster device at a batch size, from the nearest size of the sweep."""
    sweeps = {
        name: {row["batch_size"]: row["step_ns"] for row in run["sweep"]}
        for name, run in report["devices"].items()
    }
    if set(sweeps) != {"cpu", "gpu"}:
        print(report["not_measured"], file=sys.stderr)
        return None, None
    ratios = {
        known: sweeps["cpu"][known] / sweeps["gpu"][known]
        for known in set(sweeps["cpu"]) & set(sweeps["gpu"])
    }
    nearest = min(ratios, key=lambda known: abs(math.log(known / size)), default=None)
    if nearest is None:
        return None, None
    return ("gpu" if ratios[nearest] >= 1 else "cpu"), ratios[nearest]


def main() -> None:
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--output", default=str(ROOT / "benchmarks" / "results" / "devices.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for backend in options.backends.split(","):
        for model in options.models.split(","):
            report = predicted(backend, model)
            times = {device: real(backend, device, model) for device in ("cpu", "gpu")}
            for size in SIZES:
                rows.append(_row(backend, model, size, times, report))
                print(_line(rows[-1]), flush=True)
            result = {"machine": platform.node(), "platform": platform.platform(), "rows": rows}
            Path(options.output).write_text(json.dumps(result, indent=1) + "\n")
    judged = [row for row in rows if row["right"] is not None]
    print(f"{sum(row['right'] for row in judged)} of {len(judged)} right")


def _row(
    backend: str, model: str, size: int, times: dict[str, Any], report: dict[str, Any] | None
) -> dict[str, Any]:
    cpu, gpu = ((times[device] or {}).get(str(size)) for device in ("cpu", "gpu"))
    said, ratio = winner(report, size) if report else (None, None)
    truth = cpu / gpu if cpu and gpu else None
    right = None
    if truth is not None and said is not None:
        is_tie = 1 / TIE <= truth <= TIE
        right = is_tie or (said == "gpu") == (truth >= 1)
    return {
        "backend": backend,
        "model": model,
        "batch_size": size,
        "cpu_s": cpu,
        "gpu_s": gpu,
        "cpu_over_gpu": truth,
        "predicted_ratio": ratio,
        "said": said,
        "right": right,
    }


def _line(row: dict[str, Any]) -> str:
    def ms(value: float | None) -> str:
        return "      -" if value is None else f"{value * 1e3:7.2f}"

    ratio = "-" if row["cpu_over_gpu"] is None else f"{row['cpu_over_gpu']:.2f}"
    said = "-" if row["predicted_ratio"] is None else f"{row['predicted_ratio']:.2f}"
    name = f"{row['backend']:<6} {row['model']:<12} {row['batch_size']:>5}"
    times = f"cpu {ms(row['cpu_s'])} ms  gpu {ms(row['gpu_s'])} ms"
    return f"{name}  {times}  {ratio:>6}  said {said:>6}  {row['right']}"


if __name__ == "__main__":
    main()
