"""Interrupting an operation at each of its steps in turn: cancellation for tasks, Ctrl-C for threads."""
