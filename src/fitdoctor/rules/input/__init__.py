"""Rules about the input."""
