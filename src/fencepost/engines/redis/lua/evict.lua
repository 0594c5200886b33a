-- Take a lock from whoever holds it, and keep a record of the newest of such deeds.
-- KEYS lock, index, audit; ARGV by, how many records to keep
local S, me = string.sub(KEYS[2], 1, -6), nil
