"""redis+cluster://: a Redis or Valkey cluster, each name in the slot of its own key."""
