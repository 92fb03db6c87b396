"""The device that Keras computes on: what it is, what a copy to it takes, what it holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fitdoctor.contract.evidence.device import DeviceFacts
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.installed_build import with_build


def device_facts(backend: str) -> DeviceFacts:
    """Kind (cpu or gpu), name, and bytes in use and in all, as the framework reports them."""
    facts = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[backend]()
    return with_build(backend, replace(facts, replicas=_replicas()))


def _replicas() -> int:
    """Devices that a batch is split over: Keras's own distribution, of data only."""
    keras = sys.modules.get("keras")
    module = getattr(keras, "distribution", None)
    current = module.distribution() if module is not None else None
    if current is None or type(current).__name__ != "DataParallel":
        return 1
    return int(current.device_mesh.devices.size)


def _tensorflow() -> DeviceFacts:
    tf = sys.modules["tensorflow"]
    gpus = tf.config.list_logical_devices("GPU")
    used = tf.config.experimental.get_memory_info("GPU:0") if gpus else None
    return DeviceFacts(
        kind="gpu" if gpus else "cpu",
        name=gpus[0].name if gpus else "CPU",
        count=len(gpus),
        built_for_gpu=bool(tf.test.is_built_with_cuda()),
        seen=tuple(device.name for device in tf.config.list_physical_devices()),
        peak_bytes=None if used is None else int(used["peak"]),
    )


def _jax() -> DeviceFacts:
    jax = sys.modules["jax"]
    device = jax.devices()[0]
    kind = "cpu" if device.platform == "cpu" else "gpu"
    memory = device.memory_stats() if hasattr(device, "memory_stats") else None
    return DeviceFacts(
        kind=kind,
        name=str(device.device_kind),
        count=len(jax.devices()),
        seen=tuple(str(one) for one in jax.devices()),
        peak_bytes=(memory or {}).get("peak_bytes_in_use"),
        memory_bytes=(memory or {}).get("bytes_limit"),
    )


def _torch() -> DeviceFacts:
    torch = sys.modules["torch"]
    # Keras places variables there; the script may have chosen the CPU with a GPU at hand.
    core = sys.modules.get("keras.src.backend.torch.core")
    device = str(core.get_device()) if core is not None else "cpu"
    on_gpu = device.startswith("cuda") and torch.cuda.is_available()
    return DeviceFacts(
        kind="gpu" if on_gpu else "cpu",
        name=torch.cuda.get_device_name(0) if on_gpu else "CPU",
        count=torch.cuda.device_count(),
        built_for_gpu=torch.version.cuda is not None,
        seen=tuple(f"cuda:{n}" for n in range(torch.cuda.device_count())) or ("cpu",),
        peak_bytes=int(torch.cuda.max_memory_allocated()) if on_gpu else None,
        memory_bytes=int(torch.cuda.get_device_properties(0).total_memory) if on_gpu else None,
        # Times that torch had to give back all the memory it keeps, and wait, to find room.
        memory_retries=torch.cuda.memory_stats().get("num_alloc_retries") if on_gpu else None,
    )


def bytes_in_use(backend: str) -> int | None:
    """What tensors take on the accelerator now; None on a CPU, whose memory is the process's."""
    framework = sys.modules.get(backend)
    if framework is None:
        return None
    if backend == "torch":
        cuda = framework.cuda
        return int(cuda.memory_allocated()) if cuda.is_initialized() else None
    if backend == "jax":
        device = framework.devices()[0]
        memory = device.memory_stats() if device.platform != "cpu" else None
        return (memory or {}).get("bytes_in_use")
    if not framework.config.list_logical_devices("GPU"):
        return None
    return int(framework.config.experimental.get_memory_info("GPU:0")["current"])


def host_copy(batch: Any) -> Any:
    """The batch as NumPy arrays in the host's memory."""
    numpy = sys.modules["numpy"]

    def copy(leaf: Any) -> Any:
        if hasattr(leaf, "detach"):
            return leaf.detach().cpu().numpy().copy()
        return numpy.array(leaf)

    return batches.map_leaves(copy, batch)


def sender(backend: str) -> Callable[[Any], Any]:
    """A function that brings host arrays to the device and waits until they are there."""
    if backend == "jax":
        jax = sys.modules["jax"]
        return lambda arrays: jax.block_until_ready(jax.device_put(arrays))
    if backend == "torch":
        torch = sys.modules["torch"]
        target = "cuda" if _torch().kind == "gpu" else "cpu"

        def send(arrays: Any) -> Any:
            sent = batches.map_leaves(lambda leaf: torch.from_numpy(leaf).to(target), arrays)
            if target == "cuda":
                torch.cuda.synchronize()
            return sent

        return send
    tf = sys.modules["tensorflow"]
    return lambda arrays: batches.map_leaves(lambda leaf: tf.identity(leaf), arrays)
