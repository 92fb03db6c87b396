"""The kinds of input that Keras takes: located, described, read a second time."""
