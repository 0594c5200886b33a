-- Run commands, each given as the number of its words and the words. The reply of the last.
local at, reply = 1, nil
while at <= #ARGV do
  local last = at + ARGV[at]
  reply = redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return reply
