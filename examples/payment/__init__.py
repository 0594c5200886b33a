"""A payment that is charged exactly once, under retries, crashes and two workers."""
