-- Look through some of a node's keys for locks that are held or waited for: where to go on, or '0', and what was found.
-- No list of them is kept: it would cost every acquire and release. ARGV where to begin, pattern of locks, of queues
local next, found = nil, {}
for i = 2, 3 do
  local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[i], 'COUNT', 1000)
  next = page[1]
  for _, key in ipairs(page[2]) do
    local waited_for = string.match(key, '^fencepost%zqueue%z(.*)$')
    local value = not waited_for and redis.pcall('GET', key)
    if waited_for or (type(value) == 'string' and string.sub(value, 1, 3) == 'fp:') then
      found[#found + 1] = waited_for or key
    end
  end
end
return { next, found }
