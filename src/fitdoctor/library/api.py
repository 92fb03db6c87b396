"""fitdoctor as a library: `fitdoctor.diagnose(model, data)` and `fitdoctor.speedup(dataset)`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import Diagnosis

__all__ = ["diagnose", "speedup"]

_MANY_EPOCHS = 1_000_000


def diagnose(model: Any, data: Any, *, budget_s: float = 60.0, **fit_arguments: Any) -> Diagnosis:
    """Train a compiled Keras model for a while and say why its training is slow.

    The model is trained in this process until enough has been seen, and then has the weights,
    the optimizer state and the random state that it had before. Data that can be read only once
    (a generator) are consumed.

    Args:
        model: A compiled and built Keras model.
        data: What `fit` takes as its first argument: a dataset, a PyDataset, or arrays, with
            targets as `y=...`.
        budget_s: Training time to look at, in seconds.
        **fit_arguments: Further arguments of `fit`: `y`, `batch_size`, `callbacks`, ...

    Returns:
        The diagnosis; `diagnosis.workloads[0].findings` are the causes, the largest gain first.

    Raises:
        UsageError: The model is not compiled or not built, or the budget is not positive.
    """
    _check(model, budget_s)
    from fitdoctor.contract.options import RunOptions
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.contract.records import Script
    from fitdoctor.diagnosis import diagnose as judge
    from fitdoctor.inside import wiring
    from fitdoctor.launch import recording_files
    from fitdoctor.launch.sampler import describe_machine

    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        path = Path(folder) / "diagnose.rec"
        # The process is the caller's: state is put back after the probes, and the fit is asked
        # to end as a callback would ask it.
        options = RunOptions(budget_s=budget_s, keep_running=True)
        script = Script(sys.argv[0] if sys.argv else "")
        recording_files.begin(path, script, options, describe_machine(before_script=False))
        if getattr(model, "optimizer", None) is not None and not model.optimizer.built:
            # Slots that are created during the fit could not be put back.
            model.optimizer.build(model.trainable_variables)
        recorder = wiring.start(str(path), options)
        wiring.when_examined(recorder, lambda: setattr(model, "stop_training", True))
        restore = wiring.backend_of(recorder).snapshot(model)
        epochs = fit_arguments.pop("epochs", _MANY_EPOCHS)
        verbose = fit_arguments.pop("verbose", 0)
        try:
            model.fit(data, epochs=epochs, verbose=verbose, **fit_arguments)
        finally:
            wiring.stop(recorder)
            restore()
        return judge(read_recording(path))


def _check(model: Any, budget_s: float) -> None:
    if not getattr(model, "compiled", False):
        raise UsageError(
            f"the model is not compiled; received {type(model).__name__}",
            expected="a compiled Keras model",
            advice="model.compile(...) before fitdoctor.diagnose(model, data)",
        )
    if not model.built:
        raise UsageError(
            "the model has no weights yet, so they could not be put back afterwards",
            expected="a built model",
            advice="model.build(input_shape), or call it on one batch",
        )
    if not budget_s > 0:
        raise UsageError(
            f"budget_s={budget_s!r} is no training time",
            expected="a positive number of seconds",
            advice="fitdoctor.diagnose(model, data, budget_s=60)",
        )


def speedup(dataset: Any, *, unsafe: bool = False) -> Any:
    """A tf.data dataset in, a faster one with the same elements in the same order out.

    Times the stages, and tries the joint plans that promise most: filters, crops and batching
    before costly maps (where all of the data proved it equal), a cache at the last point that
    gives the same in every pass (where it fits into a quarter of the free memory), calls at a
    time, and a private thread pool. The fastest is kept if it was measured to be faster. A
    pipeline that draws random numbers, runs Python code or leaves the order open is returned as
    it is, and so is one that nothing helps.

    Takes up to 20 seconds, in which the dataset is read.

    Args:
        dataset: A `tf.data.Dataset`.
        unsafe: Also what may change the numbers: random numbers that fall on other elements,
            another order, other rounding.

    Returns:
        The faster dataset, or the very same object.

    Raises:
        UsageError: It is not a tf.data dataset.

    Example:
        >>> faster = fitdoctor.speedup(dataset)  # doctest: +SKIP
    """
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(dataset, tensorflow.data.Dataset):
        raise UsageError(
            f"speedup() is for tf.data pipelines; received {type(dataset).__name__}",
            expected="a tf.data.Dataset",
            advice="fitdoctor.diagnose(model, data) looks at any kind of data",
        )
    import psutil

    from fitdoctor.library.tf_speedup import faster

    free = int(psutil.virtual_memory().available)
    return faster(dataset, free_bytes=free, unsafe=unsafe).dataset
