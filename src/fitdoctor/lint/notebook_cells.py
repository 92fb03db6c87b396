"""The code of a notebook as one text, and where each of its lines stands."""

from __future__ import annotations

import json
from typing import Any

Place = tuple[int, int]  # the cell, counted over all cells from 1, and the line in it

# Cell magics whose cell is still Python.
_PYTHON_MAGICS = frozenset({"fitdoctor", "time", "timeit", "capture", "prun"})


def notebook_code(text: str) -> tuple[str, list[Place]]:
    """The lines of all code cells, magics left out, with the place of each.

    Raises:
        ValueError: It is no notebook.
    """
    document = json.loads(text)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells")
    lines: list[str] = []
    places: list[Place] = []
    for number, cell in enumerate(cells, 1):
        for line, code in enumerate(_code(cell), 1):
            lines.append(_without_magic(code))
            places.append((number, line))
    return "\n".join(lines) + "\n", places


def _code(cell: Any) -> list[str]:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return []
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    first = text.lstrip().split(maxsplit=1)[:1]
    foreign = first and first[0].startswith("%%") and first[0][2:] not in _PYTHON_MAGICS
    return [] if foreign else text.split("\n")


def _without_magic(line: str) -> str:
    code = line.lstrip()
    if not code.startswith(("%", "!")):
        return line
    # A statement in its place: a block must not become empty.
    return line[: len(line) - len(code)] + "pass"
