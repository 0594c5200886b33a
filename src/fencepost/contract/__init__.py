"""What an engine must do, and how one is found by its URL."""
