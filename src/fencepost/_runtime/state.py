"""A lock for a few lines that change state together: right in both flavours, because no line among them waits."""

from fencepost._runtime.lock import Lock

StateLock = Lock
