SELECT tgrelid::regclass::text, encode(tgargs, 'escape'), tgenabled <> 'D'
FROM pg_trigger WHERE tgname = 'fencepost_fence' ORDER BY 1
