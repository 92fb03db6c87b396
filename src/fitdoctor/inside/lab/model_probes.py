"""Experiments with the model itself: its layers, and copies of it with one thing changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.apparatus import loop_steps
from fitdoctor.inside.lab.apparatus.changed_steps import Copies, step_under
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.probes import layers, machine_ceiling
from fitdoctor.inside.lab.probes.frozen_layers import frozen_layers, has_frozen_layers
from fitdoctor.inside.lab.probes.repeated_calls import MANY_CALLS, one_call_instead
from fitdoctor.inside.lab.probes.vectorised_maps import vectorised_maps
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device import device_facts
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.clones import Change, output_layers
from fitdoctor.inside.seams.models.contexts import (
    Context,
    as_native_operations,
    in_float32,
    in_policy,
    with_optimizer,
    without_metrics,
    without_recurrent_dropout,
)
from fitdoctor.inside.seams.models.optimizer_update import optimizer_update

Probe = Callable[[str, Callable[[], Data]], Data | None]

# Layers are timed only where a step is long enough for eager calls to tell.
LAYER_STEP_NS = 3_000_000
USERS_STEP_NS = {"tensorflow": 1_000_000, "jax": 200_000, "torch": 1_000_000}
LAYER_PART = 4  # layers are timed on the whole batch and on this fraction of it
# Metrics cost at most a few milliseconds; on longer steps they are no cause.
METRICS_STEP_NS = 30_000_000
LARGE_TABLE = 1_000_000
# Half precision speeds up arithmetic; shorter steps have little of it.
PRECISION_STEP_NS = 3_000_000
# A layer below half of the layers' time is not what a step waits for.
DOMINANT_SHARE = 0.5
# A backward pass takes about twice the forward one.
BACKWARD = 3.0
LOW_PRECISION = ("float16", "bfloat16")


class ModelExamination:
    """What a change of the model or its settings would give, tried where there is a suspicion."""

    def __init__(
        self,
        probe: Probe,
        backend: Backend,
        call: Call,
        batch: Any,
        result: Any,
        compiled_with: dict[str, Any] | None,
    ) -> None:
        """`result` is the last step's, while a fit is still running."""
        self._probe = probe
        self._backend = backend
        self._call = call
        self._batch = batch
        self._result = result
        self._compiled_with = compiled_with
        self._copies: Copies | None = None

    def run(self, step_ns: float, *, at_ceiling: bool) -> None:
        """Time the layers, then try what they and the settings make worth trying."""
        model = self._call.model
        rows: list[Data] = []
        if step_ns >= self._shortest_step():
            data = self._probe("layers", self._layers)
            rows = data["layers"] if data else []
            if rows:
                self._probe(
                    "machine_ceiling", lambda: machine_ceiling.machine_ceiling(self._backend)
                )
                self._probe("optimizer_update", self._optimizer_update)
                self._try_one_call(rows)
                self._try_native(rows)
            if self._users_loss() or any(row.get("loops") and row["is_user"] for row in rows):
                self._probe("step_vectorised", self._vectorised)
        if model.jit_compile is True and self._backend.name != "jax":
            self._probe("jit_off", self._without_jit)
        if _is_low_precision(model):
            self._try_under("float32", in_float32)
        elif step_ns >= PRECISION_STEP_NS and device_facts(self._backend.name)["kind"] == "gpu":
            self._try_under("bfloat16", lambda model: in_policy(model, "mixed_bfloat16"))
        self._try_optimizer()
        metrics = (self._compiled_with or {}).get("metrics")
        # Keras's own metrics cost little beside a long step; the user's may cost anything.
        if metrics and (step_ns < METRICS_STEP_NS or _any_users_metric(metrics)):
            self._try_under("without_metrics", without_metrics)
        unrolled = [layer for layer in all_layers(model) if getattr(layer, "unroll", False)]
        if unrolled:
            types = sorted({type(layer).__name__ for layer in unrolled})
            self._probe("unrolled", lambda: {"types": types})
            self._try("rolled", Change(layer=_rolled))
        dropping = [one for one in all_layers(model) if getattr(one, "recurrent_dropout", 0)]
        if dropping:
            # A layer's cell was made by the layer, not by a call of the user's.
            cells = [getattr(one, "cell", None) for one in dropping]
            made = [one for one in dropping if not any(one is cell for cell in cells)]
            dropping_types = sorted({type(layer).__name__ for layer in made})
            self._probe("recurrent_dropout", lambda: {"types": dropping_types})
            self._try_under("fused", without_recurrent_dropout)
        self._try_layers(rows, at_ceiling=at_ceiling)
        if step_ns >= LAYER_STEP_NS and has_frozen_layers(model):
            self._probe("frozen_layers", self._frozen_layers)

    def _shortest_step(self) -> float:
        """Steps from which on layers are timed: shorter where the user wrote some of them.

        Keras's own layers in so short a step cost less than starting it.
        """
        inner = [layer for layer in all_layers(self._call.model) if not _has_layers(layer)]
        if not any(_is_users(layer) for layer in inner):
            return LAYER_STEP_NS
        return USERS_STEP_NS[self._backend.name]

    def _try_one_call(self, rows: list[Data]) -> None:
        """A layer called again and again, on torch, where every call starts its operations."""
        often = [row for row in rows if row["calls"] >= MANY_CALLS and not row["is_model"]]
        if self._backend.name != "torch" or not often:
            return
        name = max(often, key=_cost)["name"]
        layer = next((one for one in all_layers(self._call.model) if one.name == name), None)
        if layer is not None:
            forward = self._forward(self._batch)
            self._probe(
                "one_call",
                lambda: one_call_instead(self._backend, layer, forward, self._values()),
            )

    def _try_native(self, rows: list[Data]) -> None:
        """A layer that leaves for Python, as some operations of the framework instead."""
        hosts = [row for row in rows if row.get("host_ops") and row["input"] == row["output"]]
        if not hosts:
            return
        name = max(hosts, key=_cost)["name"]
        layer = next((one for one in all_layers(self._call.model) if one.name == name), None)
        if layer is not None:
            self._try_under("native", lambda _: as_native_operations(layer))

    def _try_optimizer(self) -> None:
        tables = [
            layer
            for layer in all_layers(self._call.model)
            if type(layer).__name__ == "Embedding" and layer.count_params() >= LARGE_TABLE
        ]
        optimizer = type(getattr(self._call.model, "optimizer", None)).__name__
        if tables and optimizer != "SGD":
            self._try_under("sgd", lambda model: with_optimizer(model, "sgd"))

    def _try_layers(self, rows: list[Data], *, at_ceiling: bool) -> None:
        whole = sum(float(row["ns"]) for row in rows)
        if not any(_cost(row) for row in rows):
            return
        if any(row["settings"].get("groups", 1) > 1 and row["ns"] > 0.2 * whole for row in rows):
            self._try("ungrouped", Change(layer=_ungrouped))
            return
        found = dominant(rows)
        if found is None:
            return
        top, share = found
        fixed = output_layers(self._call.model)
        if not at_ceiling or share < DOMINANT_SHARE or top["name"] in fixed:
            return
        for name, factor in (("half", 2), ("quarter", 4)):
            self._try(name, Change(layer=_narrowed(str(top["name"]), factor)))
        if top["type"] == "LSTM":
            self._try("gru", Change(layer=_as_gru))

    def _try_under(self, name: str, make: Callable[[Any], Context]) -> None:
        """Time the user's own model with something changed that needs no other layers."""
        if self._call.executions != 1:
            return  # a step function of several steps is another thing to compare with
        self._probe(
            f"step_{name}",
            lambda: step_under(self._backend, self._call, self._batch, self._result, make),
        )

    def _try(self, name: str, change: Change) -> None:
        """Time a changed copy; before the first one an unchanged copy."""
        if self._copies is None:
            # A copy is made from the optimizer's settings, which are variables as well.
            self._backend.hold_state(self._call.model, self._result)
            compiled_with = self._compiled_with or {"loss": getattr(self._call.model, "loss", None)}
            copies = Copies(self._backend, self._call.model, compiled_with, self._batch)
            self._probe("copy_as_is", copies.as_is)
            self._copies = copies
        copies = self._copies
        self._probe(f"copy_{name}", lambda: copies.changed(change))

    def _without_jit(self) -> Data:
        return loop_steps.trial(
            self._backend, self._call, self._batch, self._result, jit_compile=False
        )

    def _layers(self) -> Data:
        rows = self._backend.rows(self._batch)
        size = rows // LAYER_PART if rows is not None else 0
        part = self._forward(self._backend.cut(self._batch, size)) if size else None
        share = size / rows if rows else 0.0
        return layers.layer_costs(
            self._backend,
            self._call.model,
            self._forward(self._batch),
            part,
            share,
            self._values(),
        )

    def _optimizer_update(self) -> Data:
        model = self._call.model
        values = self._values()
        if values and len(self._result[1]) > 2:
            # The third part of the state is the optimizer's.
            slots = zip(model.optimizer.variables, self._result[1][2], strict=False)
            values.update((id(variable), value) for variable, value in slots)
        update = optimizer_update(self._backend.name, model, values)
        return layers.timed_alone(self._backend, update)

    def _values(self) -> dict[int, Any]:
        """On JAX the state of a running fit is in its last result, not in the variables."""
        model = self._call.model
        if self._backend.name != "jax" or not isinstance(self._result, tuple):
            return {}
        state = self._result[1]
        pairs = [
            *zip(model.trainable_variables, state[0], strict=False),
            *zip(model.non_trainable_variables, state[1], strict=False),
        ]
        return {id(variable): value for variable, value in pairs}

    def _frozen_layers(self) -> Data:
        # A model of the same layers reads their variables, which JAX keeps elsewhere during a fit.
        self._backend.hold_state(self._call.model, self._result)
        model = self._call.model
        loss = (self._compiled_with or {}).get("loss") or getattr(model, "loss", None)
        return frozen_layers(model, self._batch, loss)

    def _vectorised(self) -> Data:
        forward = self._forward(self._batch)
        if self._users_loss():
            forward = self._with_loss(forward)
        return vectorised_maps(self._backend, self._call, self._batch, self._result, forward)

    def _users_loss(self) -> bool:
        """Whether the model is compiled with a loss of the user's own."""
        losses = (self._compiled_with or {}).get("loss") or getattr(self._call.model, "loss", None)
        return any(_is_users_code(one, "call") for one in batches.leaves(losses))

    def _with_loss(self, forward: Callable[[], Any]) -> Callable[[], Any]:
        """What the forward pass gives, and the loss of it."""
        model = self._call.model
        x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(self._batch)

        def both() -> Any:
            predicted = forward()
            return [predicted, model.compute_loss(x, y, predicted, weight)]

        return both

    def _forward(self, batch: Any) -> Callable[[], Any]:
        """The model's forward pass on a batch; on JAX with the state of the running fit."""
        model = self._call.model
        x, _, _ = sys.modules["keras"].utils.unpack_x_y_sample_weight(batch)
        if self._backend.name == "jax" and isinstance(self._result, tuple):
            trainable, fixed = self._result[1][0], self._result[1][1]
            return lambda: model.stateless_call(trainable, fixed, x)[0]
        return lambda: model(x, training=False)


