"""ZooKeeper's wire format: requests as bytes, replies as values. Lengths and numbers of requests are the wire's."""

import struct
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from fencepost.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")
CREATE, DELETE, EXISTS, GET_DATA, SET_DATA = 1, 2, 3, 4, 5
GET_CHILDREN, CHECK, MULTI, CREATE2, CREATE_CONTAINER = 8, 13, 14, 15, 19
AUTH, SASL, GET_EPHEMERALS, CLOSE = 100, 102, 103, -11
# Of a step of a MULTI, where a kind is told: none of it was done.
FAILED = -1
PERSISTENT, SEQUENCE, EPHEMERAL_SEQUENCE, CONTAINER = 0, 2, 3, 4
ANY_VERSION = -1
PERMISSIONS = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}

DELETED = 2

OK = 0
MARSHALLING = -5
UNIMPLEMENTED = -6
CONNECTION_LOSS = -4
OPERATION_TIMEOUT = -7
NO_NODE = -101
NO_AUTH = -102
BAD_VERSION = -103
NODE_EXISTS = -110
SESSION_EXPIRED = -112
AUTH_FAILED = -115
SESSION_MOVED = -118
SESSION_CLOSED_REQUIRE_SASL = -124

_int = struct.Struct(">i")
_ints = struct.Struct(">ii")
_connect = struct.Struct(">iqiq")
_connected = struct.Struct(">iiq")
_header = struct.Struct(">iqi")
_step = struct.Struct(">i?i")
_stat = struct.Struct(">qqqqiiiqiiq")
HEADER = _header.size
NO_STEP = _step.pack(-1, True, -1)


class Stat(NamedTuple):
    """What matters of a stat: the transaction that made the node, when (ms, the leader's clock), how often its data was
    changed since, and the transaction that did so last."""

    created_by: int
    created_at: int
    version: int
    modified_by: int


class Session(NamedTuple):
    """What a server answers to a connect request; `timeout` is 0 if it does not know the session."""

    timeout: int
    id: int
    password: bytes


class Reply(NamedTuple):
    """One answer: an error code, or 0 and a body."""

    error: int
    body: bytes


class Malformed(Unavailable, ValueError):
    """What came is no answer of a ZooKeeper server."""

    def __init__(self) -> None:
        super().__init__("what came is no answer of a ZooKeeper server")


def _decoder(decode: Callable[P, T]) -> Callable[P, T]:
    """Whatever is wrong with what came, that is what it raises."""

    @wraps(decode)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return decode(*args, **kwargs)
        except struct.error as error:
            raise Malformed from error

    return checked


# Requests


def buffer(data: bytes) -> bytes:
    return _int.pack(len(data)) + data


def acl(entries: list[tuple[int, str, str]]) -> bytes:
    """A list of (permissions, scheme, id)."""
    parts = [
        _int.pack(permissions) + buffer(scheme.encode()) + buffer(who.encode()) for permissions, scheme, who in entries
    ]
    return _int.pack(len(entries)) + b"".join(parts)


OPEN_TO_ALL = acl([(31, "world", "anyone")])


def connect(session: Session, last_zxid: int, timeout: int) -> bytes:
    """The first thing that is sent, without a header."""
    return _connect.pack(0, last_zxid, timeout, session.id) + buffer(session.password) + b"\0"


def create(kind: int, path: bytes, data: bytes, access: bytes, flags: int) -> bytes:
    return b"%b%b%b%b%b%b%b" % (
        _int.pack(kind), _int.pack(len(path)), path, _int.pack(len(data)), data, access, _int.pack(flags)
    )  # fmt: skip


def delete(path: bytes) -> bytes:
    return b"%b%b%b\xff\xff\xff\xff" % (_int.pack(DELETE), _int.pack(len(path)), path)


def set_data(path: bytes, data: bytes, version: int) -> bytes:
    return _int.pack(SET_DATA) + buffer(path) + buffer(data) + _int.pack(version)


def read(kind: int, path: bytes, *, watch: bool = False) -> bytes:
    """A request for a node's data, its stat, or its children."""
    return b"%b%b%b%b" % (_int.pack(kind), _int.pack(len(path)), path, b"\1" if watch else b"\0")


