-- Take a lock from whoever holds it, as evict.lua does.
-- KEYS lock, index, audit; ARGV by, how many records to keep
local S, me = string.sub(KEYS[2], 1, -6), nil
