SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name = 'fencepost_fence'
