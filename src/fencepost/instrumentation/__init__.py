"""What listens to a session's events and tells the world."""
