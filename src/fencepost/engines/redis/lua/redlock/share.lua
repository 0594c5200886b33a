-- Turn one node's vote to hold a name alone into one to share it, with its token and without a gap: 1, or 0 if the vote
-- is not with this request. The readers that stand next have this node's votes from here on.
-- KEYS lock, mark; ARGV 'fp:id:serial:'
local S, me = string.sub(KEYS[2], 1, -5), nil
