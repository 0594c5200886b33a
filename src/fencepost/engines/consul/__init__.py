"""consul://, consuls://: sessions and the key-value store of Consul, by the convention of `consul lock`."""
