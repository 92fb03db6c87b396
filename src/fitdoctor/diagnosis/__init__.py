"""RECORDING -> DIAGNOSIS."""

from fitdoctor.diagnosis.whole import diagnose, is_part_of_another

__all__ = ["diagnose", "is_part_of_another"]
