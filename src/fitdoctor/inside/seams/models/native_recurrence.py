"""Recurrent layers of Keras computed by torch's own kernel, with the same weights.

Off a GPU, Keras on torch runs a recurrence step by step: some ten operations for every position of
a sequence. `torch.lstm` and `torch.gru` do the whole sequence in one call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.contexts import Context, attribute

KINDS = ("LSTM", "GRU")


def replaceable(model: Any) -> list[Any]:
    """The layers that torch's kernel computes the same way."""
    return [layer for layer in all_layers(model) if _is_replaceable(layer)]


def with_native_recurrence(model: Any) -> Context:
    """While it is open, these layers run torch's kernel."""
    layers = replaceable(model)

    @contextmanager
    def changed() -> Iterator[None]:
        with ExitStack() as stack:
            for layer in layers:
                stack.enter_context(attribute(layer, "inner_loop", _inner_loop(layer)))
            yield

    return changed


def _is_replaceable(layer: Any) -> bool:
    kind = type(layer)
    if kind.__name__ not in KINDS or not kind.__module__.startswith("keras."):
        return False
    if getattr(layer, "recurrent_dropout", 0) or getattr(layer, "unroll", False):
        return False
    cell = layer.cell
    names = [getattr(one, "__name__", "") for one in (cell.activation, cell.recurrent_activation)]
    return names == ["tanh", "sigmoid"] and getattr(cell, "reset_after", True)


def _inner_loop(layer: Any) -> Callable[..., Any]:
    torch = sys.modules["torch"]
    own = layer.inner_loop

    def inner_loop(sequences: Any, initial_state: Any, mask: Any, training: bool = False) -> Any:
        if mask is not None and any(one is not None for one in _leaves(mask)):
            return own(sequences, initial_state, mask, training=training)
        if training and layer.dropout:
            kept = layer.cell.get_dropout_mask(sequences[:, 0, :])
            sequences = sequences * kept.unsqueeze(1)
        if layer.go_backwards:
            sequences = torch.flip(sequences, dims=[1])
        state = [one.unsqueeze(0) for one in _leaves(initial_state)]
        outputs, states = _computed(torch, layer, sequences, state)
        last = outputs[:, -1]
        return last, outputs if layer.return_sequences else last.unsqueeze(1), states

    return inner_loop


def _computed(torch: Any, layer: Any, sequences: Any, state: list[Any]) -> tuple[Any, list[Any]]:
    is_training = torch.is_grad_enabled()
    settings = (True, 1, 0.0, is_training, False, True)
    if type(layer).__name__ == "LSTM":
        outputs, h, c = torch._VF.lstm(sequences, tuple(state), _lstm_weights(layer), *settings)
        return outputs, [h.squeeze(0), c.squeeze(0)]
    outputs, h = torch._VF.gru(sequences, state[0], _gru_weights(torch, layer), *settings)
    return outputs, [h.squeeze(0)]


def _lstm_weights(layer: Any) -> list[Any]:
    """The gates come in the same order in both."""
    cell = layer.cell
    kernel, recurrent = cell.kernel.value.t(), cell.recurrent_kernel.value.t()
    bias = cell.bias.value if cell.bias is not None else kernel.new_zeros(kernel.shape[0])
    return [kernel, recurrent, bias, bias.new_zeros(bias.shape)]


def _gru_weights(torch: Any, layer: Any) -> list[Any]:
    """Keras has update, reset, new; torch has reset, update, new."""
    cell = layer.cell

    def ordered(weights: Any) -> Any:
        update, reset, new = weights.chunk(3, dim=-1)
        return torch.cat([reset, update, new], dim=-1)

    kernel = ordered(cell.kernel.value).t()
    recurrent = ordered(cell.recurrent_kernel.value).t()
    if cell.bias is None:
        zeros = kernel.new_zeros(kernel.shape[0])
        return [kernel, recurrent, zeros, zeros]
    inputs, state = cell.bias.value
    return [kernel, recurrent, ordered(inputs), ordered(state)]


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
