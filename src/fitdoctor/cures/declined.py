"""Why a cure is not made in the source; it then stays advice for the reader."""

from __future__ import annotations


class DeclinedEdit(Exception):
    """An edit that cannot be made safely; the message is the reason."""


class AlreadyThere(Exception):
    """An edit that the source has already; the rest of its cure may still be made."""


class ContradictedEdit(DeclinedEdit):
    """An edit that contradicts another cure of the same patch."""
