"""The switches that make every compiled function of a process run op by op.

They are meant for debugging, and are left on. Both are public: `tf.config.run_functions_eagerly`
and `jax.disable_jit` (or JAX_DISABLE_JIT).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from fitdoctor.inside.ledger.callsite import Place, is_user_file


class Switch(NamedTuple):
    """A switch that is on."""

    name: str  # as it is written in a script
    turn: Callable[[bool], Any]  # True: functions compile


def eager_switch(backend: str) -> Switch | None:
    """The switch of this backend, where it is on; None where functions compile."""
    module = sys.modules.get(backend)
    if module is None:
        return None
    if backend == "tensorflow" and module.config.functions_run_eagerly():
        return Switch(
            "tf.config.run_functions_eagerly(True)",
            lambda on: module.config.run_functions_eagerly(not on),
        )
    if backend == "jax" and module.config.jax_disable_jit:
        return Switch("jax_disable_jit", lambda on: module.config.update("jax_disable_jit", not on))
    return None


def place_of_switch(switch: Switch) -> Place | None:
    """The first line of the user's loaded files that names it."""
    return place_of_word(switch.name)


def place_of_word(setting: str) -> Place | None:
    """The first line of the user's loaded files that makes a setting.

    The call is long over when a recording begins to ask, so its source is searched.

    Args:
        setting: as it is written: a call, its name, or `config.update("name", ...)`.
    """
    quoted = setting.split('"')
    name = quoted[1] if len(quoted) > 1 else setting.split(".")[-1].partition("(")[0]
    word = name.removeprefix("jax_")
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for file in sorted(f for f in files if f and f.endswith(".py") and is_user_file(f)):
        try:
            with open(file, encoding="utf-8", errors="replace") as source:
                lines = source.readlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if word in line.partition("#")[0]:
                return Place(os.path.abspath(file), number, "")
    return None
