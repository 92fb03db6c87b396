"""Runs a script through the launcher alone: what `fitdoctor run` does, less the report."""

from __future__ import annotations

import json
import os
import sys

from fitdoctor.contract.options import RunOptions
from fitdoctor.launch import launcher as launching
from fitdoctor.launch.recording_files import append_exit, create_recording

module = sys.argv[1] == "-m"
target, *args = sys.argv[2:] if module else sys.argv[1:]
# Set by the tests that are about an examined script; taken out before the script sees it.
settings = json.loads(os.environ.pop("LAUNCH_DRIVER", "{}"))
launching.HANG_GRACE_S = settings.get("hang_grace_s", launching.HANG_GRACE_S)
launching.KILL_GRACE_S = settings.get("kill_grace_s", launching.KILL_GRACE_S)

recording = create_recording(target)
outcome = launching.launch(
    launching.command_line(target, args, module=module),
    recording=recording,
    options=RunOptions(keep_running=settings.get("keep_running", False)),
    grace_s=settings.get("grace_s", launching.OVERSTAY_GRACE_S),
)
append_exit(recording, code=outcome.code, signal=outcome.signal, overstayed=outcome.overstayed)
launching.end_like(outcome)
