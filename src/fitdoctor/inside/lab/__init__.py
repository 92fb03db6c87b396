"""Controlled experiments on the captured training."""
