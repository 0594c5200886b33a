"""The stores. Each folder is complete in itself, and is loaded by the registry from its name."""
