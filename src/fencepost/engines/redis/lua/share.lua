-- Turn a claim of the whole name into a shared one, with its token and without a gap: 1, or 0 if it was not held any
-- more. The readers that stand next hold from here on. KEYS lock, index; ARGV 'fp:id:serial:token:'
local S, me = string.sub(KEYS[2], 1, -6), nil
local lock, own = KEYS[1], ARGV[1]
local key, token = string.match(own, '^fp:([^:]*:[^:]*):([^:]*):')
