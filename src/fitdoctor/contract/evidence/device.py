"""The device that Keras computes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.codec import Digits, Positive
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.results import result


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """Kind, name and memory, as the framework reports them."""

    kind: str = "cpu"
    name: str = "CPU"
    count: int = 0
    replicas: int = 1  # devices that a batch is split over
    built_for_gpu: bool | None = None
    seen: tuple[str, ...] = ()
    peak_bytes: int | None = None
    memory_bytes: int | None = None
    memory_retries: int | None = None
    # What the installation is, where Keras computes on the CPU.
    package: str | None = None  # with its version
    build_cuda: str | None = None  # the CUDA that it was built for
    visible_devices: str | None = None  # CUDA_VISIBLE_DEVICES
    platforms: str | None = None  # JAX_PLATFORMS


@result("device")
@dataclass(frozen=True, kw_only=True)
class Device(DeviceFacts):
    """The device, and what it takes to feed it."""

    steps: int = 0
    bytes: int | None = None
    transfer_ns: int | None = None
    quarter_transfer_ns: int | None = None
    pick_ns: int | None = None
    wide_times: int | None = None
    wide_transfer_ns: int | None = None
    wide_pick_ns: int | None = None


@result("device_time")
@dataclass(frozen=True)
class DeviceTime:
    """Nanoseconds of device work per step, from the framework's profiler."""

    busy_ns: float
    compute_ns: float = 0.0
    copy_ns: float = 0.0
    kernels: float = 0.0


@result("device_sweep")
@dataclass(frozen=True)
class DeviceSweep:
    """Steps at many batch sizes on one device."""

    rows: int
    device: DeviceFacts
    transfer_ns: int
    batch_bytes: int
    sizes: dict[Digits, Timed] = field(default_factory=dict)
    ended: str | None = None


@result("fresh", keyed=True)
@dataclass(frozen=True)
class FreshRun:
    """The script again in fresh processes, as it is and with one thing (the key) forced."""

    as_is: tuple[Positive, ...]
    changed: tuple[Positive, ...]
    forced: dict[str, int | str] = field(default_factory=dict)
