"""Recording in the process that we are already in: for the callback and for notebooks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script
from fitdoctor.inside import wiring
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.launch import recording_files

if TYPE_CHECKING:
    from fitdoctor.launch.sampler import Sampler


@dataclass(frozen=True)
class OwnRecording:
    """A recorder that runs in this process, and its file."""

    path: Path
    recorder: Recorder
    sampler: Sampler | None = None

    def stop(self) -> None:
        """Give everything back that was patched, and finish the recording."""
        if self.sampler is not None:
            self.sampler.stop()
        wiring.stop(self.recorder)
        recording_files.append_exit(self.path, code=0)


def start_recording(name: str, *, probes: bool, samples: bool = False) -> OwnRecording:
    """Begin to record what this process trains from now on.

    Args:
        name: What the recording is called.
        probes: Whether to experiment with the training; it continues with the state it had.
        samples: Whether to look at CPU, GPU and memory in between, from a thread of ours.

    Raises:
        OutputError: The recording cannot be written.
    """
    from fitdoctor.launch.sampler import Sampler, describe_machine

    # The training is not ended, so there is no budget to keep.
    options = RunOptions(budget_s=86400.0, keep_running=True, probes=probes)
    # A script that is started by others has no command line of ours, but may have the variable.
    folder = os.environ.get("FITDOCTOR_OUTPUT_DIR")
    path = recording_files.create_recording(name, folder=Path(folder) if folder else None)
    script = Script(name, tuple(sys.argv[1:]))
    recording_files.begin(path, script, options, describe_machine(before_script=False))
    recorder = wiring.start(str(path), options)
    sampler = Sampler(os.getpid(), path) if samples else None
    if sampler is not None:
        sampler.start()
    return OwnRecording(path, recorder, sampler)
