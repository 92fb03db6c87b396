"""Recordings of schema 1: payloads that were laid out in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def upgraded(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """A probe's payload of schema 1 as schema 2 has it."""
    change = _CHANGES.get(name)
    return data if change is None else change(data)


def _passes(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "changed": data.get("pass"), "as_written": data.get("pass_as_written")}


def _progress_bar(data: dict[str, Any]) -> dict[str, Any]:
    return {"without_bar": data.get("without"), "with_bar": data.get("with")}


def _padding(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "cut": data if data.get("ns") else None}


def _compiled_loop(data: dict[str, Any]) -> dict[str, Any]:
    line = data.get("line")
    return {**data, "line": int(line) if isinstance(line, str) and line.isdigit() else line}


_CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "trial_early_shuffle": _passes,
    "trial_early_skip": _passes,
    "progress_bar": _progress_bar,
    "padding": _padding,
    "compiled_loop": _compiled_loop,
}
