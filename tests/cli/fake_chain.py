"""The command line on a chain that is faked behind the recording.

A script "trains" here by writing a {"k":"fake-training"} line into its recording, so
that the commands are tested without Keras.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import diagnoses

from fitdoctor.contract.errors import RecordingError


class FakeRecording(bytes):
    """Without workloads there is nothing to try in a fresh process."""

    workloads = ()


def read_recording(path: Path) -> FakeRecording:
    text = FakeRecording(path.read_bytes())
    if b"fitdoctor-recording" not in text:
        raise RecordingError(f"{path} is not a recording", expected="a .rec file")
    return text


def diagnose(recording: bytes, rules: Any = None) -> Any:
    if os.environ.get("FAKE_BUG"):
        raise ZeroDivisionError("a bug of ours")
    if b"fake-training" in recording:
        return diagnoses.diagnosis(diagnoses.slow_workload())
    return diagnoses.diagnosis()


def all_rules() -> list[SimpleNamespace]:
    rows = [("IN002", "serial-reads", "safe"), ("IN001", "python-bound-loader", "advice")]
    return [
        SimpleNamespace(
            code=code, name=name, safety=safety, summary=f"{name}.", page=f"# {name} ({code})\n"
        )
        for code, name, safety in rows
    ]


def _replace(name: str, **attributes: Any) -> None:
    module = ModuleType(name)
    vars(module).update(attributes)
    sys.modules[name] = module


_replace("fitdoctor.contract.reader", read_recording=read_recording)
_replace("fitdoctor.diagnosis", diagnose=diagnose)
_replace("fitdoctor.rules", all_rules=all_rules)
# Without a training there is no source to change and try.
_replace("fitdoctor.trials.cured_text", try_cures=lambda *_: None)
_replace("fitdoctor.trials.warm_start", try_warm_start=lambda *_: None)

if __name__ == "__main__":
    from fitdoctor.cli import main

    main()
