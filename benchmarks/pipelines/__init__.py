"""Input pipelines of published work, in small, in four kinds of loader; see `__main__`."""
