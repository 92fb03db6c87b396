"""Measurements of fitdoctor itself; each prints a table and writes JSON."""
