"""Libraries that only packing needs: imported when used, with advice where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from fitdoctor.contract.errors import UsageError


def needed(module: str, extra: str) -> Any:
    """Import a module of an optional dependency.

    Raises:
        UsageError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"PIL": "pillow", "google_crc32c": "google-crc32c"}.get(module, module)
        raise UsageError(
            f"this needs the package {package.split('.')[0]}, which is not installed: {error}",
            expected=f"an environment with fitdoctor[{extra}]",
            advice=f"pip install 'fitdoctor[{extra}]'",
        ) from error
