"""Clients of our own for servers that lack a maintained one: engines and fences speak through them."""
