"""Callbacks that Keras adds to every fit by itself."""

from __future__ import annotations

BUILT_IN_CALLBACKS = frozenset({"History", "ProgbarLogger"})
