"""Cures carried out in the process: served source, changed calls, forced settings."""
