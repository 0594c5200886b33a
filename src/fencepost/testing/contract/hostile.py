"""What strangers may have written where a record of ours is expected: for sites to put into their stores."""

DEEP = 5_000
# By title. What begins like a record of ours and is none is for each engine to add.
VALUES: dict[str, bytes] = {
    "no text": b"\xff\xfe\x00\x80",
    "a long number": b"9" * 5000,
    "deep lists": b"[" * DEEP,
    "deep objects": b'{"fencepost":' * DEEP,
    "an object": b'{"fencepost": 1, "holder": 5}',
}
# Values that no field of a record has, as JSON.
FIELDS = ("null", "5", '"x"', "[]", "{}", "true", "-1", "1e999", "NaN", "9" * 400, '"\\ud800"', "[" * 900 + "]" * 900)


def mutations(record: dict[str, str]) -> dict[str, bytes]:
    """A record, each of its fields as JSON, with one field after another left out, or of another kind."""
    found = {"a record of ours": _written(record)}
    for field in record:
        found[f"without {field}"] = _written({key: value for key, value in record.items() if key != field})
        for value in FIELDS:
            found[f"{field} is {value[:12]}"] = _written({**record, field: value})
    return found


def _written(record: dict[str, str]) -> bytes:
    fields = ",".join(f'"{key}":{value}' for key, value in record.items())
    return b"{%b}" % fields.encode()
