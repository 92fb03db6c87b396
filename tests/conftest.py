"""Shared by all tests."""

from __future__ import annotations

import sys
from pathlib import Path

# Test helpers (synthetic recordings, scripts) are plain modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))
