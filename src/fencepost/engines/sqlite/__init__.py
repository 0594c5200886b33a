"""The embedded engine: `sqlite:///path`. Any number of processes on one Linux host, and no server."""
