"""The step as loader and compute that overlap wholly, partly or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class StepModel:
    """core(step, loader) = max(step, loader) + (1 - overlap) * min(step, loader).

    overlap 1: the loader runs entirely beside the step; 0: one after the other.
    """

    overlap: float

    @classmethod
    def fitted(cls, real: float, step: float, loader: float) -> StepModel:
        """The overlap that explains the real step.

        Example:
            >>> StepModel.fitted(real=40.0, step=20.0, loader=40.0).overlap
            1.0
            >>> StepModel.fitted(real=60.0, step=20.0, loader=40.0).overlap
            0.0
        """
        smaller = min(step, loader)
        if smaller <= 0:
            return cls(1.0)
        hidden = (step + loader - real) / smaller
        return cls(min(1.0, max(0.0, hidden)))

    def core(self, step: Interval, loader: Interval) -> Interval:
        """One step to the next for a given step and loader."""
        shorter = Interval.minimum(step, loader)
        return Interval.maximum(step, loader) + shorter.scaled(1.0 - self.overlap)
