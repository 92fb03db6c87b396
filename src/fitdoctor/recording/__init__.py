"""The recording as typed data, and the reader that validates it."""
