"""Other ways to make the same call: what predict_on_batch or train_on_batch would cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.contract.evidence.loop import CallAlternatives
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe, Subject
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend

SECONDS = 1.2
WARM_UP_CALLS = 3


class AlternativesProbe(Probe[CallAlternatives]):
    phase = Phase.CALLS
    subjects = frozenset({Subject.GROUP})

    def run(self, context: Context) -> CallAlternatives:
        backend, call = context.backend, context.fit
        others = _alternatives(backend, call)
        return CallAlternatives(
            same=_timed(backend, _same(call)),
            alternatives={name: _timed(backend, one) for name, one in others.items()},
        )


def _same(call: Call) -> Callable[[], Any]:
    method = getattr(call.model, call.kind)
    arguments = {k: v for k, v in call.arguments.items() if not k.startswith("_")}
    # A repetition for timing must not run the user's callbacks a second time.
    arguments.pop("callbacks", None)
    return lambda: method(**arguments)


def _alternatives(backend: Backend, call: Call) -> dict[str, Callable[[], Any]]:
    model, arguments = call.model, call.arguments
    x, y = arguments.get("x"), arguments.get("y")
    weight = arguments.get("sample_weight")
    if call.kind == "predict":
        found: dict[str, Callable[[], Any]] = {
            "predict_on_batch": lambda: model.predict_on_batch(x)
        }
        if backend.name != "jax":
            # Eager layers on JAX are slower than predict itself.
            found["model(x, training=False)"] = lambda: model(x, training=False)
        return found
    if call.kind == "fit":
        return {"train_on_batch": lambda: model.train_on_batch(x, y, sample_weight=weight)}
    if call.kind == "evaluate":
        return {"test_on_batch": lambda: model.test_on_batch(x, y, sample_weight=weight)}
    return {}


def _timed(backend: Backend, function: Callable[[], Any]) -> Timed:
    def work() -> None:
        backend.wait_for(function())

    for _ in range(WARM_UP_CALLS):
        work()
    return measure(work, seconds=SECONDS).timed()
