"""Whether compiled programs are kept on disk for the next start."""

from __future__ import annotations

import sys

from fitdoctor.contract.evidence.compile_cache import CompileCache
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe


class CompileCacheProbe(Probe[CompileCache]):
    """JAX only: torch keeps them by itself, and TensorFlow's start is mostly tracing."""

    phase = Phase.FACTS
    on_spread_models = True
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return context.backend.name == "jax"

    def run(self, context: Context) -> CompileCache:
        config = sys.modules["jax"].config
        folder = getattr(config, "jax_compilation_cache_dir", None)
        is_on = getattr(config, "jax_enable_compilation_cache", True)
        return CompileCache(str(folder) if folder and is_on else None)
