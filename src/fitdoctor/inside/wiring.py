"""What runs in the user's process, wired together: which mode, which patches, which listener."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType

from fitdoctor.contract.options import LearningOptions, RunOptions
from fitdoctor.contract.records import EventDetail, KerasFacts
from fitdoctor.contract.writer import Writer, record_of
from fitdoctor.inside.cures import call_changes, overrides, served_source
from fitdoctor.inside.import_hooks import ImportHooks
from fitdoctor.inside.lab.examiner import Examiner
from fitdoctor.inside.ledger.hang_watch import HangWatch
from fitdoctor.inside.ledger.host_lines import HostLines
from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.proof import batch_tap
from fitdoctor.inside.proof.learning_watch import EveryStep, LearningWatch
from fitdoctor.inside.proof.step_limit import LimitWatch
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.choose import backend_named
from fitdoctor.inside.seams.inputs import (
    constructed,
    data_loader,
    hdf5,
    tf_stages,
    worker_deaths,
)
from fitdoctor.inside.seams.legacy import keras2
from fitdoctor.inside.seams.watch import (
    gradients,
    graph_clock,
    jax_calls,
    keras_callbacks,
    keras_trainer,
    optimizer_updates,
    tensorflow_calls,
    tensorflow_traces,
)

# Their imports take seconds, which is part of a script's start-up.
FRAMEWORKS = ("numpy", "tensorflow", "jax", "torch", "keras")
_finishers: dict[int, Callable[[], None]] = {}


def start(recording: str, options: RunOptions) -> Recorder:
    """Begin to watch; called before the script's first line by the injected sitecustomize."""
    if options.sources is not None:
        served_source.serve(options.sources)
    recorder = (EveryStep if options.learning else Recorder)(Writer(recording))
    traces = tensorflow_traces.TraceWatch(recorder)
    hdf5_reads = hdf5.Hdf5Reads()
    recorder.event("start", recorder.clock(), 0)
    hooks = ImportHooks(
        functools.partial(_on_error, recorder), functools.partial(_on_executed, recorder)
    )
    for name in FRAMEWORKS:
        hooks.when_imported(name, lambda module: None)  # watched for its time
    if options.limit is not None:
        recorder.listener = LimitWatch(recorder, options.limit)
    elif options.learning is not None:
        _watch_learning(recorder, hooks, options.learning)
    else:
        recorder.listener = Examiner(
            recorder,
            budget_s=options.budget_s,
            keep_running=options.keep_running,
            probes=options.probes,
            traces=traces,
            hdf5=hdf5_reads,
            sweep=options.sweep,
        )
        lines = HostLines(recorder)
        recorder.patches.later(lines.stop)
        hangs = HangWatch(recorder)
        recorder.patches.later(hangs.stop)
        for package in ("keras", "tf_keras"):
            hooks.when_imported(package, lambda _: lines.start())
            hooks.when_imported(package, lambda _: hangs.start())
    hooks.when_imported(tensorflow_traces.TRACING_MODULE, traces.watch)
    hooks.when_imported(hdf5.MODULE, functools.partial(hdf5_reads.watch, recorder))
    _watch_frameworks(recorder, hooks)
    overrides.apply(hooks, options.forced)
    call_changes.install(hooks, recorder.patches, options.calls)
    hooks.install()
    # A forked worker is a copy of this process: it must not record, and must not probe.
    os.register_at_fork(after_in_child=lambda: recorder.suspend().__enter__())
    finish = functools.partial(_finish, recorder, hooks, os.getpid())
    atexit.register(finish)
    _finishers[id(recorder)] = finish
    return recorder


def is_recording() -> bool:
    """Whether a recorder of ours runs in this process."""
    return bool(_finishers)


def stop(recorder: Recorder) -> None:
    """Stop watching before the process ends, and put everything back."""
    finish = _finishers.pop(id(recorder), None)
    if finish is not None:
        atexit.unregister(finish)
        finish()


def when_examined(recorder: Recorder, action: Callable[[], None]) -> None:
    """Have something done when enough has been seen, instead of ending the script."""
    if isinstance(recorder.listener, Examiner):
        recorder.listener.on_enough = action


def backend_of(recorder: Recorder) -> Backend:
    """The backend that Keras runs on in this process."""
    return backend_named(recorder.backend)


