"""JAX's profiler: thunks of XLA, mapped to layers by the metadata of the compiled program."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.kernels import on_device
from fitdoctor.inside.seams.operations.profile import Operation, Profile
from fitdoctor.inside.seams.operations.quiet_start import quiet_start
from fitdoctor.inside.seams.operations.spans import Span

MARK = "fitdoctor steps"
DEVICE, STREAM = "/device:GPU", "Stream"
CUDA_GRAPH = "command_buffer"
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = .*?op_name=\"([^\"]*)\"", re.MULTILINE)
_WRAPPED = re.compile(r"^(?:\w+\()+(.*?)\)+$")
_NUMBER = re.compile(r"\.\d+$")
# A loop waits for the thunks of its body, which are there as well.
_CALLS = ("while", "call", "conditional")


def profiled(run: Callable[[], None]) -> Profile:
    """Run under JAX's profiler, without its Python tracer, which would swamp the rest."""
    jax = sys.modules["jax"]
    if not hasattr(jax.profiler, "ProfileData") or not hasattr(jax.profiler, "ProfileOptions"):
        raise NotAvailable("this version of JAX cannot read its own profiles")
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level, options.host_tracer_level = 0, 2
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        with quiet_start():
            jax.profiler.start_trace(folder, profiler_options=options)
        try:
            with jax.profiler.TraceAnnotation(MARK):
                run()
        finally:
            with quiet_start():
                jax.profiler.stop_trace()
        paths = list(Path(folder).rglob("*.xplane.pb"))
        if not paths:
            raise NotAvailable("JAX wrote no profile")
        data = jax.profiler.ProfileData.from_file(str(paths[0]))
        return read(data, names_in(jax))


def names_in(jax: Any) -> Callable[[str, set[str]], Mapping[str, str]]:
    """The names that the instructions of a compiled program were traced under."""

    def names(module: str, instructions: set[str]) -> Mapping[str, str]:
        best: dict[str, str] = {}
        for executable in jax.devices()[0].client.live_executables():
            for one in executable.hlo_modules():
                if one.name != module:
                    continue
                found = op_names(one.to_string())
                if _matches(instructions, found) > _matches(instructions, best):
                    best = found
        return best

    return names


def _matches(seen: set[str], program: Mapping[str, str]) -> int:
    return sum(name in seen or as_kernel(name) in seen for name in program)


def op_names(hlo: str) -> dict[str, str]:
    """By instruction, the name in a program's text.

    Example:
        >>> op_names('  %dot.1 = f32[2] dot(%a), metadata={op_name="jit(f)/jvp(dense)/dot"}')
        {'dot.1': 'jit(f)/jvp(dense)/dot'}
    """
    return {found[1]: found[2] for found in _INSTRUCTION.finditer(hlo)}


def read(data: Any, names: Callable[[str, set[str]], Mapping[str, str]]) -> Profile:
    """The thunks on the host's threads, with the steps' begin and end."""
    events = [_thunks(line) for plane in data.planes for line in _host_lines(plane)]
    module = _most_common(stats["hlo_module"] for thread in events for *_, stats in thread if stats)
    instructions = {str(stats["hlo_op"]) for thread in events for *_, stats in thread if stats}
    known = names(module, instructions) if module else {}
    threads: list[list[Span[Operation]]] = []
    marks: list[tuple[float, float]] = []
    for thread in events:
        spans = []
        for begin, end, name, stats in thread:
            if name == MARK:
                marks.append((begin, end))
            elif stats and not name.startswith(_CALLS):
                spans.append(Span(begin, end, operation_of(name, known.get(name, ""))))
        threads.append(spans)
    if not marks:
        raise NotAvailable("the profile does not say when the steps ran")
    streams = _streams(data, names)
    if streams:
        return Profile(streams, *marks[0], on_device=True)
    return Profile(threads, *marks[0])


def _streams(
    data: Any, names: Callable[[str, set[str]], Mapping[str, str]]
) -> list[list[Span[Operation]]]:
    """The kernels and copies of a GPU.

    In a CUDA graph, which XLA makes of many instructions, only the kernel's own name is known: that
    of its instruction, with underscores.
    """
    lines = [
        [(event, dict(event.stats)) for event in line.events]
        for plane in data.planes
        if plane.name.startswith(DEVICE)
        for line in plane.lines
        if line.name.startswith(STREAM)
    ]
    module = _most_common(
        stats["hlo_module"] for line in lines for _, stats in line if "hlo_module" in stats
    )
    kernels = {str(event.name) for line in lines for event, _ in line}
    instructions = {str(stats.get("hlo_op")) for line in lines for _, stats in line}
    known = names(module, kernels | instructions) if module else {}
    by_kernel = {as_kernel(one): name for one, name in known.items()}

    def operation(event: Any, stats: Mapping[str, Any]) -> Operation:
        in_graph = str(stats.get("hlo_op", "")).startswith(CUDA_GRAPH)
        name = by_kernel.get(as_kernel(str(event.name)), "") if in_graph else stats.get("name")
        if not name and not in_graph:
            name = known.get(str(stats.get("hlo_op")), "")
        return on_device(event.name, operation_of("", str(name)) if name else None)

    return [
        [
            Span(event.start_ns, event.start_ns + event.duration_ns, operation(event, stats))
            for event, stats in line
        ]
        for line in lines
    ]


def as_kernel(instruction: str) -> str:
    """The name that XLA gives the kernel of an instruction.

    Example:
        >>> as_kernel("input_reduce_fusion.3")
        'input_reduce_fusion_3'
    """
    return instruction.replace(".", "_").replace("-", "_")


def _host_lines(plane: Any) -> Iterable[Any]:
    return plane.lines if plane.name.startswith("/host:CPU") else ()


def _thunks(line: Any) -> list[tuple[float, float, str, dict[str, Any]]]:
    """Thunks, and our own mark, which has no program."""
    found = []
    for event in line.events:
        name = str(event.name)
        if name.startswith("end: "):
            continue
        stats = {key: value for key, value in event.stats if key in ("hlo_op", "hlo_module")}
        if name == MARK or len(stats) == 2:
            begin = float(event.start_ns)
            found.append((begin, begin + float(event.duration_ns), name, stats))
    return found


def operation_of(instruction: str, name: str) -> Operation:
    """What a thunk is, by the name it was traced under.

    Example:
        >>> operation_of("dot.1", "jit(f)/transpose(jvp(net))/dense/dot_general")
        Operation(path=('net', 'dense'), op='dot_general', backward=True)
    """
    if not name:
        return Operation((), _NUMBER.sub("", instruction))
    *scopes, op = name.split("/")
    path = [_WRAPPED.sub(r"\1", scope) for scope in scopes if not scope.startswith("jit(")]
    return Operation(tuple(one for one in path if one), op, "transpose(" in name)


def _most_common(values: Iterable[Any]) -> str:
    counts: dict[str, int] = {}
    for value in values:
        counts[str(value)] = counts.get(str(value), 0) + 1
    return max(counts, key=lambda one: counts[one], default="")
