"""memory://name: locks between the threads and tasks of one process; the reference to read first."""
