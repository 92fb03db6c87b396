"""One file per probe."""
