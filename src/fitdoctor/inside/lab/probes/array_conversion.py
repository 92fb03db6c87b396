"""What Keras does to the user's arrays at the start of every call: copies and casts."""

from __future__ import annotations

import sys
import time
from typing import Any

from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import NotAvailable
from fitdoctor.inside.seams.inputs.keras_arrays import conversions_per_epoch, converted

# Fresh pages make large arrays dearer by the byte than small ones, so the whole is converted
# where this share of the free memory holds it; else a part of it tells of the whole.
MEMORY_SHARE = 0.1
PART_BYTES = 256 * 2**20
SMALLEST_BYTES = 16 * 2**20
REPEATS = 3


def array_conversion(backend: str, x: Any, y: Any) -> Data:
    """Seconds to convert the arrays as they are, and as they would be if cast beforehand."""
    arrays = [leaf for leaf in batches.leaves((x, y)) if _is_array(leaf)]
    total = sum(int(leaf.nbytes) for leaf in arrays)
    if total < SMALLEST_BYTES:
        raise NotAvailable("the arrays are too small to matter")
    floatx = sys.modules["keras"].config.floatx()
    largest = max(PART_BYTES, MEMORY_SHARE * (available_bytes() or 0))
    rows = max(1, int(min(1.0, largest / total) * len(arrays[0])))
    part = [leaf[:rows] for leaf in arrays]
    scale = total / max(1, sum(int(leaf.nbytes) for leaf in part))
    cast = [leaf.astype(floatx) if _needs_cast(leaf, floatx) else leaf for leaf in part]
    as_is, already_cast = (_seconds(backend, one) for one in (part, cast))
    return {
        "bytes": total,
        "cast_bytes": sum(int(leaf.nbytes) for leaf in arrays if _needs_cast(leaf, floatx)),
        "dtypes": sorted({str(leaf.dtype) for leaf in arrays}),
        "floatx": floatx,
        "cast_arguments": [
            name
            for name, value in (("x", x), ("y", y))
            if _is_array(value) and _needs_cast(value, floatx)
        ],
        "per_epoch": conversions_per_epoch(backend),
        "as_is_ns": round(as_is * scale * 1e9),
        "cast_before_ns": round(already_cast * scale * 1e9),
    }


def _is_array(leaf: Any) -> bool:
    is_numpy = type(leaf).__module__ == "numpy"
    return bool(is_numpy and hasattr(leaf, "dtype") and leaf.ndim > 0)


def _needs_cast(leaf: Any, floatx: str) -> bool:
    return bool(leaf.dtype.kind == "f" and leaf.dtype.name != floatx)


def _seconds(backend: str, arrays: list[Any]) -> float:
    spent = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        converted(backend, arrays)
        spent.append(time.perf_counter() - begin)
    return sorted(spent)[REPEATS // 2]
