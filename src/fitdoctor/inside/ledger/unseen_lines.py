"""What of the script has not been reached when it is ended: the lines after the one that trains."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from fitdoctor.contract.records import Unseen
from fitdoctor.inside.ledger.callsite import is_user_file


def unseen_lines() -> Unseen:
    """The lines after the outermost line of the user's that runs now, to the end of its file."""
    outermost: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            outermost = frame
        frame = frame.f_back
    if outermost is None:
        return Unseen()
    last = max(_lines(outermost.f_code), default=0)
    if last <= outermost.f_lineno:
        return Unseen()
    return Unseen(outermost.f_code.co_filename, outermost.f_lineno + 1, last)


def _lines(code: CodeType) -> list[int]:
    return [line for _, _, line in code.co_lines() if line is not None]
