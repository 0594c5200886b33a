"""redis+sentinel://: whichever server the sentinels say is the master."""
