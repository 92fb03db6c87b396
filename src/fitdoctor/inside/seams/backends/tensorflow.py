"""TensorFlow: state, frozen batches and fresh loaders for the probes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.backends.model_state import state_variables
from fitdoctor.inside.seams.backends.randomness import snapshot_python
from fitdoctor.inside.seams.inputs.generators import (
    adapter_of,
    first_generator_batch,
    refuse_one_shot,
)
from fitdoctor.inside.seams.inputs.second_reader import enqueued_batches
from fitdoctor.inside.seams.models.traced_trials import GraphTrial
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

# Kernels that keep a random state of their own, which nobody can read or put back.
STATEFUL_RANDOM_OPS = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)


class TensorFlowBackend(Backend):
    """Keras on TensorFlow."""

    name = "tensorflow"

    def __init__(self) -> None:
        self.tf = sys.modules["tensorflow"]
        # Set by the trace watch when a step was traced that draws from a kernel's own state.
        self.stateful_random_step = False

    def snapshot(self, model: Any) -> Callable[[], None]:
        """Copy the model's variables and TensorFlow's eager seed counter."""
        values = [
            (variable, self.tf.identity(variable.value)) for variable in state_variables(model)
        ]
        context = sys.modules["tensorflow.python.eager.context"].context()
        seed_counter = getattr(context, "_rng", None)
        seed_state = seed_counter.getstate() if seed_counter is not None else None
        restore_python = snapshot_python()

        def restore() -> None:
            for variable, value in values:
                variable.assign(value)
            if seed_counter is not None:
                seed_counter.setstate(seed_state)
            restore_python()

        return restore

    def why_not_restorable(self) -> str | None:
        """A kernel with its own random state has moved on for good after a step."""
        if self.stateful_random_step:
            return (
                "the training step uses a stateful random op (tf.random.*), "
                "whose state cannot be put back"
            )
        return None

    def frozen_batch(self, call: Call, arguments: tuple[Any, ...], *, may_consume: bool) -> Any:
        """A batch of the running iterator if it may be consumed, else of a fresh one."""
        first = first_generator_batch(call)
        if first is not None:
            return self.as_tensors(first)
        live = arguments[0] if arguments else None
        if may_consume and isinstance(live, self.tf.data.Iterator):
            try:
                return next(live)
            except StopIteration:
                pass  # the epoch has just ended; a fresh pass gives a batch as well
        return next(self.fresh_loader(call))

    def as_tensors(self, batch: Any) -> Any:
        return batches.map_leaves(self.tf.convert_to_tensor, batch)

    def stepper(self, call: Call, function: Callable[..., Any], batch: Any, result: Any) -> Stepper:
        """The compiled step on an endless dataset of one batch with the user's own element spec."""
        batch = batches.as_tuples(batch)
        dataset = endless(self.tf, batch, self._element_spec(call, batch))
        return _DatasetStepper(function, iter(dataset))

    def live_stepper(self, call: Call, function: Callable[..., Any], result: Any) -> Stepper:
        self.fresh_loader(call)  # says why, where there is none
        return _DatasetStepper(function, iter(call.epoch_iterator._distributed_dataset.repeat()))

    def _element_spec(self, call: Call, batch: Any) -> Any:
        """The running dataset's spec, so that the compiled step is not traced again."""
        dataset = getattr(call.epoch_iterator, "_distributed_dataset", None)
        spec = getattr(dataset, "element_spec", None)
        own = self.tf.nest.map_structure(self.tf.type_spec_from_value, batch)
        if spec is None:
            return own
        try:
            fits = all(
                user.is_compatible_with(mine)
                for user, mine in zip(
                    self.tf.nest.flatten(spec), self.tf.nest.flatten(own), strict=True
                )
            )
        except (AttributeError, ValueError):
            fits = False
        return spec if fits else own

    def fresh_loader(self, call: Call) -> Iterator[Any]:
        """A new, endless iterator of the dataset that Keras made of the user's data.

        One that repeats inside TensorFlow: letting go of an iterator per pass may take half a
        second each, and keeping them all exhausts the threads (short passes hung for minutes).
        """
        refuse_one_shot(call)
        dataset = getattr(call.epoch_iterator, "_distributed_dataset", None)
        if dataset is None or not isinstance(dataset, self.tf.data.Dataset):
            raise NotAvailable("the data is distributed by a tf.distribute strategy")
        queued = enqueued_batches(adapter_of(call))
        return queued if queued is not None else iter(dataset.repeat())

    def widen(self, batch: Any, times: int) -> Any:
        return batches.map_leaves(lambda leaf: self.tf.concat([leaf] * times, axis=0), batch)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return GraphTrial(self.tf, function)

    def wait_for(self, value: Any) -> None:
        """TensorFlow's eager calls on a CPU return when they are done."""
        for leaf in batches.leaves(value):
            if hasattr(leaf, "numpy"):
                leaf.numpy()


class _DatasetStepper:
    def __init__(self, function: Callable[..., Any], iterator: Any) -> None:
        self._function = function
        self._iterator = iterator
        self.logs: Any = None

    def step(self) -> None:
        self.logs = self._function(self._iterator)

    def synchronize(self) -> None:
        # Reading one number waits for the whole step that made it.
        for leaf in batches.leaves(self.logs)[:1]:
            if hasattr(leaf, "numpy"):
                leaf.numpy()


def endless(tf: Any, batch: Any, spec: Any) -> Any:
    """The batch forever; no shape is better known than in `spec`, so that nothing is traced again.

    Not from a generator: at the first one TensorFlow tells malloc, for the whole process, to give
    every large buffer back at once. Reading small files after that took 2.4 times as long.
    """
    tensors, wanted = tf.nest.flatten(batch), tf.nest.flatten(spec)
    plain = all(isinstance(one, tf.TensorSpec) for one in wanted)
    if not plain or not all(tf.is_tensor(one) for one in tensors):
        made = tf.data.Dataset.from_generator(lambda: iter([batch]), output_signature=spec)
        return made.cache().repeat()

    def with_spec(*values: Any) -> Any:
        # The op is for this: a value whose shape is known only as far as it says.
        relaxed = [
            tf.raw_ops.PlaceholderWithDefault(input=value, shape=one.shape)
            for value, one in zip(values, wanted, strict=True)
        ]
        return tf.nest.pack_sequence_as(spec, relaxed)

    return tf.data.Dataset.from_tensors(tuple(tensors)).map(with_spec).cache().repeat()
