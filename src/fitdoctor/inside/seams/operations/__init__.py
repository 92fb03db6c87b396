"""The frameworks' own profilers, read operation by operation."""
