"""One of the two things that are compared: a command, and the source text it runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fitdoctor.contract.changed_calls import ChangedCall
from fitdoctor.findings.rounds import NO_ROUNDS, Rounds
from fitdoctor.launch.launcher import INJECT_FOLDER, command_line

RUN_MAIN = INJECT_FOLDER / "run_main.py"


@dataclass(frozen=True)
class Side:
    """How to start one side; `sources` replaces the text of some files."""

    name: str
    target: str
    args: tuple[str, ...] = ()
    module: bool = False
    # None: the files as they are, started by plain python. An empty mapping changes nothing
    # either, but is started as the changed side is: what both pay, neither gains from.
    sources: Mapping[Path, str] | None = field(default=None)
    # One step of this side does the work of so many of the other: a larger batch.
    steps_in_one: int = 1
    # What this side does only now and then.
    rounds: Rounds = NO_ROUNDS
    # Calls that are changed on their way into the framework, as the process reads them.
    calls: tuple[ChangedCall, ...] = ()

    def command(self) -> list[str]:
        """What is started."""
        if self.sources is None or self.module:
            return command_line(self.target, self.args, module=self.module)
        return [sys.executable, str(RUN_MAIN), self.target, *self.args]
