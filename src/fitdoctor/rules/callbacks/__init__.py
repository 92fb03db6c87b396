"""Rules about callbacks, validation and metrics."""
