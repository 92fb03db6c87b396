"""Something that a probe asks for is not to be had."""

from __future__ import annotations


class NotAvailable(Exception):
    """A probe cannot be made here; the message says why, for the report."""
