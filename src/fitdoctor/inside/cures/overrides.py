"""Settings that a trial forces upon the script, whatever the script itself asks for.

Only in a fresh process that was started for the trial and is ended after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

from fitdoctor.contract.options import ForcedSettings
from fitdoctor.inside.import_hooks import ImportHooks

TF_CONFIG_MODULE = "tensorflow.python.framework.config"
DISTRIBUTION_MODULE = "keras.distribution"
HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "JAX_PLATFORM_NAME")
THREAD_VARIABLES = ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def apply(hooks: ImportHooks, forced: ForcedSettings) -> None:
    """Put the forced settings in place as their modules are imported."""
    if forced.threads is not None:
        _force_threads(hooks, forced.threads)
    if (backend := forced.backend) is not None:
        # The script may have chosen a backend just before it imports Keras.
        hooks.before_import("keras", lambda: os.environ.update(KERAS_BACKEND=backend))
    if forced.device == "gpu":
        # The script may hide the GPU itself, in the lines before it imports its framework.
        for name in ("keras", "jax", "torch", "tensorflow"):
            hooks.before_import(name, _show_gpu)
    if forced.replicas == 1:
        hooks.when_imported(DISTRIBUTION_MODULE, _ignore_distribution)


def _show_gpu() -> None:
    for name in HIDING_VARIABLES:
        os.environ.pop(name, None)


def _ignore_distribution(module: ModuleType) -> None:
    """One device: a distribution over several is ignored."""
    module.set_distribution = lambda value: None  # type: ignore[attr-defined]


def _force_threads(hooks: ImportHooks, threads: int) -> None:
    variables = dict.fromkeys(THREAD_VARIABLES, str(threads))

    def on_config(module: ModuleType) -> None:
        os.environ.update(variables)
        setter: Callable[[int], None] = module.set_intra_op_parallelism_threads
        setter(threads)
        module.set_intra_op_parallelism_threads = lambda num_threads: None  # type: ignore[attr-defined]

    def on_torch(module: ModuleType) -> None:
        module.set_num_threads(threads)
        module.set_num_threads = lambda number: None  # type: ignore[attr-defined]

    for name in ("numpy", "tensorflow", "torch", "keras"):
        hooks.before_import(name, lambda: os.environ.update(variables))
    hooks.when_imported(TF_CONFIG_MODULE, on_config)
    hooks.when_imported("torch", on_torch)
