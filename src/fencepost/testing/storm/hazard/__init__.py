"""What ends a call of the library from outside, at any of its steps: a cancellation for tasks, a signal for threads."""
