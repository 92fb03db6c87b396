"""Seams of what came before Keras 3."""
