"""What runs inside the user's process: the recorder and the probes, wired together."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.probes.examiner import Examiner
from fitdoctor.recorder.backends import (
    graph_clock,
    jax,
    keras_optimizer,
    keras_trainer,
    tensorflow_calls,
    tensorflow_traces,
)
from fitdoctor.recorder.hooks import ImportHooks
from fitdoctor.recorder.inputs import data_loader, hdf5, tf_data
from fitdoctor.recorder.loops import LoopWatch
from fitdoctor.recorder.session import Recorder
from fitdoctor.recorder.writer import Writer

# How each recorder of this process is ended: one, but in a notebook one per examined cell.
_running: dict[int, Callable[[], None]] = {}


def start(recording: str, options: dict[str, Any]) -> Recorder:
    """Begin to watch; called before the script's first line by the injected sitecustomize."""
    recorder = Recorder(Writer(recording))
    traces = tensorflow_traces.TraceWatch(recorder)
    loops = LoopWatch(recorder)
    hdf5_reads = hdf5.Hdf5Reads()
    recorder.listener = Examiner(
        recorder,
        budget_s=float(options.get("budget_s", 60)),
        go_on=bool(options.get("continue", False)),
        probes=bool(options.get("probes", True)),
        traces=traces,
        hdf5=hdf5_reads,
    )
    hooks = ImportHooks(functools.partial(_on_error, recorder))
    _watch_keras(recorder, hooks)
    _watch_backends(recorder, hooks, traces, loops)
    hooks.when_imported(hdf5.MODULE, functools.partial(hdf5_reads.watch, recorder))
    hooks.install()
    # A forked worker is a copy of this process: it must not record, and must not probe.
    os.register_at_fork(after_in_child=lambda: recorder.suspend().__enter__())
    finish = functools.partial(_finish, recorder, hooks, os.getpid())
    _running[id(recorder)] = finish
    atexit.register(finish)
    return recorder


def stop(recorder: Recorder) -> None:
    """Stop to watch before the process ends; everything that was patched is given back."""
    finish = _running.pop(id(recorder), None)
    if finish is not None:
        atexit.unregister(finish)
        finish()


def _watch_keras(recorder: Recorder, hooks: ImportHooks) -> None:
    for backend, (module_name, _, _) in keras_trainer.TRAINERS.items():
        hooks.when_imported(module_name, functools.partial(_on_trainer, recorder, backend))
    hooks.when_imported(
        keras_trainer.CALLBACK_LIST,
        functools.partial(keras_trainer.watch_callback_list, recorder),
    )
    hooks.when_imported(
        keras_trainer.BASE_TRAINER, functools.partial(keras_trainer.watch_compile, recorder)
    )
    hooks.when_imported("keras", functools.partial(_on_keras, recorder))


def _watch_backends(
    recorder: Recorder,
    hooks: ImportHooks,
    traces: tensorflow_traces.TraceWatch,
    loops: LoopWatch,
) -> None:
    clock = graph_clock.GraphClock(recorder)
    hooks.when_imported(
        graph_clock.ITERATOR_MODULE, functools.partial(_on_tf_iterators, recorder, clock, loops)
    )
    hooks.when_imported(tensorflow_traces.TRACING_MODULE, traces.watch)
    hooks.when_imported(tf_data.DATASET_MODULE, functools.partial(tf_data.watch_datasets, recorder))
    hooks.when_imported(
        tensorflow_calls.FUNCTION_MODULE,
        functools.partial(tensorflow_calls.watch_function_calls, recorder, loops),
    )
    hooks.when_imported("jax", functools.partial(jax.watch_compiles, recorder))
    hooks.when_imported(
        data_loader.DATA_LOADER_MODULE,
        functools.partial(data_loader.watch_data_loaders, recorder, loops),
    )
    hooks.when_imported(
        keras_optimizer.OPTIMIZER_MODULE,
        functools.partial(keras_optimizer.watch_updates, recorder, loops),
    )


def _on_trainer(recorder: Recorder, backend: str, module: ModuleType) -> None:
    recorder.backend = backend
    keras_trainer.watch_trainer(recorder, backend, module)


def _on_keras(recorder: Recorder, module: ModuleType) -> None:
    backend = sys.modules.get({"torch": "torch", "jax": "jax"}.get(recorder.backend, "tensorflow"))
    recorder.writer.write(
        {
            "k": "keras",
            "version": str(getattr(module, "__version__", "unknown")),
            "backend": recorder.backend,
            "backend_version": str(getattr(backend, "__version__", "unknown")),
        }
    )


def _on_tf_iterators(
    recorder: Recorder, clock: graph_clock.GraphClock, loops: LoopWatch, module: ModuleType
) -> None:
    clock.watch(module)
    tf_data.watch_iteration(recorder, loops, module)


def _on_error(recorder: Recorder, module: str, error: BaseException) -> None:
    recorder.note("warning", f"{module} could not be watched: {type(error).__name__}: {error}")


def _finish(recorder: Recorder, hooks: ImportHooks, process: int) -> None:
    if os.getpid() != process:
        return  # the end of a forked worker is not the script's
    recorder.flush()
    hooks.uninstall()
    recorder.patches.undo()
    failed = getattr(sys, "last_type", None) is not None
    recorder.writer.write({"k": "end", "t": recorder.clock(), "failed": failed})
