"""Examine a script first, for a command whose own result goes to stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from fitdoctor.cli.record import Verbosity, record
from fitdoctor.cli.target import check_target
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script


def examined(script: Script, budget: float, verbosity: Verbosity) -> Path:
    """The recording; the script's output goes to stderr, since stdout is for the result."""
    from fitdoctor.launch.launcher import end_like

    check_target(script)
    sys.stderr.flush()
    path, outcome = record(script, RunOptions(budget_s=budget), verbosity, stdout=2)
    if outcome.signal is not None and not outcome.overstayed:
        end_like(outcome)  # Ctrl-C, or killed: nothing is changed after that
    if outcome.code:
        verbosity.say(f"the script ended with exit code {outcome.code}")
    return path
