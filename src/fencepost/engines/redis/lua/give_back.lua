-- Give back several claims, then let others have them: for each 1, or 0 if it was not held any more.
-- KEYS index, locks…; ARGV 'fp:id:serial:token:' of each
local S, me = string.sub(KEYS[1], 1, -6), nil
