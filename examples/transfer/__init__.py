"""Money moved between accounts by many processes at once, in both directions."""