def dominant(rows: list[Data]) -> tuple[Data, float] | None:
    """The layer that costs most, and its share of all of them.

    What lies inside a layer that was timed alone is in that one's time already.
    """
    alone = {row["name"] for row in rows if row.get("alone")}
    outer = [row for row in rows if not row["is_model"] and row["inside"] not in alone]
    top = max(outer, key=_cost, default=None)
    if top is None:
        return None
    return top, _cost(top) / max(1.0, sum(_cost(row) for row in outer))


def _cost(row: Data) -> float:
    """A layer's forward and backward time alone where it was timed, else three forward passes."""
    times = sorted(row["alone"]["ns"]) if row.get("alone") else []
    if not times:
        return BACKWARD * float(row["ns"])
    return float(times[len(times) // 2]) * int(row["calls"])


def _any_users_metric(metrics: Any) -> bool:
    """Whether one of them is a class or a function of the user's own."""
    return any(_is_users_code(metric, "update_state") for metric in batches.leaves(metrics))


def _is_users_code(given: Any, method: str) -> bool:
    """Whether a function, or this method of an object, is written by the user."""
    code = getattr(getattr(type(given), method, given), "__code__", None)
    return code is not None and is_user_file(code.co_filename)


def _is_users(layer: Any) -> bool:
    module = sys.modules.get(type(layer).__module__)
    file = getattr(module, "__file__", None)
    return file is not None and is_user_file(file)


def _has_layers(layer: Any) -> bool:
    return bool(getattr(layer, "layers", None))


def _is_low_precision(model: Any) -> bool:
    policies = [getattr(layer, "dtype_policy", None) for layer in all_layers(model)]
    return any(getattr(policy, "compute_dtype", "") in LOW_PRECISION for policy in policies)


def _rolled(layer: Any) -> Any:
    if not getattr(layer, "unroll", False):
        return None
    return type(layer).from_config({**layer.get_config(), "unroll": False})


def _ungrouped(layer: Any) -> Any:
    if getattr(layer, "groups", 1) in (None, 1):
        return None
    return type(layer).from_config({**layer.get_config(), "groups": 1})


def _narrowed(name: str, factor: int) -> Callable[[Any], Any]:
    def narrow(layer: Any) -> Any:
        if layer.name != name:
            return None
        config = layer.get_config()
        for width in ("units", "filters"):
            if isinstance(config.get(width), int):
                return type(layer).from_config({**config, width: max(1, config[width] // factor)})
        return None

    return narrow


def _as_gru(layer: Any) -> Any:
    if type(layer).__name__ != "LSTM":
        return None
    config = layer.get_config()
    kept = ("name", "units", "return_sequences", "go_backwards", "dropout", "recurrent_dropout")
    return sys.modules["keras"].layers.GRU(**{key: config[key] for key in kept if key in config})
