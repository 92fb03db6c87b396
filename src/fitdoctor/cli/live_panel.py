"""A few lines at the foot of a terminal that stay there while a script writes above them.

The terminal itself is told to scroll only the lines above (as apt does for its progress bar):
the script's own output, its progress bar too, stays where it was.
"""

from __future__ import annotations

import os
from typing import TextIO

from fitdoctor.cli.output import write

_SAVE, _RESTORE = "\x1b7", "\x1b8"
# Down a line, at the foot of the screen by scrolling; the column stays.
_DOWN = "\x1bD"
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[2K", "\x1b[J"
# Setting what scrolls moves the cursor to the top, so that it is put back.
_WHOLE_SCREEN = f"{_SAVE}\x1b[r{_RESTORE}"
# Below this height the panel would take the room that the script needs.
LEAST_ROWS = 12


class Panel:
    """Lines below everything else; `close` gives their room back."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._size: os.terminal_size | None = None
        self._rows = 0

    def show(self, lines: list[str]) -> None:
        """Draw the lines, each cut to the width of the terminal."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return
        if size.lines < LEAST_ROWS or size.columns < 1:
            return
        is_new = (size, len(lines)) != (self._size, self._rows)
        room = _make_room(size, len(lines)) if is_new else ""
        self._size, self._rows = size, len(lines)
        first = size.lines - len(lines) + 1
        # The last column stays empty: some terminals wrap as soon as it is written to.
        drawn = (
            f"\x1b[{first + number};1H{_CLEAR_LINE}{line[: size.columns - 1]}"
            for number, line in enumerate(lines)
        )
        write(self._stream, room + _SAVE + "".join(drawn) + _RESTORE)

    def close(self) -> None:
        """The whole screen scrolls again, and the panel is gone."""
        if self._size is not None:
            self._size = None
            write(self._stream, _WHOLE_SCREEN + _CLEAR_BELOW)


def _make_room(size: os.terminal_size, rows: int) -> str:
    """Scroll so that the last rows are free, and keep what follows out of them."""
    keep_above = f"\x1b[1;{size.lines - rows}r"
    return f"{_WHOLE_SCREEN}{_DOWN * rows}{_SAVE}{keep_above}{_RESTORE}\x1b[{rows}A"
