"""What Keras does to the user's arrays at the start of every call: copies and casts."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.loading import ArrayConversion, InputFacts
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.inputs.keras_arrays import conversions_per_epoch, converted

# Fresh pages make each byte of a large array cost more than one of a small array. So all of it is
# converted where this share of the free memory holds it; else a part stands for the whole.
CONVERTED_SHARE = 0.1
PART_BYTES = 256 * 2**20
SMALLEST_BYTES = 16 * 2**20
REPEATS = 3


class ConvertArrays(Probe[ArrayConversion]):
    """The user's arrays through Keras's adapter.

    More calls may follow. Only then the start of each matters, which the rule asks.
    """

    phase = Phase.CALLS

    def wanted(self, context: Context) -> bool:
        facts = context.found(InputFacts)
        return facts is not None and facts.kind == "arrays"

    def run(self, context: Context) -> ArrayConversion:
        backend, given = context.backend.name, context.fit.arguments
        x, y = given.get("x"), given.get("y")
        arrays = [leaf for leaf in batches.leaves((x, y)) if _is_array(leaf)]
        total = sum(int(leaf.nbytes) for leaf in arrays)
        if total < SMALLEST_BYTES:
            raise NotAvailable("the arrays are too small to matter")
        floatx = sys.modules["keras"].config.floatx()
        largest = max(PART_BYTES, CONVERTED_SHARE * (available_bytes() or 0))
        rows = max(1, int(min(1.0, largest / total) * len(arrays[0])))
        part = [leaf[:rows] for leaf in arrays]
        scale = total / max(1, sum(int(leaf.nbytes) for leaf in part))
        cast = [leaf.astype(floatx) if _needs_cast(leaf, floatx) else leaf for leaf in part]
        as_is, already_cast = (_usual_ns(backend, one) for one in (part, cast))
        return ArrayConversion(
            bytes=total,
            cast_bytes=sum(int(leaf.nbytes) for leaf in arrays if _needs_cast(leaf, floatx)),
            as_is_ns=round(as_is * scale),
            cast_before_ns=round(already_cast * scale),
            dtypes=tuple(sorted({str(leaf.dtype) for leaf in arrays})),
            floatx=floatx,
            cast_arguments=tuple(
                name
                for name, value in (("x", x), ("y", y))
                if _is_array(value) and _needs_cast(value, floatx)
            ),
            per_epoch=conversions_per_epoch(backend),
        )


def _is_array(leaf: Any) -> bool:
    is_numpy = type(leaf).__module__ == "numpy"
    return bool(is_numpy and hasattr(leaf, "dtype") and leaf.ndim > 0)


def _needs_cast(leaf: Any, floatx: str) -> bool:
    return bool(leaf.dtype.kind == "f" and leaf.dtype.name != floatx)


def _usual_ns(backend: str, arrays: list[Any]) -> int:
    return durations_ns(lambda: converted(backend, arrays), REPEATS)[REPEATS // 2]
