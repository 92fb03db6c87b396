"""Where elements come from: one file per kind of source."""
