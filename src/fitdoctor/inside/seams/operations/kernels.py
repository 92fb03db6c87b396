"""Kernels and copies on a GPU, as operations of layers."""

from __future__ import annotations

import re

from fitdoctor.contract.evidence.operations import (
    COPY_INSIDE,
    FROM_DEVICE,
    KERNEL,
    MEMSET,
    TO_DEVICE,
)
from fitdoctor.inside.seams.operations.profile import Operation

# As CUDA's tracing names them: `MemcpyH2D` in XLA's profiles, `Memcpy HtoD (…)` in torch's.
_COPIES = (
    (re.compile(r"memcpy ?h(2|to)d", re.IGNORECASE), TO_DEVICE),
    (re.compile(r"memcpy ?d(2|to)h", re.IGNORECASE), FROM_DEVICE),
    (re.compile(r"memcpy", re.IGNORECASE), COPY_INSIDE),
    (re.compile(r"memset", re.IGNORECASE), MEMSET),
)
# C++ templates, arguments and numbers tell the user nothing.
_NAME = re.compile(r"^(?:void )?(?:[\w]+::)*([A-Za-z_]\w*)")
_NUMBER = re.compile(r"(?:_\d+)+$")


def copy_kind(name: str) -> str | None:
    """What kind of copy an event is; None for a kernel.

    Example:
        >>> copy_kind("MemcpyH2D") == copy_kind("Memcpy HtoD (Pageable -> Device)")
        True
        >>> copy_kind("sgemm") is None
        True
    """
    return next((kind for pattern, kind in _COPIES if pattern.match(name)), None)


def kernel_name(name: str) -> str:
    """The part of a kernel's name that a reader may know.

    Example:
        >>> kernel_name("void at::native::reduce_kernel<512, 1>(float*)")
        'reduce_kernel'
        >>> kernel_name("loop_add_fusion_12")
        'loop_add_fusion'
    """
    found = _NAME.match(name)
    return _NUMBER.sub("", found[1] if found else name)


def on_device(name: str, known: Operation | None) -> Operation:
    """A kernel as the operation that started it; a copy as a copy, in the same layer."""
    copied = copy_kind(name)
    if known is None:
        return Operation((), copied or f"{KERNEL}{kernel_name(name)}")
    return known._replace(op=copied) if copied else known
