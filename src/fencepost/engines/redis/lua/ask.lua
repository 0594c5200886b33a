-- Ask for anything: shared, counted, several names at once, or with a priority.
-- KEYS lock, mark; ARGV member, wait, open, epoch, by how much it goes before others; and for several names the list of them
-- (All are in one slot. The lock is the first of them, and the member that which stands in its queue.)
local S = string.sub(KEYS[2], 1, -5)
local me = ARGV[1]
local lock, wait, open, epoch, lead, list = KEYS[1], ARGV[2] == '1', ARGV[3] == '1', ARGV[4], ARGV[5] + 0, ARGV[6]
