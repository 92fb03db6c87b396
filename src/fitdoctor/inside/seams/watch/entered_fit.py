"""A fit that was entered before anything was watched: what it was called with.

`model.fit(x, callbacks=[fitdoctor.Watch()])` looks `fit` up before the callback exists, so no patch
of ours sees the call. Keras holds the arguments, and the iterator it made of them, in the frame of
`Trainer.fit`, which calls the callback.
"""

from __future__ import annotations

import sys
from typing import Any

# Names in the frame of every backend's `Trainer.fit`.
METHOD = "fit"
ITERATOR = "epoch_iterator"
ARGUMENTS = (
    "x",
    "y",
    "batch_size",
    "epochs",
    "sample_weight",
    "class_weight",
    "validation_data",
    "validation_freq",
    "shuffle",
    "steps_per_epoch",
)
# Between our hook and `fit` lie the callback list and decorators of Keras.
MOST_FRAMES = 20


def entered_fit(model: Any) -> tuple[dict[str, Any], Any]:
    """The arguments of the fit of this model that is running, and its iterator.

    Empty and None where it cannot be seen: then nothing is known about the data.
    """
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame.f_code.co_name == METHOD and frame.f_locals.get("self") is model:
            names = frame.f_locals
            given = {name: names[name] for name in ARGUMENTS if names.get(name) is not None}
            return given, names.get(ITERATOR)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return {}, None
