"""What a hand-written loop iterates: described, and read again without touching the loop's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.seams.inputs import tf_stages
from fitdoctor.inside.seams.inputs.data_loader import loader_of
from fitdoctor.inside.seams.inputs.describe import describe_data_loader
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.not_available import NotAvailable


def describe_loop_source(loop: Loop) -> InputFacts:
    """The kind of loader that a loop reads, with its stages or settings."""
    source = loop_source(loop)
    if loop.marker == "tf.data":
        return InputFacts("tf.data", stages=tf_stages.stages(source))
    return describe_data_loader(source)


def fresh_loop_source(loop: Loop) -> Iterator[Any]:
    """A new pass over the loop's data; over a tf.data dataset an endless one, see the backend."""
    source = loop_source(loop)
    if loop.marker == "tf.data" and one_shot_source(source):
        raise NotAvailable(
            "the generator of the dataset can be read only once, so it was not read alone"
        )
    return iter(source.repeat() if loop.marker == "tf.data" else source)


def loop_source(loop: Loop) -> Any:
    """The tf.data dataset or the DataLoader that a loop iterates.

    Raises:
        NotAvailable: it cannot be seen.
    """
    iterator = loop.loader
    source = iterator._dataset if loop.marker == "tf.data" else loader_of(iterator)
    if source is None:
        raise NotAvailable("the loop has no loader that could be seen")
    return source
