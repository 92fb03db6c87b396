"""The functions of Keras that set the precision of all layers."""

from __future__ import annotations

PRECISION_SETTERS = ("set_dtype_policy", "set_global_policy")