def get_ephemerals(under: bytes) -> bytes:
    return _int.pack(GET_EPHEMERALS) + buffer(under)


def check(path: bytes, version: int = ANY_VERSION) -> bytes:
    return _int.pack(CHECK) + buffer(path) + _int.pack(version)


def multi(requests: list[bytes]) -> bytes:
    """All of these or none. Each begins with its kind, as above."""
    steps = (each[:4] + b"\0\xff\xff\xff\xff" + each[4:] for each in requests)
    return _int.pack(MULTI) + b"".join(steps) + NO_STEP


def auth(scheme: str, credentials: bytes) -> bytes:
    return _int.pack(AUTH) + _int.pack(0) + buffer(scheme.encode()) + buffer(credentials)


def sasl(response: bytes) -> bytes:
    return _int.pack(SASL) + buffer(response)


CLOSING = _int.pack(CLOSE)
# A change of nothing, which a majority has to agree to: proof that the session lives, and a read behind it shows all
# that was done before. ZooKeeper's own `sync` is none: the leader answers it before it has applied what it committed.
PROVE = multi([check(b"/")])


def frame(xid: int, request: bytes) -> bytes:
    return _ints.pack(len(request) + 4, xid) + request


# Replies


@_decoder
def header(data: bytes, at: int = 0) -> tuple[int, int, int]:
    """The number of the request, the last transaction the server knows of, and the error code."""
    found: tuple[int, int, int] = _header.unpack_from(data, at)
    return found


@_decoder
def connected(data: bytes) -> Session:
    _, timeout, session_id = _connected.unpack_from(data)
    password, _ = _buffer(data, _connected.size)
    return Session(max(0, timeout), session_id, password)


@_decoder
def created(body: bytes) -> tuple[bytes, Stat]:
    """The path and stat of a node made by CREATE2 or CREATE_CONTAINER."""
    path, at = _buffer(body, 0)
    return path, stat(body, at)


@_decoder
def node(body: bytes) -> tuple[bytes, Stat]:
    data, at = _buffer(body, 0)
    return data, stat(body, at)


@_decoder
def stat(body: bytes, at: int = 0) -> Stat:
    values = _stat.unpack_from(body, at)
    return Stat(values[0], values[2], values[4], values[1])


@_decoder
def strings(body: bytes) -> list[bytes]:
    """Children, or paths."""
    (count,) = _int.unpack_from(body)
    at = 4
    found = []
    for _ in range(count):
        start = at + 4
        at = start + _int.unpack_from(body, at)[0]
        # A length below nothing would go round at one place.
        if not start <= at <= len(body):
            raise Malformed
        found.append(body[start:at])
    return found


@_decoder
def failure(body: bytes) -> int:
    """Why a MULTI did nothing: the error of its first step that has one, 0 if all was done."""
    at, error = 0, OK
    while True:
        kind, over, _ = _step.unpack_from(body, at)
        if over:
            # To be told of no step at all is to be told nothing.
            if not at:
                raise Malformed
            return error
        at += _step.size
        if kind == FAILED:
            error = error or _int.unpack_from(body, at)[0]
            at += _int.size
        elif kind in (CREATE, CREATE2, CREATE_CONTAINER):
            _, at = _buffer(body, at)
            at += 0 if kind == CREATE else _stat.size
        elif kind == SET_DATA:
            at += _stat.size
        elif kind not in (DELETE, CHECK):
            raise Malformed


@_decoder
def event(body: bytes) -> tuple[bytes, bool]:
    """The path that something happened to, empty if it is about the connection; and whether the node is gone."""
    (kind,) = _int.unpack_from(body)
    return _buffer(body, 8)[0], kind == DELETED


@_decoder
def token(body: bytes) -> bytes:
    """What a server says in an exchange of SASL."""
    return _buffer(body, 0)[0]


def _buffer(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _int.unpack_from(data, at)
    # A length of -1 means that there is none.
    end = at + 4 + max(0, length)
    if end > len(data):
        raise Malformed
    return data[at + 4 : end], end
