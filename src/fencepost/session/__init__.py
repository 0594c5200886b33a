"""This process's presence at an engine: one lease, kept alive by one keeper, and the grants that live on it."""
