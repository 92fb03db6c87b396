"""Recording in the process that we are already in: for the callback and for notebooks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitdoctor import child
from fitdoctor.recorder import files
from fitdoctor.recorder.session import Recorder


@dataclass(frozen=True)
class OwnRecording:
    """A recorder that runs in this process, and its file."""

    path: Path
    recorder: Recorder

    def stop(self) -> None:
        """Give everything back that was patched, and finish the recording."""
        child.stop(self.recorder)
        files.append_exit(self.path, code=0, signal=None, overstayed=False)


def start_recording(name: str, *, probes: bool) -> OwnRecording:
    """Begin to record what this process trains from now on.

    Args:
        name: What the recording is called.
        probes: Whether to experiment with the training; it goes on with the state it had.

    Raises:
        OutputError: The recording cannot be written.
    """
    from fitdoctor.recorder.sampler import machine_record

    # The training is not ended, so that there is no budget to keep.
    options: dict[str, Any] = {"budget_s": 86400.0, "continue": True, "probes": probes}
    path = files.create_recording(name)
    header = files.header_record(script=name, argv=sys.argv[1:], module=False, options=options)
    files.begin(path, header, machine_record())
    return OwnRecording(path, child.start(str(path), options))
