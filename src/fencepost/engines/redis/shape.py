"""What the scripts answer: the shapes that replies may have. A server that gives another is not believed."""

from collections.abc import Callable
from typing import TypeAlias

from fencepost.core.token import LARGEST
from fencepost.engines.redis.resp import Reply

Shape: TypeAlias = Callable[[Reply], bool]


def is_number(reply: Reply) -> bool:
    return type(reply) is int


def is_text(reply: Reply) -> bool:
    return type(reply) is bytes


def is_digits(reply: Reply) -> bool:
    """A number as text: Lua's own would be rounded on their way."""
    return type(reply) is bytes and reply.isdigit() and len(reply) <= 19


def is_token(number: int) -> bool:
    return 0 < number <= LARGEST


def is_list_of(*shapes: Shape) -> Shape:
    """Items that have these shapes in turn, again and again."""
    size = len(shapes)

    def fits(reply: Reply) -> bool:
        return (
            type(reply) is list
            and len(reply) % size == 0
            and all(shape(item) for at, shape in enumerate(shapes) for item in reply[at::size])
        )

    return fits


are_numbers = is_list_of(is_number)
are_texts = is_list_of(is_text)
_are_tokens = is_list_of(is_digits)
_are_ahead = is_list_of(is_text, is_text, is_text)
_are_amiss = is_list_of(is_number, is_text)
_are_holders = is_list_of(is_text, is_number)
_are_waiters = is_list_of(is_text, is_text, is_number)


def is_claim(reply: Reply) -> bool:
    """A token, or a place; see lua/claim.lua."""
    return type(reply) is int or is_full_claim(reply)


def is_full_claim(reply: Reply) -> bool:
    """See lua/enter.lua."""
    if type(reply) is not list or not reply or type(reply[0]) is not int:
        return False
    match reply[0]:
        case 1:
            return len(reply) > 1 and _are_tokens(reply[1:])
        case 0:
            return are_numbers(reply[1:3]) and len(reply) >= 3 and _are_ahead(reply[3:])
    return len(reply) == 1 and reply[0] in (-1, -2)


def is_node_claim(reply: Reply) -> bool:
    """The same of a node of Redlock: its vote proposes a token."""
    if type(reply) is int:
        return is_token(reply)
    return is_full_claim(reply) and (reply[0] != 1 or (len(reply) == 2 and is_token(int(reply[1]))))


def is_renewal(reply: Reply) -> bool:
    """See lua/renew.lua."""
    return _are_amiss(reply) or (type(reply) is int and reply in (0, 1))


def is_node_renewal(reply: Reply) -> bool:
    """See lua/redlock/renew.lua."""
    if type(reply) is not list:
        return type(reply) is int and reply == 1
    return (
        bool(reply)
        and type(reply[0]) is int
        and reply[0] in (0, 1)
        and _are_amiss(reply[1:])
        and all(word[:1] in (b"-", b"!") or _is_gain(word) for word in reply[2::2])
    )


def _is_gain(word: bytes) -> bool:
    return word[:1] == b"+" and is_digits(word[1:]) and is_token(int(word[1:]))


def is_sight(reply: Reply) -> bool:
    """See lua/look.lua."""
    return (
        type(reply) is list
        and len(reply) == 4
        and is_digits(reply[0])
        and _are_holders(reply[1])
        and _are_waiters(reply[2])
        and are_texts(reply[3])
    )


def is_page(reply: Reply) -> bool:
    """Where to go on, and some keys: see SCAN."""
    return type(reply) is list and len(reply) == 2 and is_text(reply[0]) and are_texts(reply[1])


def is_cell(reply: Reply) -> bool:
    """See lua/cell_watch.lua. What stands in it may be a stranger's."""
    return reply is None or (type(reply) is list and len(reply) == 2 and all(map(is_text_or_none, reply)))


def is_text_or_none(reply: Reply) -> bool:
    return reply is None or type(reply) is bytes


def is_version(reply: Reply) -> bool:
    """See lua/cell_write.lua."""
    return reply is None or is_digits(reply)
