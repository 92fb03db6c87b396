"""`%%fitdoctor`: a notebook cell, examined where it runs, its report below it."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

from fitdoctor.library.own_process import start_recording

FRAME_HEIGHT = 640
USAGE = "usage: %%fitdoctor [--no-probes]"


class Report:
    """What a cell shows: the page in a frame of its own, or the screen where there is none."""

    def __init__(self, page: str, screen: str) -> None:
        self._page, self._screen = page, screen

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="fitdoctor" style="width:100%;height:{FRAME_HEIGHT}px;border:0" '
            f'sandbox="allow-scripts" srcdoc="{html.escape(self._page, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return self._screen


def register(shell: Any) -> None:
    """Add the cell magic to an IPython shell."""

    def fitdoctor(line: str, cell: str) -> Report | None:
        """Run the cell, examine its training, and show the report."""
        options = shlex.split(line)
        if any(option != "--no-probes" for option in options):
            print(f"fitdoctor · error: received {line!r}; {USAGE}")  # noqa: T201
            return None
        own = start_recording("notebook", probes="--no-probes" not in options, samples=True)
        try:
            shell.run_cell(cell)
        finally:
            own.stop()
        return _report(own.path)

    shell.register_magic_function(fitdoctor, "cell", "fitdoctor")


def _report(path: Path) -> Report | None:
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.diagnosis import diagnose
    from fitdoctor.report.html.page import render
    from fitdoctor.report.terminal import render as render_terminal

    recording = read_recording(path)
    diagnosis = diagnose(recording)
    if not diagnosis.workloads:
        print("fitdoctor · no Keras training was seen in this cell")  # noqa: T201
        return None
    return Report(render(diagnosis, recording), render_terminal(diagnosis))
