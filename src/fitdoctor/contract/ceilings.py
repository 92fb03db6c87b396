"""What this machine can do at best, measured once in a while and kept in a file of the user's.

Both processes use it: probes measure with the backend that trains, `fitdoctor machine` with each
that is installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from fitdoctor.contract.codec import BadValue, decode, encode

# A machine changes its clock, its neighbours and its libraries: rates older than this are measured
# again.
OLD_S = 7 * 24 * 3600.0
# So many cores used by others while measuring make a rate too low.
QUIET_CORES = 0.15
FILE = "machine.json"


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """The best rates of one backend on this machine; None where one was not measured."""

    backend: str
    version: str
    device: str = "cpu"
    cores: int = 1
    matmul_flops_per_s: dict[str, float] = field(default_factory=dict)  # by dtype
    conv_flops_per_s: float | None = None  # forward and backward, float32
    bytes_per_s: float | None = None  # memory, read and written
    host_to_device_bytes_per_s: float | None = None
    op_start_ns: float | None = None  # one small operation of a compiled step (torch: eager)
    eager_op_ns: float | None = None  # one small operation called from Python
    python_call_ns: float | None = None
    measured_unix_s: float = 0.0
    others_cores: float | None = None  # what other processes used meanwhile

    @property
    def key(self) -> str:
        """What the rates depend on."""
        parts = (self.backend, self.version, self.device, self.cores)
        return " ".join(str(part) for part in parts)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody else was using the cores."""
        return self.others_cores is None or self.others_cores <= QUIET_CORES

    def is_fresh(self, now: float | None = None) -> bool:
        """Whether it need not be measured again."""
        age = (time.time() if now is None else now) - self.measured_unix_s
        return 0 <= age < OLD_S and self.is_quiet


@dataclass(frozen=True)
class DiskRate:
    """Reading a file that is not in memory."""

    bytes_per_s: float
    folder: str
    measured_unix_s: float = 0.0


@dataclass(frozen=True)
class KeptCeilings:
    """The file: rates by what they depend on, for the machine it was written on."""

    machine: str = ""
    rates: dict[str, Ceilings] = field(default_factory=dict)
    disk: DiskRate | None = None

    def with_rates(self, found: Ceilings) -> KeptCeilings:
        """One more; a disturbed measurement never replaces a quiet one."""
        before = self.rates.get(found.key)
        if before is not None and before.is_quiet and not found.is_quiet:
            return self
        return replace(self, rates={**self.rates, found.key: found})


def ceilings_file() -> Path:
    """Where they are kept: in the user's cache folder, or where FITDOCTOR_CACHE says."""
    given = os.environ.get("FITDOCTOR_CACHE")
    if given:
        return Path(given) / FILE
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "fitdoctor" / FILE


def this_machine() -> str:
    """What tells one machine from another: its name, its processor, its cores."""
    return f"{platform.node()} {_processor()} {os.cpu_count()}"


def read_ceilings() -> KeptCeilings:
    """What is known of this machine; nothing where the file is missing, damaged or another's."""
    try:
        kept = decode(KeptCeilings, json.loads(ceilings_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, BadValue):
        return KeptCeilings(this_machine())
    return kept if kept.machine == this_machine() else KeptCeilings(this_machine())


def write_ceilings(kept: KeptCeilings) -> None:
    """Keep them, if the folder can be written; a reader never sees half a file."""
    path = ceilings_file()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{FILE}.{os.getpid()}")
        temporary.write_text(json.dumps(encode(kept), indent=1), encoding="utf-8")
        os.replace(temporary, path)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
