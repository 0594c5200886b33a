"""What a Redis server never says, and how none speaks."""

import re

from tests.support.hostile import Speech, answering, dripping, flooding

COMMAND = re.compile(rb"\*[0-9]+\r\n\$[0-9]+\r\n[A-Z]+\r\n")

ANSWERS = [b"$-1\r\n", b"*0\r\n", b"*-1\r\n", b"$0\r\n\r\n", b":-1\r\n", b":0\r\n", b":99999999999999999999999\r\n"]
ANSWERS += [
    b"+OK\r\n",
    b"*1\r\n*0\r\n",
    b"*1\r\n:0\r\n",
    b"*1\r\n:1\r\n",
    b"*1\r\n:-2\r\n",
    b"*2\r\n:1\r\n$1\r\nx\r\n",
    b"-\r\n",
]
ANSWERS += [
    b"*3\r\n:0\r\n:1\r\n:1\r\n:5\r\n",
    b"*6\r\n:0\r\n:1\r\n:0\r\n$1\r\nq\r\n$1\r\nx\r\n$2\r\n\xff\xfe\r\n",
    b"\xff\xfe",
]
ANSWERS += [b"-MOVED\r\n", b"-NOSCRIPT\r\n", b"-MOVED 1 h:99999\r\n", b"*2\r\n$1\r\n5\r\n*1\r\n$1\r\n\xff\r\n"]
ANSWERS += [
    b"*2\r\n:1\r\n:1\r\n",
    b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:99999\r\n",
    b"*4\r\n$1\r\n1\r\n*0\r\n*0\r\n*0\r\n",
]
KEEPING = {
    "drips a text": dripping(b"$1000\r\n"),
    "drips a list": dripping(b"*1000\r\n", b":"),
    "drips a line": dripping(b"+"),
    "floods with a list": flooding(b"*1000000\r\n", b"*100\r\n" + b":1\r\n" * 99),
    "floods with a text": flooding(b"$60000000\r\n", bytes(65_536)),
    "floods with junk": flooding(b"", b"\0" * 65_536),
    "floods with replies": flooding(b"", b"+OK\r\n" * 1000),
}


def babbling(answer: bytes) -> Speech:
    """That is what it answers to each command."""
    return answering(answer, COMMAND)
