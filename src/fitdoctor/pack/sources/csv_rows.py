"""Where the rows of a CSV file begin: line ends that do not lie inside quotes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

PIECE_BYTES = 1 << 24
_NEWLINE, _QUOTE = ord("\n"), ord('"')


def row_edges(path: Path, shard_bytes: int) -> list[tuple[int, int]]:
    """Pairs (byte, rows before it) at the first row and about every `shard_bytes` after it.

    The header counts as row 0, so the first pair is (0, 0). The last pair is the end.
    """
    edges = [(0, 0)]
    inside = False  # whether the piece begins within quotes
    at = rows = 0
    last = b"\n"
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            data = np.frombuffer(piece, np.uint8)
            ends = np.flatnonzero(data == _NEWLINE)
            quotes = np.flatnonzero(data == _QUOTE)
            if len(quotes) or inside:
                # A doubled quote inside a text toggles twice, so parity is all that counts.
                before = np.searchsorted(quotes, ends) + inside
                ends = ends[before % 2 == 0]
            while True:
                wanted = edges[-1][0] + shard_bytes - at
                number = int(np.searchsorted(ends, wanted))
                if number >= len(ends):
                    break
                edges.append((at + int(ends[number]) + 1, rows + number + 1))
            rows += len(ends)
            inside = bool((len(quotes) + inside) % 2)
            at += len(piece)
            last = piece[-1:]
    if last != b"\n":
        rows += 1  # the last row needs no line end
    if edges[-1][0] != at:
        edges.append((at, rows))
    return edges
