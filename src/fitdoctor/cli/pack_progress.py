"""A bar with rate and time left, on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.pack.packing import Listener
from fitdoctor.units import size


class PackProgress(Listener):
    """Shows how far a pack is."""

    def __init__(self, verb: str, *, quiet: bool) -> None:
        self._verb, self._quiet = verb, quiet
        self._bar: Any = None
        self._task: Any = None
        self._bytes = 0
        self._drawn_s = -1.0

    def __enter__(self) -> PackProgress:
        # Nothing to do yet: workers are forked before a bar's thread may run.
        return self

    def begin(self, items: int | None, kept_items: int) -> None:
        """Make the bar; it is drawn at the first report."""
        if self._quiet:
            return
        from rich import progress
        from rich.console import Console

        console = Console(file=sys.stderr)
        if not console.is_terminal:
            return
        self._bar = progress.Progress(
            progress.TextColumn("fitdoctor · {task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeRemainingColumn(),
            console=console,
            transient=True,
            # No thread of its own: a process with threads cannot be forked safely.
            auto_refresh=False,
        )
        self._task = self._bar.add_task(self._verb, total=items, completed=kept_items, rate="")

    def report(self, items: int, count_bytes: int) -> None:
        if self._bar is None:
            return
        if not self._bar.live.is_started:
            self._bar.start()
        self._bytes += count_bytes
        self._bar.advance(self._task, items)
        seconds = self._bar.tasks[0].elapsed or 0.0
        if seconds > 0:
            self._bar.update(self._task, rate=f"{size(self._bytes / seconds)}/s")
        # A stream reports every element: not each of them is drawn.
        if seconds - self._drawn_s >= 0.1:
            self._drawn_s = seconds
            self._bar.refresh()

    def __exit__(self, *error: object) -> None:
        if self._bar is not None and self._bar.live.is_started:
            self._bar.stop()
