-- The locks, of those that start with ARGV[1], that are held or waited for. KEYS index
-- The index may name what was deleted behind our back or is a stranger's by now: each is looked at.
local S = string.sub(KEYS[1], 1, -6)
local found = {}
for _, lock in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(lock, 1, #ARGV[1]) == ARGV[1] then
    local value = redis.pcall('GET', lock)
    local ours = type(value) == 'string' and string.sub(value, 1, 3) == 'fp:'
    if ours or redis.call('EXISTS', S .. 'queue\0' .. lock) == 1 then
      found[#found + 1] = lock
    end
  end
end
return found
