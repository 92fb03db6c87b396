"""Errors a user can act on; each knows the exit code it ends the command with.

FitdoctorError
├── UsageError       the command was given something it cannot work with
├── RecordingError   a recording is missing, truncated, foreign or newer
└── OutputError      the result cannot be written where it was asked for
"""

from __future__ import annotations


class FitdoctorError(Exception):
    """An error with what was received, what was expected and what to do."""

    exit_code = 2

    def __init__(self, message: str, *, expected: str = "", advice: str = "") -> None:
        """Keep the three parts apart so that the command line can lay them out."""
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.advice = advice


class UsageError(FitdoctorError):
    """The command was given something it cannot work with."""


class RecordingError(FitdoctorError):
    """A recording is missing, truncated, foreign or of a newer schema."""


class OutputError(FitdoctorError):
    """The result cannot be written where it was asked for."""
