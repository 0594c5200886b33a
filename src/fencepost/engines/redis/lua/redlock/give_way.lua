local lock, queue = KEYS[1], queue_of(KEYS[1])
local mine = parse(ARGV[1])
local epoch = redis.call('GET', S .. 'lease\0' .. mine.id)
if epoch and epoch + 0 > ARGV[3] + 0 then
  return 0
end
local other
for _, each in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
  if string.sub(each, 1, #ARGV[2]) == ARGV[2] then
    other = each
  end
end
if not other or not is_alive(other) or let_go(lock, mine.key) == 0 then
  return 0
end
-- It takes our turn, whoever else waits here: all who give way let the same one have theirs.
local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2] + 0
redis.call('ZADD', queue, first - 2, other, first - 1, ARGV[1])
grow(queue, mine.ttl)
promote(lock)
send_news()
return 1
