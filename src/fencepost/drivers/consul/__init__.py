"""What an agent of Consul speaks: HTTP/1.1, as far as it is needed."""
