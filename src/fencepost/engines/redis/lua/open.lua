-- Make a lease known. KEYS lease; ARGV ttl in ms
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
