"""Controlled experiments on the captured training; stdlib only, state put back afterwards."""
