SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'fencepost_fence'
