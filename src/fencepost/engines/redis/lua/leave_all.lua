if ARGV[2] == 'close' then
  redis.call('DEL', KEYS[1])
elseif ARGV[4] then
  raise(parse(ARGV[4]), ARGV[3])
end
for i = 2, #KEYS do
  let_go(KEYS[i], parse(ARGV[i + 2]).key)
  step_out(ARGV[i + 2], KEYS[i])
end
for i = 2, #KEYS do
  promote(KEYS[i])
end
send_news()
return 1
