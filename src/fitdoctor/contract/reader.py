"""Open a recording: the one place where it is checked.

What is wrong in one record is counted and left out; what is no recording is refused in one line.
"""

from __future__ import annotations

from pathlib import Path

from fitdoctor.contract.codec import as_text
from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.gathering import Gathered, parsed
from fitdoctor.contract.records import FORMAT, OLDEST_SCHEMA, SCHEMA, Raw, Recording

_MAKE_ONE = "fitdoctor run train.py makes a new recording"


def read_recording(path: Path) -> Recording:
    """Read a recording file.

    Raises:
        RecordingError: missing, empty, foreign, newer, or without a readable header.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecordingError(
            f"the recording {path} cannot be read: {error.strerror or error}",
            expected="a .rec file written by fitdoctor run",
            advice=_MAKE_ONE,
        ) from error
    # Only line feeds end a record: strings may hold other separators.
    lines = text.split("\n")
    header = parsed(lines[0]) or {}
    contents = Gathered(_checked_schema(path, header))
    for line in lines[1:]:
        contents.add(line)
    return contents.finish(str(path), header)


def _checked_schema(path: Path, header: Raw) -> int:
    if header.get("format") != FORMAT:
        raise RecordingError(
            f"{path} is not a fitdoctor recording, or its first line was lost",
            expected=f'a first line with "format": "{FORMAT}"',
            advice=_MAKE_ONE,
        )
    schema = header.get("schema")
    if type(schema) is not int or schema < OLDEST_SCHEMA:
        raise RecordingError(
            f"{path} has no valid schema number: {as_text(repr(schema))[:60]}",
            expected=f"schema {OLDEST_SCHEMA} to {SCHEMA}",
            advice=_MAKE_ONE,
        )
    if schema > SCHEMA:
        version = as_text(str(header.get("fitdoctor", "unknown")))[:60]
        raise RecordingError(
            f"{path} was written by a newer fitdoctor ({version}): schema {str(schema)[:20]}",
            expected=f"schema {SCHEMA} or older",
            advice="pip install --upgrade fitdoctor",
        )
    return schema