def _watch_learning(recorder: Recorder, hooks: ImportHooks, options: LearningOptions) -> None:
    """Compare data and learning: the patches come before those of the ledger, so inside them."""
    seed = options.seed
    watch = LearningWatch(recorder, options)
    recorder.listener = watch
    recorder.on_result = watch.on_result
    for backend, (module_name, _, _) in keras_trainer.TRAINERS.items():
        if backend != "tensorflow":
            hooks.when_imported(
                module_name,
                functools.partial(batch_tap.tap_python_iterators, recorder, backend, watch.tap),
            )
    hooks.when_imported(
        graph_clock.ITERATOR_MODULE,
        functools.partial(batch_tap.tap_tensorflow_iterators, recorder, watch.tap),
    )
    hooks.when_imported(
        optimizer_updates.OPTIMIZER_MODULE, functools.partial(watch.handed.watch, recorder)
    )
    if seed is not None:
        # Two runs of an unseeded script can be compared only if both draw the same numbers.
        hooks.when_imported("keras", lambda keras: keras.utils.set_random_seed(seed))


def _watch_frameworks(recorder: Recorder, hooks: ImportHooks) -> None:
    loops = LoopWatch(recorder)
    for backend, (module_name, _, _) in keras_trainer.TRAINERS.items():
        hooks.when_imported(module_name, functools.partial(_on_trainer, recorder, backend))
    hooks.when_imported(graph_clock.ITERATOR_MODULE, graph_clock.GraphClock(recorder).watch)
    for module_name, watch in _WATCHES:
        hooks.when_imported(module_name, functools.partial(watch, recorder))
    for module_name, watch_loops in _LOOP_WATCHES:
        hooks.when_imported(module_name, functools.partial(watch_loops, recorder, loops))


def _on_trainer(recorder: Recorder, backend: str, module: ModuleType) -> None:
    recorder.backend = backend
    keras_trainer.watch_trainer(recorder, backend, module)


def _on_keras(recorder: Recorder, module: ModuleType) -> None:
    backend = sys.modules.get({"torch": "torch", "jax": "jax"}.get(recorder.backend, "tensorflow"))
    facts = KerasFacts(
        version=str(getattr(module, "__version__", "unknown")),
        backend=recorder.backend,
        backend_version=str(getattr(backend, "__version__", "unknown")),
    )
    recorder.writer.write(record_of("keras", facts))


# What is watched in each module, right after the script has imported it.
_WATCHES: tuple[tuple[str, Callable[[Recorder, ModuleType], None]], ...] = (
    (keras_callbacks.CALLBACK_LIST, keras_callbacks.watch_callback_list),
    (keras_trainer.BASE_TRAINER, keras_trainer.watch_compile),
    (constructed.PY_DATASET_MODULE, constructed.watch_py_datasets),
    ("keras", _on_keras),
    (tf_stages.DATASET_MODULE, tf_stages.watch_datasets),
    (keras2.TRAINING_MODULE, keras2.watch_training),
    (keras2.CALLBACKS_MODULE, keras2.watch_callbacks_of_keras2),
    (worker_deaths.MODULE, worker_deaths.watch_worker_deaths),
    ("jax", jax_calls.watch_compiles),
    (jax_calls.LAYER_MODULE, jax_calls.watch_stateless_calls),
)
# What marks the steps of hand-written loops.
_LOOP_WATCHES: tuple[tuple[str, Callable[[Recorder, LoopWatch, ModuleType], None]], ...] = (
    (graph_clock.ITERATOR_MODULE, tf_stages.watch_iteration),
    (tensorflow_calls.FUNCTION_MODULE, tensorflow_calls.watch_function_calls),
    ("jax", jax_calls.watch_jit),
    (optimizer_updates.TORCH_OPTIMIZER_MODULE, optimizer_updates.watch_torch_updates),
    (data_loader.DATA_LOADER_MODULE, data_loader.watch_data_loaders),
    (optimizer_updates.OPTIMIZER_MODULE, optimizer_updates.watch_updates),
    ("torch", gradients.watch_torch),
    (gradients.TAPE_MODULE, gradients.watch_tape),
    ("jax", gradients.watch_jax),
)


def _on_executed(recorder: Recorder, module: str, begin: int, duration: int) -> None:
    if module in FRAMEWORKS:
        recorder.event("import", begin, duration, EventDetail(module=module))


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
