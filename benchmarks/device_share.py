"""The device's share of a step: fitdoctor's word beside the framework's own profiler.

`python -m benchmarks.device_share [--batch 512] [--backends tensorflow,jax,torch]` trains the
ResNet-like model on the GPU: once under `fitdoctor run`, once by itself. There, two fits take
turns: one under the profiler for the kernels of a step, one without it for the step's length, since
a profiler slows the host. The kernels are summed up by the framework itself (torch's
`key_averages`, the trace that JAX writes for browsers, TensorFlow's own trace viewer), not by the
code that fitdoctor reads profiles with. On a machine without a GPU it says so and claims nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.device_models import build, data
from benchmarks.devices import environment
from fitdoctor.contract.codec import encode
from fitdoctor.launch.sampler import describe_machine

ROOT = Path(__file__).resolve().parent.parent
RESULT = Path(__file__).parent / "results" / "device_share.json"
MODEL = "resnet"
STEPS = 40
ROUNDS = 3
NEAR = 0.03  # of a step


def main() -> int:
    """Measure, print, write."""
    options = _parser().parse_args()
    if options.worker:
        print(json.dumps(profiled(options.worker, options.batch)))
        return 0
    machine = describe_machine()
    if not machine.accelerators:
        print(f"no GPU here, nothing to compare ({machine.accelerators_note})")
        return 0
    rows = [
        compared(backend, options.batch, options.budget) for backend in options.backends.split(",")
    ]
    for row in rows:
        print(
            f"{row['backend']:6} fitdoctor {row['fitdoctor']:.1%}, profiler {row['profiler']:.1%}: "
            f"{'agrees' if row['agrees'] else 'DIFFERS'}"
        )
    report = {"date": str(date.today()), "machine": encode(machine), "model": MODEL, "rows": rows}
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["agrees"] for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--budget", type=float, help="seconds of training to examine")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser


def compared(backend: str, batch: int, budget_s: float | None = None) -> dict[str, Any]:
    """Both shares of one backend."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        script = str(ROOT / "benchmarks" / "device_models.py")
        command = [sys.executable, "-m", "fitdoctor", "run", "-q", "-o", str(report)]
        command += [] if budget_s is None else ["--budget", str(budget_s)]
        command.append(script)
        _run(backend, [*command, MODEL, str(batch)])
        device = json.loads(report.read_text(encoding="utf-8"))["workloads"][0]["device"]
    command = [sys.executable, "-m", "benchmarks.device_share", "--worker", backend]
    seen = json.loads(_run(backend, [*command, "--batch", str(batch)]).strip().splitlines()[-1])
    share = seen["busy_ns"] / seen["step_ns"]
    return {
        "backend": backend,
        "batch": batch,
        "fitdoctor": device["busy_share"],
        "profiler": share,
        "agrees": abs(device["busy_share"] - share) <= NEAR,
        "device": device,
        "seen": seen,
    }


def _run(backend: str, command: list[str]) -> str:
    done = subprocess.run(
        command, env=environment(backend, "gpu"), capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def profiled(backend: str, batch: int) -> dict[str, float]:
    """Nanoseconds of device work and of a step, from real fits."""
    model, shape = build(MODEL)
    x, y = data(shape, batch * STEPS)

    def fit() -> None:
        # The losses of an epoch are read at its end: fit returns when the device is done.
        model.fit(x, y, batch_size=batch, verbose=0)

    fit()
    busy: list[float] = []
    steps: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        fit()
        steps.append((time.perf_counter_ns() - begin) / STEPS)
        busy.append(_BUSY[backend](fit) / STEPS)
    return {"busy_ns": sorted(busy)[ROUNDS // 2], "step_ns": sorted(steps)[ROUNDS // 2]}


def _torch_busy(fit: Callable[[], None]) -> float:
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        fit()
    return 1e3 * sum(row.self_device_time_total for row in profile.key_averages())


def _jax_busy(fit: Callable[[], None]) -> float:
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            fit()
        (path,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    named = [event for event in events if event.get("ph") == "M"]
    gpus = {e["pid"] for e in named if "device:GPU" in str(e.get("args", {}).get("name"))}
    streams = {
        (event["pid"], event["tid"])
        for event in named
        if event["name"] == "thread_name" and str(event["args"]["name"]).startswith("Stream")
    }
    spans = (
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("ph") == "X" and event["pid"] in gpus
        if (event["pid"], event["tid"]) in streams
    )
    return 1e3 * _covered(spans)


def _tensorflow_busy(fit: Callable[[], None]) -> float:
    import tensorflow as tf
    from tensorflow.python.profiler.internal import _pywrap_profiler_plugin as plugin
    from tensorflow.tsl.profiler.protobuf import trace_events_pb2

    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            fit()
        (path,) = Path(folder).rglob("*.xplane.pb")
        made, _ = plugin.xspace_to_tools_data([str(path)], "trace_viewer", {})
    trace = trace_events_pb2.Trace.FromString(made)
    streams = {
        (device, number)
        for device, held in trace.devices.items()
        for number, resource in held.resources.items()
        if "GPU" in held.name and resource.name.startswith("Stream")
    }
    spans = (
        (event.timestamp_ps / 1e3, (event.timestamp_ps + event.duration_ps) / 1e3)
        for event in trace.trace_events
        if (event.device_id, event.resource_id) in streams
    )
    return _covered(spans)


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    total, end = 0.0, float("-inf")
    for begin, until in sorted(spans):
        total += max(0.0, until - max(begin, end))
        end = max(end, until)
    return total


_BUSY = {"tensorflow": _tensorflow_busy, "torch": _torch_busy, "jax": _jax_busy}


if __name__ == "__main__":
    sys.exit(main())
