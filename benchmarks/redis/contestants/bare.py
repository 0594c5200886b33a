"""The limit: a socket that sends the very scripts that fencepost sends, with nothing around them."""

import os
import socket

from benchmarks.contestant import Contestant
from fencepost.engines.redis.key import SINGLE, Place
from fencepost.engines.redis.resp import Parser, Reply, bulk, pack
from fencepost.engines.redis.script import CLAIM, OPEN, RELEASE

TTL = b"3600000"
PATIENCE = 30.0
# Room for more would cost more: this is meant to be the limit.
CHUNK = 256
# That of a lease under which every claim was answered.
EPOCH = 1


class BareSocket(Contestant):
    """Two calls of a script. Where the first is answered with a place in the queue, below 0, the grant is a message.

    It trusts every answer: no lease is renewed, no time-out minded, nothing settled.
    """

    name = "bare socket, same scripts"
    tokens = True

    def __init__(self, port: int) -> None:
        holder = os.urandom(12).hex()
        place = Place(b"bare", clustered=False)
        channel = f"bare-{holder}"
        self._socket = _connect(port)
        self._ear = _connect(port)
        self._send, self._receive = self._socket.sendall, self._socket.recv
        self._parser = Parser()
        for script in (OPEN, CLAIM, RELEASE):
            self._ask(script.load)
        self._ask(OPEN.pack([SINGLE.lease(holder)], TTL))
        self._ear.sendall(pack("SUBSCRIBE", channel))
        self._ear.recv(CHUNK)
        keys = [place.lock, SINGLE.queue(place.lock), SINGLE.lease(holder), SINGLE.mark, SINGLE.index]
        own = f"fp:{holder}:1:"
        self._claim = CLAIM.pack(keys, own, ":0:", TTL, f"{channel},bare", 1, 0, EPOCH)
        self._release = RELEASE.head(3, 1) + place.pair + SINGLE.index_bulk
        self._own = own.encode()
        self._token = 0

    def acquire(self) -> None:
        self._send(self._claim)
        self._token = int(self._receive(CHUNK)[1:])
        if self._token < 0:
            (_, _, message) = self._read(self._ear.recv(CHUNK))
            self._token = int(message.split(b":")[2])

    def release(self) -> None:
        self._send(self._release + bulk(b"%b%d:" % (self._own, self._token)))
        self._receive(CHUNK)

    def close(self) -> None:
        self._socket.close()
        self._ear.close()

    def _ask(self, command: bytes) -> Reply:
        self._send(command)
        return self._read(self._receive(CHUNK))

    def _read(self, data: bytes) -> Reply:
        (reply,) = self._parser.feed(data)
        return reply


def _connect(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), PATIENCE)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.settimeout(None)
    return made
