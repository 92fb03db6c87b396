"""fitdoctor: why Keras training is slow, what would help, and by how much.

This module is imported inside the user's process, so it stays free of imports.
"""

__version__ = "0.1.0"
