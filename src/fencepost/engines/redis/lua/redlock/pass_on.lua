if ARGV[3] then
  raise(parse(ARGV[2]), ARGV[3])
end
local done = let_go(KEYS[1], string.match(ARGV[1], '^fp:([^:]*:[^:]*):'))
step_out(ARGV[2], KEYS[1])
promote(KEYS[1])
send_news()
return done
