"""Each framework's profiler, started as fitdoctor starts it, and its sums by another reader."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MARK = "fitdoctor steps"
LAYER = "fitdoctor layer "


def _sums(spans: Iterable[tuple[str, float, float]]) -> dict[str, Any]:
    """Of (name, begin, end) in ns: what is covered, kernels and copies apart."""
    spans = sorted(spans, key=lambda one: one[1])
    copies = [one for one in spans if _is_copy(one[0])]
    kernels = [one for one in spans if not _is_copy(one[0])]
    return {
        "kernels": len(kernels),
        "copies": len(copies),
        "busy_ns": _covered(spans),
        "kernel_ns": _covered(kernels),
        "copy_ns": _covered(copies),
        "by_name": Counter(name for name, *_ in spans).most_common(40),
    }


def _is_copy(name: str) -> bool:
    return name.lower().startswith(("memcpy", "memset"))


def _covered(spans: list[tuple[str, float, float]]) -> float:
    total, end = 0.0, float("-inf")
    for _, begin, until in spans:
        total += max(0.0, until - max(begin, end))
        end = max(end, until)
    return total


def _tensorflow(steps: Any, path: Path, truth: dict[str, Any]) -> None:
    import tensorflow as tf

    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory() as folder:
        profiler.start(
            folder, options=profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
        )
        with profiler.Trace(MARK):
            steps.run()
        profiler.stop()
        (found,) = Path(folder).rglob("*.xplane.pb")
        data = found.read_bytes()
        _keep(path, "xplane.pb", data)
        truth["by_jax_reader"] = _with_jax(data)
        for tool in ("kernel_stats", "framework_op_stats", "trace_viewer"):
            try:
                _own_table(tool, found, path, truth)
            except Exception as error:  # noqa: BLE001 - tools differ between versions
                truth[f"tool_{tool}"] = repr(error)


def _own_table(tool: str, found: Path, path: Path, truth: dict[str, Any]) -> None:
    """TensorFlow's own table of the same profile."""
    from tensorflow.python.profiler.internal import _pywrap_profiler_plugin as plugin
    from tensorflow.tsl.profiler.protobuf import trace_events_pb2

    made, _ = plugin.xspace_to_tools_data([str(found)], tool, {})
    if tool != "trace_viewer":
        _keep(path, f"{tool}.json", made)
        return
    trace = trace_events_pb2.Trace.FromString(made)
    streams = {
        (device, number)
        for device, held in trace.devices.items()
        for number, resource in held.resources.items()
        if "GPU" in held.name and resource.name.startswith("Stream")
    }
    truth["by_trace_viewer"] = _sums(
        (e.name, e.timestamp_ps / 1e3, (e.timestamp_ps + e.duration_ps) / 1e3)
        for e in trace.trace_events
        if (e.device_id, e.resource_id) in streams
    )


def _with_jax(data: bytes) -> Any:
    try:
        from jax.profiler import ProfileData

        read = ProfileData.from_serialized_xspace(data)
        return _streams(read)
    except Exception as error:  # noqa: BLE001 - JAX may not be there at all
        return repr(error)


def _streams(read: Any) -> dict[str, Any]:
    lines: dict[str, int] = {}
    spans = []
    for plane in read.planes:
        for line in plane.lines:
            events = list(line.events)
            lines[f"{plane.name} | {line.name}"] = len(events)
            if plane.name.startswith("/device:GPU") and line.name.startswith("Stream"):
                spans += [(e.name, e.start_ns, e.start_ns + e.duration_ns) for e in events]
    return {**_sums(spans), "lines": lines}


