-- Before the check, whose write makes the mark one for ever: where it is, and how long it was to be kept.
local mark_key = KEYS[1]
local kept_for = redis.call('PTTL', mark_key)
