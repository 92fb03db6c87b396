"""How much of each batch is padding, and what a step takes without it."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fitdoctor.contract.evidence.model import Padding
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.limits import FULL_BATCH_SHARE
from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.model_state import all_layers

BATCHES = 8
# Arrays up to this many numbers are looked at as a whole: one long row makes a batch of its own.
WHOLE_SIZE = 20_000_000
SHORTEST_AXIS = 16
# Shorter steps have no time to lose on padding.
PADDING_STEP_NS = 2_000_000
SECONDS = 0.8
# Layers that walk along the second axis, so that its length is time.
ALONG_TIME = frozenset(
    {
        "Attention",
        "Bidirectional",
        "Conv1D",
        "Embedding",
        "GRU",
        "LSTM",
        "Masking",
        "MultiHeadAttention",
        "RNN",
        "SimpleRNN",
    }
)


class PaddingProbe(Probe[Padding]):
    phase = Phase.COPIES
    after = ("frozen_layers",)
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        is_long = (context.step_ns or 0.0) >= PADDING_STEP_NS and context.trial is not None
        return is_long and has_time_axis(all_layers(context.model))

    def run(self, context: Context) -> Padding:
        return padding(context, _more_batches(context))


def padding(context: Context, others: Iterable[Any]) -> Padding:
    """How long sequences are; `others` are more batches beside the frozen one."""
    batch = context.step.inputs
    axis = _length(batch)
    if axis is None:
        raise NotAvailable("no input has a time axis")
    whole = _whole_arrays(context.call.arguments.get("x")) if context.call is not None else None
    seen = [batch, *itertools.islice(others, BATCHES - 1)] if whole is None else [whole]
    lengths = [n for one in seen for n in _real_lengths(one)]
    rows = context.step.rows or len(lengths)
    needed = min(axis, bucketed(lengths, 1 if whole is None else rows))
    found = Padding(
        length=axis,
        real=sum(lengths) / max(1, len(lengths)),
        rows=rows,
        bucketed=needed,
        boundaries=tuple(boundaries(lengths)),
    )
    if found.real > FULL_BATCH_SHARE * axis or needed >= axis:
        return found
    try:
        return replace(found, cut=_timed(context, axis, needed, rows))
    except Exception:  # noqa: BLE001 - the model may be built for this length alone
        return replace(found, has_fixed_length=True)


def _timed(context: Context, axis: int, needed: int, rows: int) -> Timed:
    """The step at the length that is needed."""
    # On the right or on the left: the side that is empty is cut away.
    from_left = _is_left_aligned(context.step.inputs)

    def cut(batch: Any) -> Any:
        return batches.map_leaves(lambda leaf: _cut(leaf, axis, needed, from_left), batch)

    if context.backend.name != "tensorflow" or rows <= 1:
        return time_steps(context.step.on(cut), 1, SECONDS).timed()
    # Batches of many shapes get one graph for all of them, which is slower (1.5x, measured).
    fewer = lambda batch: context.backend.cut(batch, rows - 1)  # noqa: E731
    return time_steps(context.step.on_each(fewer, cut), 1, SECONDS).timed()


def _more_batches(context: Context) -> Iterable[Any]:
    """Inputs of other batches than the frozen one, where the data can be read again."""
    if context.call is None or context.subject is not Subject.FIT or context.is_one_shot:
        return ()
    unpack = sys.modules["keras"].utils.unpack_x_y_sample_weight
    return ((unpack(one)[0],) for one in context.backend.fresh_loader(context.call))


def has_time_axis(model_layers: Iterable[Any]) -> bool:
    """Whether the model walks along sequences at all."""
    return any(type(layer).__name__ in ALONG_TIME for layer in model_layers)


def _inputs(batch: Any) -> list[Any]:
    return [leaf for leaf in batches.leaves(batch) if len(getattr(leaf, "shape", ())) in (2, 3)]


def _length(batch: Any) -> int | None:
    lengths = [int(leaf.shape[1]) for leaf in _inputs(batch) if _is_sequence(leaf)]
    long = [n for n in lengths if n >= SHORTEST_AXIS]
    return max(long) if long else None


def _is_sequence(leaf: Any) -> bool:
    """Tokens (two axes of integers) or frames (three axes)."""
    return len(leaf.shape) == 3 or "int" in str(leaf.dtype)


def _filled(leaf: Any) -> Any:
    """Which positions of which row hold anything."""
    numpy = sys.modules["numpy"]
    array = numpy.asarray(leaf.detach().cpu() if hasattr(leaf, "detach") else leaf)
    filled = array != 0
    return filled.any(axis=2) if filled.ndim == 3 else filled


def _real_lengths(batch: Any) -> list[int]:
    """Per row, from the first filled position to the last one, over all inputs."""
    numpy = sys.modules["numpy"]
    longest: list[int] = []
    for leaf in _inputs(batch):
        if not _is_sequence(leaf) or int(leaf.shape[1]) < SHORTEST_AXIS:
            continue
        filled = _filled(leaf)
        first = numpy.argmax(filled, axis=1)
        last = filled.shape[1] - numpy.argmax(filled[:, ::-1], axis=1)
        lengths = [int(n) for n in numpy.where(filled.any(axis=1), last - first, 1)]
        longest = [max(a, b) for a, b in zip(longest, lengths, strict=False)] or lengths
    return longest


def _whole_arrays(x: Any) -> Any:
    """The arrays of a fit as one batch, where that is quick to look at; else None."""
    leaves = batches.leaves(x)
    numpy = sys.modules["numpy"]
    if not leaves or not all(isinstance(leaf, numpy.ndarray) for leaf in leaves):
        return None
    return (x,) if sum(leaf.size for leaf in leaves) <= WHOLE_SIZE else None


def bucketed(lengths: list[int], rows: int) -> int:
    """The mean padded length when rows of like length share a batch.

    Of like length: in buckets that double in size, as they are usually chosen; more of them
    would need more data at hand to fill a batch. A batch of a bucket is about as long as the
    longest row in it, and the last one of a bucket takes as long as a full one.

    Args:
        lengths: Of all rows, or of a sample of them.
        rows: In a batch; 1 for a sample, which does not show how many batches are not full.

    Example:
        >>> bucketed([10, 12, 16, 100], rows=2)
        66
    """
    batches_of = {
        longest: math.ceil(number / rows) for longest, number in _buckets(lengths).values()
    }
    padded = sum(longest * number * rows for longest, number in batches_of.items())
    return max(1, round(padded / max(1, len(lengths))))


def boundaries(lengths: list[int]) -> list[int]:
    """The lengths at which buckets begin, as `bucket_by_sequence_length` takes them.

    Example:
        >>> boundaries([10, 12, 16, 20, 100])
        [17, 33]
    """
    return [2**bits + 1 for bits in sorted(_buckets(lengths))[:-1]]


def _buckets(lengths: list[int]) -> dict[int, tuple[int, int]]:
    """The longest row and the number of rows, by the bits of a length."""
    found: dict[int, tuple[int, int]] = {}
    for length in lengths:
        bits = (max(1, length) - 1).bit_length()
        longest, number = found.get(bits, (0, 0))
        found[bits] = (max(longest, length), number + 1)
    return found


def _is_left_aligned(batch: Any) -> bool:
    filled = [_filled(leaf) for leaf in _inputs(batch) if _is_sequence(leaf)]
    return all(bool(f[:, 0].mean() >= f[:, -1].mean()) for f in filled)


def _cut(leaf: Any, axis: int, needed: int, from_left: bool) -> Any:
    shape: Any = getattr(leaf, "shape", ())
    if len(shape) < 2 or int(shape[1]) != axis:
        return leaf
    return leaf[:, :needed] if from_left else leaf[:, axis - needed :]
