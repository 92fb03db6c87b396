"""Files that use Keras 2, whose calls the patterns do not know."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_KERAS2 = re.compile(r"^\s*(?:import|from)\s+tf_keras\b|\bTF_USE_LEGACY_KERAS\b", re.MULTILINE)


def keras2_files(files: Iterable[Path]) -> list[Path]:
    """Those that import `tf_keras` or ask TensorFlow for it; in notebooks too."""
    return [file for file in files if _KERAS2.search(_text(file))]


def keras2_note(files: list[Path]) -> str:
    """What lint does not see in them."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    verb = "use" if len(files) > 1 else "uses"
    return (
        f"{files[0]}{more} {verb} Keras 2 (tf_keras): lint knows Keras 3 and tf.data, so calls of "
        "tf_keras are not checked; fitdoctor run records their steps and waits for data"
    )


def _text(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # said where it is parsed
        return ""
    # The lines of a notebook's cells are JSON strings.
    return text.replace('"', "\n") if file.suffix == ".ipynb" else text
