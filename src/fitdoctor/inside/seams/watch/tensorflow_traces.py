"""Every trace of a tf.function: how long, of what, and which argument made it necessary."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.contract.records import EventDetail
from fitdoctor.inside.ledger.callsite import is_user_file, user_place
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends.tensorflow import STATEFUL_RANDOM_OPS

TRACING_MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_MAX_TEXT = 400
_TENSOR = "TensorSpec"


class TraceWatch:
    """Records traces with the cause: the parameter whose type differs from the last trace."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._depth = 0
        self._last: dict[tuple[str, int, int], tuple[int, dict[str, str]]] = {}
        self.stateful_random_step = False

    def watch(self, module: ModuleType) -> None:
        """Patch the one place where all traces are made."""
        self._recorder.patches.replace(module, "_create_concrete_function", self._traced)

    def _traced(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def create(function_type: Any, type_context: Any, func_graph: Any, options: Any) -> Any:
            begin = self._recorder.clock()
            self._depth += 1
            try:
                concrete = original(function_type, type_context, func_graph, options)
            finally:
                self._depth -= 1
            if not self._recorder.suspended:
                self._note(function_type, options, begin, concrete)
            return concrete

        return create

    def _note(self, function_type: Any, options: Any, begin: int, concrete: Any) -> None:
        if self._is_step(str(options.name)) and _draws_random(concrete):
            self.stateful_random_step = True
        if self._depth:
            return  # inside another trace, whose time contains this one's
        file, line = _place_of(options.python_function)
        call = self._recorder.active_call()
        key = (file, line, self._recorder.model_number(call.model) if call is not None else 0)
        parameters = {name: str(p)[:_MAX_TEXT] for name, p in function_type.parameters.items()}
        count, previous = self._last.get(key, (0, {}))
        self._last[key] = (count + 1, parameters)
        place = user_place(3)
        detail = EventDetail(
            name=str(options.name),
            file=file,
            line=line,
            is_user=is_user_file(file),
            called_from=place[:2] if place else None,
            count=count + 1,
            changed=_changed(previous, parameters) if count else None,
            shapes=tuple(text for text in parameters.values() if _TENSOR in text),
            model=key[2],
        )
        self._recorder.event("trace", begin, self._recorder.clock() - begin, detail)

    def _is_step(self, name: str) -> bool:
        """Input pipelines and initialisers are traced inside a fit too, but are not its step."""
        if self._recorder.active_call() is None:
            return False
        return not name.startswith(("Dataset_", "initialize_variables"))


def _changed(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """The parameters that differ from the last trace, as "name: before -> now"."""
    return tuple(
        f"{before.get(name, 'absent')} -> {text.split(': ', 1)[-1]}"
        for name, text in now.items()
        if before.get(name) != text
    )


def _place_of(function: Any) -> tuple[str, int]:
    """Where the traced Python function is written, under TensorFlow's wrappers."""
    while getattr(function, "__wrapped__", None) is not None:
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("unknown", 0)


def _draws_random(concrete: Any) -> bool:
    """Whether a traced graph holds an op with a random state of its own."""
    graph = getattr(concrete, "graph", None)
    operations = graph.get_operations() if graph is not None else ()
    return any(operation.type in STATEFUL_RANDOM_OPS for operation in operations)
