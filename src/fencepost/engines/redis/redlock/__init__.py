"""redlock://: a lock is held by whoever has the votes of a majority of independent servers."""