def _browser(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The trace for browsers: only the streams of a GPU; other lines repeat their events."""
    named = [event for event in events if event.get("ph") == "M"]
    gpus = {e["pid"] for e in named if "device:GPU" in str(e.get("args", {}).get("name"))}
    streams = {
        (e["pid"], e["tid"])
        for e in named
        if e["name"] == "thread_name" and str(e["args"]["name"]).startswith("Stream")
    }
    return _sums(
        (e["name"], 1e3 * e["ts"], 1e3 * (e["ts"] + e.get("dur", 0)))
        for e in events
        if e.get("ph") == "X" and e["pid"] in gpus and (e["pid"], e["tid"]) in streams
    )


_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = .*?op_name=\"([^\"]*)\"", re.MULTILINE)


def _jax(steps: Any, path: Path, truth: dict[str, Any]) -> None:
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level, options.host_tracer_level = 0, 2
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        with jax.profiler.TraceAnnotation(MARK):
            steps.run()
        jax.profiler.stop_trace()
        (found,) = Path(folder).rglob("*.xplane.pb")
        data = found.read_bytes()
        (browser,) = Path(folder).rglob("*.trace.json.gz")
        truth["by_trace_json"] = _browser(
            json.loads(gzip.decompress(browser.read_bytes()))["traceEvents"]
        )
    _keep(path, "xplane.pb", data)
    truth["by_jax_reader"] = _with_jax(data)
    names: dict[str, list[dict[str, str]]] = {}
    for executable in jax.devices()[0].client.live_executables():
        for module in executable.hlo_modules():
            found_names = {one[1]: one[2] for one in _INSTRUCTION.finditer(module.to_string())}
            if "train_step" in module.name or "step" in module.name:
                names.setdefault(module.name, []).append(found_names)
                _keep(path, f"{module.name}.{len(names[module.name])}.hlo", module.to_string())
    _keep(path, "names.json", json.dumps(names))


def _torch(steps: Any, path: Path, truth: dict[str, Any]) -> None:
    import keras
    import torch

    cuda = torch.profiler.ProfilerActivity.CUDA
    if torch.cuda.is_available():
        with torch.profiler.profile(activities=[cuda]) as device_only:
            steps.run()
        _torch_sums(device_only, "device_only", truth)
        truth["device_only_events"] = [_event(one) for one in device_only.events()][:20]
    original = keras.layers.Layer.__call__

    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.profiler.record_function(f"{LAYER}{self.name}"):
            return original(self, *args, **kwargs)

    activities = [torch.profiler.ProfilerActivity.CPU, cuda]
    keras.layers.Layer.__call__ = marked
    try:
        with (
            torch.profiler.profile(activities=activities) as profile,
            torch.profiler.record_function(MARK),
        ):
            steps.run()
    finally:
        keras.layers.Layer.__call__ = original
    _torch_sums(profile, "both", truth)
    _keep(path, "events.json", json.dumps([_event(one) for one in profile.events()]))
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        text = trace.read_text()
    _keep(path, "trace.json", text)
    truth["by_chrome_trace"] = _sums(
        (e["name"], 1e3 * e["ts"], 1e3 * (e["ts"] + e["dur"]))
        for e in json.loads(text)["traceEvents"]
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    )


def _torch_sums(profile: Any, name: str, truth: dict[str, Any]) -> None:
    truth[name] = _sums(_on_device(profile))
    rows = profile.key_averages()
    truth[f"{name}_key_averages_ns"] = 1e3 * sum(row.self_device_time_total for row in rows)


def _on_device(profile: Any) -> list[tuple[str, float, float]]:
    return [
        (one.name, one.time_range.start * 1e3, one.time_range.end * 1e3)
        for one in profile.events()
        if "CUDA" in str(one.device_type)
    ]


_FIELDS = ("id", "thread", "sequence_nr", "fwd_thread", "device_index", "device_resource_id")
_MORE = ("linked_correlation_id", "is_async", "is_user_annotation", "external_id", "activity_type")


def _event(one: Any) -> dict[str, Any]:
    return {
        "name": one.name,
        "device_type": str(one.device_type),
        "start": one.time_range.start,
        "end": one.time_range.end,
        **{field: _plain(getattr(one, field, None)) for field in (*_FIELDS, *_MORE)},
        "kernels": [(kernel.name, kernel.device, kernel.duration) for kernel in one.kernels],
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str | bool) else str(value)


def _keep(path: Path, kind: str, data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data
    path.with_name(f"{path.name}.{kind}.gz").write_bytes(gzip.compress(raw, 9, mtime=0))


RECORDERS: dict[str, Callable[[Any, Path, dict[str, Any]], None]] = {
    "tensorflow": _tensorflow,
    "jax": _jax,
    "torch": _torch,
}
