"""What the commands write: lines on stderr, results on stdout or in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.report.text import for_encoding, without_controls

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import Diagnosis

Color = Literal["auto", "always", "never"]
COLORS = ("auto", "always", "never")
FORMATS = (".html", ".json", ".txt", ".csv", ".pftrace")
TEXT_FILE_WIDTH = 100


def say(text: str, *, prefix: str = "fitdoctor · ") -> None:
    """Write lines of ours to stderr: stdout belongs to the script."""
    if sys.stderr is None:
        return
    lines = (without_controls(line) for line in text.split("\n"))
    write(sys.stderr, prefix + "\n".join(lines) + "\n")


def write(stream: TextIO, text: str) -> None:
    """Write text in the characters that the stream can carry."""
    stream.write(for_encoding(text, getattr(stream, "encoding", None)))
    stream.flush()


def use_color(choice: Color, stream: TextIO) -> bool:
    """Whether to colour what goes to this stream.

    An explicit choice wins, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def can_redraw(stream: TextIO) -> bool:
    """Whether the stream is a terminal on which lines can be written over."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """Columns to use: those of the terminal, or what a pipe's reader most likely has."""
    from fitdoctor.report.terminal import DEFAULT_WIDTH

    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        # A terminal that does not know its size says 0.
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def show(diagnosis: Diagnosis, stream: TextIO, *, color: Color, verbose: bool) -> None:
    """Write the screen to a stream."""
    from fitdoctor.report.terminal import render

    text = render(
        diagnosis,
        width=terminal_width(stream),
        color=use_color(color, stream),
        verbose=verbose,
    )
    write(stream, text)


def check_format(path: Path) -> None:
    """Refuse an extension that names no format, and a format whose package is missing.

    Raises:
        UsageError: The extension is not known, or an extra is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(
            f"the extension of the output file decides its format; received {path.name!r}",
            expected=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
            advice=f"-o {path.with_suffix('.html').name}",
        )
    if path.suffix.lower() == ".pftrace":
        from fitdoctor.report.export.perfetto_trace import check_perfetto

        check_perfetto()


def check_writable(path: Path, *, force: bool) -> None:
    """Find out before a long run whether its result can be written.

    Raises:
        OutputError: The file exists already or cannot be written.
    """
    if path.exists() and not path.is_dir() and not force:
        raise OutputError(
            f"{path} exists already and is not overwritten",
            expected="a file name that is not in use",
            advice="another name, or --force",
        )
    existed = path.exists()
    try:
        with open(path, "ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise _not_written(path, error) from error


def write_file(
    path: Path,
    diagnosis: Diagnosis,
    recording: Any,
    *,
    suffix: str | None = None,
    proof: Any = None,
) -> None:
    """Write the report to a file, all of it or nothing.

    Args:
        path: Where to.
        diagnosis: What was found.
        recording: What it was found in, for the formats that show every step.
        suffix: The format, where the name of the file does not say it.
        proof: The result of `fitdoctor prove`, for the page.

    Raises:
        OutputError: The file cannot be written.
    """
    write_bytes(path, _content(suffix or path.suffix.lower(), diagnosis, recording, proof))


def write_text(path: Path, text: str) -> None:
    """Write a text file, all of it or nothing."""
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, all of it or nothing.

    Raises:
        OutputError: The file cannot be written.
    """
    # A reader that waits for the file must never see half of it.
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(content)
        os.replace(partial, target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def _content(suffix: str, diagnosis: Diagnosis, recording: Any, proof: Any) -> bytes:
    if suffix == ".pftrace":
        from fitdoctor.report.export.perfetto_trace import perfetto_trace

        return perfetto_trace(recording)
    if suffix == ".html":
        from fitdoctor.report.html.page import render as render_page

        text = render_page(diagnosis, recording, proof=proof)
    elif suffix == ".json":
        from fitdoctor.report.machine import to_text

        text = to_text(diagnosis)
    elif suffix == ".csv":
        from fitdoctor.report.export.steps_csv import steps_csv

        text = steps_csv(recording)
    else:
        from fitdoctor.report.terminal import render

        text = render(diagnosis, width=TEXT_FILE_WIDTH, verbose=True)
    # A file name that is not UTF-8 reaches us as a lone surrogate.
    return text.encode("utf-8", "replace")


def _not_written(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write {path}: {error.strerror}",
        expected="a file in an existing folder that you may write to",
        advice="another place for the result",
    )
