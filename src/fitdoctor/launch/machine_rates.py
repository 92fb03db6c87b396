"""The machine's best rates, measured in a fresh process for each installed backend."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fitdoctor.contract.ceilings import (
    Ceilings,
    DiskRate,
    KeptCeilings,
    read_ceilings,
    write_ceilings,
)

BACKENDS = ("tensorflow", "jax", "torch")
MEASURE = "fitdoctor.inside.measure_ceilings"
LONGEST_S = 120.0
FILE_BYTES = 1 << 27
BLOCK_BYTES = 1 << 20


def installed_backends() -> tuple[str, ...]:
    """Those that Keras could run on here."""
    if importlib.util.find_spec("keras") is None:
        return ()
    return tuple(name for name in BACKENDS if importlib.util.find_spec(name) is not None)


def machine_rates(*, again: bool, say: Callable[[str], None]) -> KeptCeilings:
    """What is known, with what is missing or old measured now; all of it with `again`."""
    for backend in installed_backends():
        kept = read_ceilings()
        known = [one for one in kept.rates.values() if one.backend == backend]
        if again or not any(one.is_fresh() for one in known):
            say(f"measuring with {backend} (a few seconds)")
            _measure(backend, say)
    kept = read_ceilings()
    if again or kept.disk is None:
        say("measuring the disk")
        write_ceilings(replace(kept, disk=disk_rate(Path.cwd())))
    return read_ceilings()


def newest(kept: KeptCeilings, backend: str) -> Ceilings | None:
    """The last rates with a backend."""
    rates = [one for one in kept.rates.values() if one.backend == backend]
    return max(rates, key=lambda one: one.measured_unix_s, default=None)


def _measure(backend: str, say: Callable[[str], None]) -> None:
    command = [sys.executable, "-m", MEASURE, backend]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        say(f"{backend} gave no answer for {LONGEST_S:.0f} s and was left out")
        return
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        say(f"{backend} could not be measured: {lines[-1]}")


def disk_rate(folder: Path) -> DiskRate | None:
    """Reading a file that was just written and dropped from memory; None where that fails."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".fitdoctor-") as file:
            block = os.urandom(BLOCK_BYTES)
            for _ in range(FILE_BYTES // BLOCK_BYTES):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begin = time.perf_counter()
            with open(file.name, "rb", buffering=0) as reader:
                while reader.read(BLOCK_BYTES):
                    pass
            took = time.perf_counter() - begin
    except OSError:
        return None
    return DiskRate(FILE_BYTES / max(1e-6, took), str(folder), time.time())
