"""FINDINGS -> PATCH: what the rules want changed, as the smallest change of the user's text."""
