"""The model itself: its layers, and the step with one thing of it changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.evidence.timing import Timed, TimedBeside
from fitdoctor.contract.places import CallLine
from fitdoctor.contract.results import result


@dataclass(frozen=True, kw_only=True)
class LayerTime:
    """One layer on the frozen batch."""

    name: str
    type: str
    ns: int  # forward, all its calls
    calls: int = 1
    inside: str | None = None  # the outermost layer, not model, that holds it
    is_model: bool = False
    is_user: bool = False
    file: str | None = None
    line: int | None = None
    parameters: int | None = None
    flops: float | None = None
    bytes: float | None = None
    input: tuple[int, ...] | None = None
    output: tuple[int, ...] | None = None
    settings: dict[str, bool | int | float] = field(default_factory=dict)
    alone: Timed | None = None  # one call, forward and backward, compiled
    alone_reason: str | None = None  # why it was not timed alone
    backward: bool = False
    host_ops: int = 0
    loops: int = 0


@result("layers")
@dataclass(frozen=True)
class Layers:
    """All layers, the costliest forward pass first."""

    layers: tuple[LayerTime, ...] = ()
    without_fixed_price: bool = False


@result("model_work")
@dataclass(frozen=True)
class ModelWork:
    """The arithmetic of one forward pass, from the shapes of all layers."""

    flops: float
    bytes: float
    dtype: str  # that most of it is computed in


@result("machine_ceiling")
@dataclass(frozen=True)
class MachineCeiling:
    """What this machine can do at best."""

    flops_per_s: float  # matrix product, float32
    bytes_per_s: float
    conv_flops_per_s: float | None = None
    op_start_ns: float | None = None
    by_dtype: dict[str, float] = field(default_factory=dict)


@result("optimizer_update")
@dataclass(frozen=True, kw_only=True)
class OptimizerUpdate(Timed):
    """The optimizer's update of all weights by itself."""


@result("one_call")
@dataclass(frozen=True, kw_only=True)
class OneCall(Timed):
    """A layer called once on all the inputs of its many calls."""

    layer: str
    calls: int


@result("step", keyed=True)
@dataclass(frozen=True, kw_only=True)
class ChangedStep(TimedBeside):
    """The user's own model with one thing (the key) changed for a while."""


@result("plain_loss")
@dataclass(frozen=True, kw_only=True)
class PlainLoss(TimedBeside):
    """The step with the mean square of the outputs in the place of the user's own loss."""

    output_bytes: int  # that the loss gets from the model
    function: str
    file: str | None = None
    line: int | None = None


@result("step_vectorised")
@dataclass(frozen=True, kw_only=True)
class VectorisedStep(TimedBeside):
    """The step with every map over rows done on all rows at once."""

    calls: tuple[CallLine, ...] = ()


@result("copy", keyed=True)
@dataclass(frozen=True, kw_only=True)
class ChangedCopy(TimedBeside):
    """A copy of the model with one thing (the key) changed; `as_is` is the unchanged copy."""

    parameters: int | None = None


@result("unrolled")
@dataclass(frozen=True)
class UnrolledLayers:
    """Layers whose time loop is unrolled."""

    types: tuple[str, ...] = ()


@result("recurrent_dropout")
@dataclass(frozen=True)
class RecurrentDropout:
    """Layers with recurrent dropout."""

    types: tuple[str, ...] = ()


@result("other_activations")
@dataclass(frozen=True)
class OtherActivations:
    """Recurrent layers with activations that no fused kernel has, and the keywords they are in."""

    types: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


@result("frozen_layers")
@dataclass(frozen=True, kw_only=True)
class WithoutFrozenLayers(Timed):
    """A step without the frozen layers at the model's input."""

    layers: tuple[str, ...] = ()
    parameters: int = 0
    behind: str = ""  # the first layer that is left


@result("padding")
@dataclass(frozen=True, kw_only=True)
class Padding:
    """How long sequences really are, and the step at the length they need."""

    length: int
    real: float
    rows: int
    bucketed: int
    boundaries: tuple[int, ...] = ()
    cut: Timed | None = None
    has_fixed_length: bool = False  # the model takes no shorter batch, so that none was tried
