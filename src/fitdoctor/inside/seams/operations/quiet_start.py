"""Profilers log every start and stop on stderr, which is the user's terminal."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

# Lines of the profiler's own source files; anything else that is written meanwhile is passed on.
_OWN_LINES = re.compile(rb"\b(?:profiler_\w+|session_manager|save_profile|host_tracer)\.cc:\d+\]")
STDERR = 2


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Leave a profiler's own lines out while it starts or stops."""
    try:
        terminal = os.dup(STDERR)
    except OSError:  # closed by the script
        yield
        return
    with tempfile.TemporaryFile() as log:
        _flush()
        os.dup2(log.fileno(), STDERR)
        try:
            yield
        finally:
            _flush()
            os.dup2(terminal, STDERR)
            os.close(terminal)
            log.seek(0)
            for line in log:
                if not _OWN_LINES.search(line):
                    os.write(STDERR, line)


def _flush() -> None:
    # The script may have put something else, or nothing, in its place.
    with contextlib.suppress(AttributeError, ValueError, OSError):
        sys.stderr.flush()
