# Generated from src/fencepost/engines/sqlite/_async/room.py by tools/unasync.py. Do not edit: run `make gen`.
"""The waiting room of one engine: many wait, one reads the mailbox for all.

Whoever comes first reads; the others wait for their bell. The reader delivers what it finds, and when it
leaves, for whatever reason, rings for another to take the role. No thread or task of our own is needed.
"""

import select
from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP
from fencepost.engines.sqlite import mailbox
from fencepost.engines.sqlite.place import Key, Place
from fencepost.engines.sqlite.process import Peer
from fencepost.engines.sqlite.vigil import AWAKE, Vigil

READER = "reader"


class Room:
    def __init__(self, box: mailbox.Mailbox, places: dict[Key, Place], vigil: Vigil, now: Callable[[], float]) -> None:
        self._box = box
        self._vigil = vigil
        self._places = places
        self._now = now
        # Those who wait, the first first; and whoever of them reads, under READER. An exception out of a signal handler
        # can not strike while an item of a dictionary is set or deleted, so that neither outlives its wait.
        self._present: dict[int, Place] = {}
        self._reader: dict[str, Place] = {}
        self._watched: dict[int, Peer] = {}
        self._epoll = select.epoll()
        self._address = ""
        self._inbox: runtime.Inbox
        self._closed = False

    def wait(self, place: Place, until: float) -> None:
        """Return when the place has stirred, or at `until`."""
        if place.watching or self._address != self._box.name:
            self._watch(place)
        present, reader, key = self._present, self._reader, id(place)
        present[key] = place
        try:
            while not place.stirred and (left := until - self._now()) > 0:
                if reader.setdefault(READER, place) is place:
                    self._read(place, until)
                else:
                    if place.watching:
                        # Whoever reads may sleep in a call that brings letters only.
                        self.wake_reader()
                    place.bell = runtime.Event()
                    if not place.stirred and reader:
                        place.bell.wait(min(left, LONGEST_NAP))
        finally:
            del present[key]
            try:
                if reader[READER] is place:
                    del reader[READER]
            except KeyError:
                pass
            if present and not reader:
                self._ring()

    def wake_reader(self) -> None:
        """What was said by bell does not reach whoever waits for mail."""
        if self._box.name:
            self._box.send(mailbox.Letter(self._box.name, "", 0))

    def close(self) -> None:
        self._closed = True
        self._epoll.close()
        self._watched.clear()

    def _ring(self) -> None:
        for place in list(self._present.values())[:1]:
            place.ring()

    def _watch(self, place: Place) -> None:
        # First: a renewal may give up the box and make another at any line, and that one is watched next time.
        address = self._box.name
        if self._address != address:
            self._inbox = runtime.Inbox(self._box.inbox, mailbox.LONGEST)
            self._register(self._box.fileno())
            self._address = address
        for peer in place.watching:
            if self._watched.get(peer.fd) is not peer and peer.fd >= 0:
                self._watched[peer.fd] = peer
                self._register(peer.fd)

    def _register(self, fd: int) -> None:
        try:
            self._epoll.register(fd, select.EPOLLIN)
        except FileExistsError:
            pass

    def _read(self, place: Place, until: float) -> None:
        count = 0
        try:
            while not place.stirred and (left := until - self._now()) > 0:
                left = min(left, LONGEST_NAP)
                if not (self._watched and (place.watching or len(self._places) > 1)):
                    letter = (self._stay_awake(place) if place.near else self._inbox.receive(left))
                    if letter is not None:
                        self._hand_out(letter)
                        count += 1
                elif runtime.readable(self._epoll.fileno(), left):
                    found = self._deliver()
                    count += found
                    if not found:
                        self._look_who_died()
                if len(self._places) > 1:
                    count += self._deliver()
                if count >= self._box.room:
                    # The box was full, and letters may have been lost.
                    self._hand_out(None)
                    count = 0
                elif len(self._places) > 1:
                    # It was found empty: what comes from here on fills it anew.
                    count = 0
        except runtime.Cancelled:
            # Such a task has taken nothing.
            raise
        except BaseException as error:
            # What we may have taken out of the box, and not handed out, is lost: all must look.
            self._hand_out(None)
            # Or the mailbox was closed under us, for good or for a new one, and every place stirred.
            left_us = self._closed or self._box.name != self._address
            if not (left_us and isinstance(error, (OSError, ValueError))):
                raise

    def _stay_awake(self, place: Place) -> bytes | None:
        place.near = False
        until = self._now() + AWAKE
        letter = self._inbox.catch(AWAKE)
        # If it took longer, somebody else wanted the processor.
        self._vigil.end(in_vain=letter is None or self._now() > until)
        return letter

    def _deliver(self) -> int:
        """Hand out the mail there is, or the first of it if only one waits; how much that was."""
        count = 0
        while (letter := self._box.take()) is not None:
            self._hand_out(letter)
            count += 1
            if len(self._places) <= 1:
                break
        return count

    def _look_who_died(self) -> None:
        for fd, _ in self._epoll.poll(0):
            if fd in self._watched:
                self._died(fd)

    def _hand_out(self, letter: bytes | None) -> None:
        # One that is too long to read may be for anybody.
        if letter is None or len(letter) >= mailbox.LONGEST:
            for place in list(self._places.values()):
                place.stir()
            return
        key, tokens = mailbox.read(letter)
        addressee = self._places.get(key)
        if addressee is None:
            return
        if tokens == mailbox.SOON:
            addressee.near = True
        else:
            addressee.stir(tokens=tokens)

    def _died(self, fd: int) -> None:
        try:
            self._epoll.unregister(fd)
        except OSError:
            # Closed meanwhile, which takes it out as well.
            pass
        peer = self._watched.pop(fd, None)
        for place in list(self._places.values()):
            if peer in place.watching:
                place.stir()
