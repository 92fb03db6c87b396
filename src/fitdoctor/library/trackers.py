"""Step parts and verdict for TensorBoard, Weights & Biases and MLflow, in the active run."""

from __future__ import annotations

import importlib
import importlib.util
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import DiagnosedWorkload

_MS = 1e-6


def measured(workload: DiagnosedWorkload) -> dict[str, float]:
    """What a chart can show; what was not measured is not there."""
    found = {f"{part.part}_ms": part.ns_per_step * _MS for part in workload.breakdown}
    if workload.cost_ns is not None:
        found["step_total_ms"] = workload.cost_ns * _MS
    if workload.ceiling is not None:
        found["step_with_data_in_memory_ms"] = workload.ceiling.step_ns * _MS
    if workload.joint_gain is not None:
        found["gain_of_all_cures"] = workload.joint_gain.value
    return {f"fitdoctor/{name}": value for name, value in found.items()}


def in_words(workload: DiagnosedWorkload) -> dict[str, str]:
    """The verdict, and the findings with their gains."""
    from fitdoctor.units import gain

    findings = [f"{one.rule} {one.name} {gain(one.gain)}" for one in workload.findings]
    return {
        "fitdoctor/verdict": workload.verdict,
        "fitdoctor/sentence": workload.sentence,
        "fitdoctor/findings": "; ".join(findings) or "none",
    }


class Tracker(ABC):
    """Somewhere to log to."""

    package: str
    extra: str

    def check(self) -> None:
        """Find out before the training whether it is installed.

        Raises:
            UsageError: It is not.
        """
        if importlib.util.find_spec(self.package) is None:
            raise UsageError(
                f"Watch was to log to {self.extra}, whose package is not installed: "
                f"pip install 'fitdoctor[{self.extra}]'"
            )

    @abstractmethod
    def log(self, values: dict[str, float], words: dict[str, str]) -> str:
        """Log, and return why that was not possible; empty where it was."""


class WeightsAndBiases(Tracker):
    """The active run of `wandb.init()`."""

    package = extra = "wandb"

    def log(self, values: dict[str, float], words: dict[str, str]) -> str:
        """Values go with the script's own next `log`, so that its steps count as before."""
        run = importlib.import_module("wandb").run
        if run is None:
            return "Weights & Biases has no active run; call wandb.init() before fit"
        run.log(dict(values), commit=False)
        run.summary.update({**values, **words})
        return ""


class MLflow(Tracker):
    """The active run of `mlflow.start_run()`."""

    package = extra = "mlflow"

    def log(self, values: dict[str, float], words: dict[str, str]) -> str:
        """MLflow would begin a run of its own for a metric; whether to is the script's choice."""
        mlflow = importlib.import_module("mlflow")
        if mlflow.active_run() is None:
            return "MLflow has no active run; call mlflow.start_run() before fit"
        mlflow.log_metrics(values)
        mlflow.set_tags(words)
        return ""


class TensorBoard(Tracker):
    """An event file of its own in this folder."""

    package = extra = "tensorboard"

    def __init__(self, folder: str | Path) -> None:
        """Beside the files of `keras.callbacks.TensorBoard`, or anywhere."""
        self.folder = Path(folder)
        self._times = 0

    def check(self) -> None:
        """As for the export of a report."""
        from fitdoctor.report.export.tensorboard_scalars import check_tensorboard

        check_tensorboard()

    def log(self, values: dict[str, float], words: dict[str, str]) -> str:
        """Scalars, and the words as text."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        writer = EventFileWriter(str(self.folder / "fitdoctor"))
        written = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        written += [_text_value(name, text) for name, text in words.items()]
        event = Event(wall_time=time.time(), step=self._times, summary=Summary(value=written))
        writer.add_event(event)
        writer.close()
        self._times += 1
        return ""


def _text_value(name: str, text: str) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING

    data = SummaryMetadata.PluginData(plugin_name="text")
    return Summary.Value(
        tag=name,
        metadata=SummaryMetadata(plugin_data=data),
        tensor=TensorProto(dtype=DT_STRING, string_val=[text.encode()]),
    )
