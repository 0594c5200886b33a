"""etcd, version 3.4 and later."""
