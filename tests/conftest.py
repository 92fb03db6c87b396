"""Shared by all tests."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

from hypothesis import settings

# Test helpers (synthetic recordings, scripts) are plain modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))
# So are the benchmarks, in the folder above.
sys.path.insert(0, str(Path(__file__).parents[1]))

# How long an example takes says nothing here: two cores are shared, and imports are lazy.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


def pytest_configure() -> None:
    """Keep the suite apart from the user's own files, and from how it was started."""
    os.environ["FITDOCTOR_CACHE"] = str(Path(tempfile.gettempdir()) / "fitdoctor-tests")
    # A suite started in the background (nohup, `&`) inherits ignored signals, and so would every
    # script that it starts; the tests of signals need them as a terminal has them.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
