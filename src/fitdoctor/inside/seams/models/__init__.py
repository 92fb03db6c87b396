"""The user's model with one thing changed: in place for a while, or on a copy."""
