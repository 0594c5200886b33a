-- Let another have this node's vote, and stand right behind it. KEYS lock, index; ARGV member, the other's 'id:serial:',
-- epoch. 1; or 0, and nothing changes, if the vote is not ours, the other does not wait here, or this comes late.
local S, me = string.sub(KEYS[2], 1, -6), nil
