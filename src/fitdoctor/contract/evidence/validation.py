"""Validation passes in other shapes."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.codec import Digits
from fitdoctor.contract.places import CallLine
from fitdoctor.contract.results import result


@result("validation_batches")
@dataclass(frozen=True)
class ValidationBatches:
    """A pass over the validation data at larger batch sizes: nanoseconds by size."""

    rows: int
    batch_size: int
    ns: dict[Digits, int] = field(default_factory=dict)
    loader: bool = False
    made: CallLine | None = None


@result("validation_passes")
@dataclass(frozen=True)
class ValidationPasses:
    """The batches of one pass, and the steps that each validation takes."""

    steps: int
    batches: int
