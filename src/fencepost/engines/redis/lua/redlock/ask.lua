-- Ask for one node's vote to share a name. KEYS lock, mark; ARGV member, wait, open
local S = string.sub(KEYS[2], 1, -5)
local me = ARGV[1]
local lock, wait, open = KEYS[1], ARGV[2] == '1', ARGV[3] == '1'
local time = redis.call('TIME')
-- See claim.lua: above all that this node may have proposed before it lost its memory.
redis.call('SET', KEYS[2], string.format('%.0f', time[1] * 1000000 + time[2] + 200000), 'NX')
