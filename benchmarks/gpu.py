"""Everything that wants a GPU, in one command, the most valuable first.

`python -m benchmarks.gpu --minutes 25 --out DIR [--only 'case:A1*,share:*'] [--list]` runs row by
row and writes `DIR/gpu.json` after each, so that a cut-off loses nothing; what has an answer there
is not run again (`--fresh` does). Recordings and screens go into `DIR/kept.tar`. A row that is
expected to take longer than is left is skipped, for a shorter one after it.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.device_models import MODELS
from casebook.case import Case, load_all
from casebook.diagnose import diagnose
from casebook.judge import judge
from fitdoctor.analysis.start_up import process_start_ns
from fitdoctor.contract.codec import encode
from fitdoctor.contract.reader import read_recording
from fitdoctor.launch.sampler import describe_machine

ROOT = Path(__file__).resolve().parent.parent
CASEBOOK = ROOT / "casebook"
BACKENDS = ("tensorflow", "jax", "torch")
# Seconds that a row took on an H200 with 16 cores, roughly: what fits into the time is started.
SHARE_S, CASE_S, DEVICES_S, PROVE_S, PROFILES_S = 50.0, 30.0, 60.0, 120.0, 60.0
# The articles' examples, then what only TensorFlow had never shown, then healthy, then the others.
FIRST = [
    "share:tensorflow",
    *(f"case:{one}_tf" for one in ("A14", "G08")),
    "case:G16",
    *(f"case:{one}_tf" for one in ("A13", "A15", "G09", "G06")),
    *(f"case:{one}" for one in ("G14", "G15", "G17")),
    *(f"case:{one}_tf" for one in ("G02", "G04", "G03", "G05", "G01", "G11", "G12", "G13")),
    "share:jax",
    "share:torch",
]


@dataclass(frozen=True)
class Row:
    """One thing to run: its name, what it is expected to take, and how."""

    name: str
    seconds: float
    run: Callable[[argparse.Namespace, float], dict[str, Any]]


def main() -> int:
    """Run what fits into the time."""
    options = _parser().parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    rows = chosen(all_rows(), options.only)
    if options.list:
        for row in rows:
            print(f"{row.name:28} about {row.seconds:.0f} s")
        return 0
    machine = describe_machine()
    if not machine.accelerators and not options.without_gpu:
        print(f"no GPU here, nothing to measure ({machine.accelerators_note})")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "gpu.json"
    found = _before(path)
    found |= {"date": str(date.today()), "machine": encode(machine), "versions": _versions()}
    for row in rows:
        if row.name in found["rows"] and not options.fresh:
            continue
        left = deadline - time.monotonic()
        if row.seconds > left:
            print(f"{row.name}: skipped, {left:.0f} s are left", flush=True)
            continue
        found["rows"][row.name] = _done(row, options, left)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(_line(row.name, found["rows"][row.name]), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--out", type=Path, default=ROOT / ".fitdoctor" / "gpu")
    parser.add_argument("--only", default="", help="names, with * and ?, separated by commas")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of training per case")
    parser.add_argument("--fresh", action="store_true", help="run again what has an answer")
    parser.add_argument("--list", action="store_true", help="print the rows and run nothing")
    parser.add_argument("--without-gpu", action="store_true", help="run all the same, to test this")
    return parser


def all_rows() -> list[Row]:
    """In the order of their value."""
    cases = {f"case:{one.id}": one for one in load_all(CASEBOOK).values() if one.needs == "gpu"}
    rows = [Row(name, CASE_S, _case(case)) for name, case in cases.items()]
    rows += [Row(f"share:{one}", SHARE_S, _share(one)) for one in BACKENDS]
    rows.sort(key=lambda row: FIRST.index(row.name) if row.name in FIRST else len(FIRST))
    rows.append(Row("profiles", PROFILES_S, _profiles))
    rows += [
        Row(f"devices:{backend}:{model}", DEVICES_S, _devices(backend, model))
        for backend in BACKENDS
        for model in MODELS
    ]
    curable = [one for one in cases.values() if not one.is_healthy]
    return rows + [Row(f"prove:{one.id}", PROVE_S, _prove(one)) for one in curable]


def chosen(rows: Iterable[Row], only: str) -> list[Row]:
    """Those whose names match one of the patterns, in the order of the patterns."""
    rows, patterns = list(rows), [one for one in only.split(",") if one]
    if not patterns:
        return rows
    found: dict[str, Row] = {}
    for pattern in patterns:
        found |= {one.name: one for one in rows if fnmatch.fnmatch(one.name, pattern)}
    return list(found.values())


def _before(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {"rows": {}}
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known


def _done(row: Row, options: argparse.Namespace, left: float) -> dict[str, Any]:
    """What a row found; a failure is an answer as well."""
    begin = time.monotonic()
    try:
        found = row.run(options, left)
    except Exception as error:  # noqa: BLE001 - one row must not end the others
        found = {"error": f"{type(error).__name__}: {error}"[-1500:]}
    return {**found, "seconds": round(time.monotonic() - begin, 1)}


def _line(name: str, found: dict[str, Any]) -> str:
    words = found.get("error") or found.get("line") or ""
    return f"{name:28} {found['seconds']:6.1f} s  {words}"


def _case(case: Case) -> Callable[[argparse.Namespace, float], dict[str, Any]]:
    def run(options: argparse.Namespace, left: float) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder)
            seen = diagnose(case, keep=kept, budget_s=options.budget, timeout_s=left)
            _pack(options.out, kept / case.id, f"case/{case.id}")
            recordings = list(kept.rglob("*.rec"))
            started = _start_s(recordings[0]) if recordings else None
        judged = judge(case, seen, None)
        workloads = (seen.report or {}).get("workloads", [])
        verdict_s = None if started is None else round(seen.seconds - started, 1)
        first = [one["sentence"] for one in workloads]
        word = "right" if judged.is_right else "; ".join(judged.reasons)
        found = " ".join(judged.found) or "nothing"
        return {
            "expect": case.expect,
            "found": list(judged.found),
            "right": judged.is_right,
            "reasons": list(judged.reasons),
            "sentences": first,
            "devices": [one.get("device") for one in workloads],
            "gains": [finding["gain"] for one in workloads for finding in one["findings"]],
            "not_measured": [one for workload in workloads for one in workload["not_measured"]],
            "started_s": started,
            "verdict_s": verdict_s,
            "line": f"{word}: {found}; verdict {verdict_s} s after the first step",
        }

    return run


def _start_s(recording: Path) -> float | None:
    """From the start of the process to its first step."""
    seen = read_recording(recording)
    begin = process_start_ns(seen)
    first = [block.t[0] for one in seen.workloads for block in one.blocks if block.t]
    return None if begin is None or not first else round((min(first) - begin) / 1e9, 1)


def _share(backend: str) -> Callable[[argparse.Namespace, float], dict[str, Any]]:
    def run(options: argparse.Namespace, left: float) -> dict[str, Any]:
        output = options.out / f"share_{backend}.json"
        command = ["benchmarks.device_share", "--backends", backend, "--output", str(output)]
        _module([*command, "--budget", str(options.budget)], left, may_fail=True)
        (row,) = json.loads(output.read_text(encoding="utf-8"))["rows"]
        output.unlink()
        shares = f"fitdoctor {row['fitdoctor']:.1%}, the profiler {row['profiler']:.1%}"
        return {**row, "line": f"{shares} ({'agrees' if row['agrees'] else 'DIFFERS'})"}

    return run


def _devices(backend: str, model: str) -> Callable[[argparse.Namespace, float], dict[str, Any]]:
    def run(options: argparse.Namespace, left: float) -> dict[str, Any]:
        output = options.out / f"devices_{backend}_{model}.json"
        command = ["benchmarks.devices", "--backends", backend, "--models", model]
        text = _module([*command, "--output", str(output)], left)
        rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
        output.unlink()
        return {"rows": rows, "line": text.strip().splitlines()[-1]}

    return run


def _prove(case: Case) -> Callable[[argparse.Namespace, float], dict[str, Any]]:
    """`fitdoctor prove`: the cures in the source, A B B A."""

    def run(options: argparse.Namespace, left: float) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "slow.py"
            script.write_bytes(case.slow.read_bytes())
            command = ["fitdoctor", "prove", "--unsafe", str(script)]
            text = _module(command, left, variables=case.environment, may_fail=True)
            (Path(folder) / "prove.txt").write_text(text, encoding="utf-8")
            _pack(options.out, Path(folder) / "prove.txt", f"prove/{case.id}.txt")
        lines = text.strip().splitlines()
        return {"text": lines[-25:], "line": next(iter(lines), "no output")}

    return run


def _profiles(options: argparse.Namespace, left: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        text = _module(["benchmarks.capture_profiles", folder], left)
        _pack(options.out, Path(folder), "profiles")
    return {"line": " ".join(text.strip().splitlines()[-3:])}


def _module(
    arguments: list[str],
    left: float,
    *,
    variables: dict[str, str] | None = None,
    may_fail: bool = False,
) -> str:
    """Run a module of ours in a group of its own, which ends with it."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        **(variables or {}),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        raise TimeoutError(f"not done in {left:.0f} s: {out[-300:]} {errors[-600:]}") from None
    if process.returncode and not may_fail:
        raise RuntimeError(f"exit code {process.returncode}: {out[-300:]} {errors[-900:]}")
    return out


def _pack(out: Path, path: Path, name: str) -> None:
    if path.exists():
        with tarfile.open(out / "kept.tar", "a") as packed:
            packed.add(path, arcname=name)


def _versions() -> dict[str, str]:
    """Of the packages, without importing them."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("keras", "tensorflow", "jax", "torch", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    sys.exit(main())
