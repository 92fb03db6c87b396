"""Damaged recordings through the whole chain: none may end in a traceback."""
