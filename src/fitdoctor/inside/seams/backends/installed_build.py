"""Which package a backend came in, for which CUDA it was built, and what hides the GPU from it."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from dataclasses import replace

from fitdoctor.contract.evidence.device import DeviceFacts

# The packages that a backend comes in; the first one that is installed counts.
PACKAGES = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu"),
    "torch": ("torch",),
    "jax": ("jax",),
}
# JAX's GPU support is a package of its own, as in jax-cuda12-plugin.
_JAX_PLUGIN = re.compile(r"jax[-_](?:cuda(\d+)|rocm\d*)[-_]plugin", re.IGNORECASE)


def with_build(backend: str, facts: DeviceFacts) -> DeviceFacts:
    """The facts with those of the installation; nothing to repair where a GPU is in use."""
    if facts.kind != "cpu":
        return facts
    found = replace(
        facts,
        package=_package(backend),
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        build_cuda=_build_cuda(backend),
    )
    if backend != "jax":
        return found
    platforms = getattr(sys.modules["jax"].config, "jax_platforms", None)
    plugins = jax_plugins()
    cuda = next((one for one in plugins if one), None)
    return replace(found, platforms=platforms or None, built_for_gpu=bool(plugins), build_cuda=cuda)


def jax_plugins() -> list[str]:
    """The CUDA versions of JAX's installed plugins; an empty text for one of another kind."""
    names = (str(one.metadata["Name"] or "") for one in importlib.metadata.distributions())
    return [match[1] or "" for name in names if (match := _JAX_PLUGIN.fullmatch(name))]


def _package(backend: str) -> str | None:
    for name in PACKAGES[backend]:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _build_cuda(backend: str) -> str | None:
    module = sys.modules.get(backend)
    if backend == "torch":
        version = getattr(getattr(module, "version", None), "cuda", None)
        return str(version) if version else None
    if backend == "tensorflow":
        info = module.sysconfig.get_build_info() if module is not None else {}
        return str(info["cuda_version"]) if info.get("cuda_version") else None
    return None
