-- Ask for anything: shared, counted, or several names at once. KEYS lock, mark; ARGV member, wait, open
-- (The other locks of a request stand in its member; all are in one slot.)
local S = string.sub(KEYS[2], 1, -5)
local me = ARGV[1]
local lock, wait, open = KEYS[1], ARGV[2] == '1', ARGV[3] == '1'
