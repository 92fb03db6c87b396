"""A process that runs already, watched from outside: no code of ours in it."""
