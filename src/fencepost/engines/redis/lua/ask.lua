-- Ask for anything: shared, counted, several names at once, or with a priority.
-- KEYS lock, mark; ARGV member, wait, open, epoch, by how much it goes before others
-- (The other locks of a request stand in its member; all are in one slot.)
local S = string.sub(KEYS[2], 1, -5)
local me = ARGV[1]
local lock, wait, open, epoch, lead = KEYS[1], ARGV[2] == '1', ARGV[3] == '1', ARGV[4], ARGV[5] + 0
