"""One frozen dataclass per probe result; a new file in this folder is found by itself."""
