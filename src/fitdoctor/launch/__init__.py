"""PARENT: starts the real interpreter and watches it from outside."""
