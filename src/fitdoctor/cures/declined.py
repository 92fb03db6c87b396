"""Why a cure is not made in the source; it then stays advice for the reader."""

from __future__ import annotations


class DeclinedEdit(Exception):
    """An edit that cannot be made safely; the message is the reason."""


class AlreadyThere(Exception):
    """An edit that the source has already; the cure it belongs to may go on."""


class ContradictedEdit(DeclinedEdit):
    """An edit that another cure of the same patch stands against."""
