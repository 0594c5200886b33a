"""redis://, rediss:// and redis+unix://: one Redis or Valkey server, spoken to directly; no driver is needed."""
