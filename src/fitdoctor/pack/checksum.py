"""CRC32C of bytes, from the `google-crc32c` package, asked for only when it is needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from fitdoctor.pack.extras import needed

# A file is summed in pieces of this size, so that it never has to fit into memory.
PIECE_BYTES = 1 << 22


@functools.cache
def functions() -> tuple[Callable[[bytes], int], Callable[[int, bytes], int]]:
    """`value(data)` and `extend(crc, data)`."""
    crc = needed("google_crc32c", "pack")
    return crc.value, crc.extend


def of_file(path: Path) -> int:
    """CRC32C of a whole file."""
    _, extend = functions()
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            crc = extend(crc, piece)
    return crc
