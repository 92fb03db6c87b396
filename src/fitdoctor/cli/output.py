"""What the commands write: lines on stderr, results on stdout or in a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.report.text import for_encoding, without_controls

if TYPE_CHECKING:
    from fitdoctor.cli.judging import Judged
    from fitdoctor.findings.diagnosed import Diagnosis
    from fitdoctor.report.proof_file import Proof

Say = Callable[[str], None]
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


def sayer(*, quiet: bool) -> Say:
    """`say`, or silence where that was asked for."""
    return (lambda text: None) if quiet else say


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

    width, colored = terminal_width(stream), use_color(color, stream)
    write(stream, render(diagnosis, width=width, color=colored, verbose=verbose))


def checked_outputs(
    output: Path | None,
    json_output: Path | None = None,
    *,
    force: bool,
    formats: Sequence[str] = FORMATS,
) -> list[tuple[Path, str]]:
    """The files to write, each with the extension of its format.

    Raises:
        UsageError: The extension is not known, or an extra is not installed.
        OutputError: A file exists already or cannot be written.
    """
    outputs = []
    if output is not None:
        _check_format(output, formats)
        outputs.append((output, output.suffix.lower()))
    if json_output is not None:
        outputs.append((json_output, ".json"))
    for path, _ in outputs:
        check_writable(path, force=force)
    return outputs


def _check_format(path: Path, formats: Sequence[str]) -> None:
    if path.suffix.lower() not in formats:
        raise UsageError(
            f"the extension of the output file decides its format; received {path.name!r}",
            expected=f"{', '.join(formats[:-1])} or {formats[-1]}",
            advice=f"-o {path.with_suffix(formats[0]).name}",
        )
    if path.suffix.lower() == ".pftrace":
        from fitdoctor.report.export.perfetto_trace import check_perfetto

        check_perfetto()


def check_writable(path: Path, *, force: bool) -> None:
    """Find out before a long run whether its result can be written.

    Raises:
        OutputError: The file exists already or cannot be written.
    """
    existed = path.exists()
    if existed and not path.is_dir() and not force:
        raise OutputError(
            f"{path} exists already and is not overwritten",
            expected="a file name that is not in use",
            advice="another name, or --force",
        )
    try:
        open(path, "ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise _not_written(path, error) from error


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file, all of it or nothing."""
    write_bytes(path, json.dumps(data, indent=2, default=str).encode() + b"\n")


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


def report_bytes(suffix: str, judged: Judged, proof: Proof | None = None) -> bytes:
    """The report as a file with this extension; a proof is shown on the page."""
    diagnosis, recording = judged.diagnosis, judged.recording
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
