"""zookeeper://: one ZooKeeper server or an ensemble, spoken to directly; no driver is needed."""
