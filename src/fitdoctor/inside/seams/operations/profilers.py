"""The profiler of each backend."""

from __future__ import annotations

from fitdoctor.inside.seams.operations import jax_profile, tensorflow_profile, torch_profile
from fitdoctor.inside.seams.operations.profile import Profiler

PROFILERS: dict[str, Profiler] = {
    "tensorflow": tensorflow_profile.profiled,
    "jax": jax_profile.profiled,
    "torch": torch_profile.profiled,
}
