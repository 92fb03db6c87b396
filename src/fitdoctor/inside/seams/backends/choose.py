"""The backend object for a name: the one place where it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.jax import JaxBackend
from fitdoctor.inside.seams.backends.tensorflow import TensorFlowBackend
from fitdoctor.inside.seams.backends.torch import TorchBackend

_MAKERS: dict[str, Callable[[], Backend]] = {
    "tensorflow": TensorFlowBackend,
    "jax": JaxBackend,
    "torch": TorchBackend,
}


def backend_named(name: str) -> Backend:
    """The backend that Keras runs on.

    A script that never imports Keras has none; then the first framework that it imported.
    """
    if name not in _MAKERS:
        name = next(one for one in _MAKERS if one in sys.modules)
    return _MAKERS[name]()
