"""Rules about the host."""
