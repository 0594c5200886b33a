"""Connections to all nodes, the asynchronous and the blocking kind, under the same names.

`Fleet` asks all nodes at once, and returns as soon as the ballot is decided: a slow node is not waited for, and its
answer, when it comes, is thrown away. On one connection a node hears everything in the order in which it was said.
`Ears` listens at all nodes for any number of waiters, and needs a majority of them.
"""
