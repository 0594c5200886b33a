"""A client of etcd's version 3 interface: gRPC by hand, over plain sockets.

Not grpcio: it does not survive a fork, and its own cost per call is higher than all that is done here.
"""
