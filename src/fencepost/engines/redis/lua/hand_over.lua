local key, token = string.match(ARGV[1], '^fp:([^:]*:[^:]*):([^:]*):')
local done = let_go(KEYS[1], key, token)
promote(KEYS[1])
send_news()
return done
