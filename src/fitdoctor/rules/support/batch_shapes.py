"""Shapes that the step was compiled for."""

from __future__ import annotations

from collections.abc import Iterable

from fitdoctor.contract.records import Event

# A usual training compiles for a few: the first batch, a last smaller one, validation.
FEW_SHAPES = 3


def shapes_of(event: Event) -> str:
    """The shapes of one compilation, in words; empty where they were not recorded."""
    return ", ".join(event.detail.shapes)


def different_shapes(events: Iterable[Event]) -> set[str]:
    """The shapes that these compilations were for."""
    return {shapes_of(event) for event in events} - {""}
