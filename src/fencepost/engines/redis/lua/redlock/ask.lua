-- Ask for one node's vote to share a name. KEYS lock, mark; ARGV member, wait, open, epoch
local S = string.sub(KEYS[2], 1, -5)
local me = ARGV[1]
local lock, wait, open, lead, epoch, list = KEYS[1], ARGV[2] == '1', ARGV[3] == '1', 0, ARGV[4], nil
