"""postgresql+advisory://: session advisory locks, where the connection is the lease."""
