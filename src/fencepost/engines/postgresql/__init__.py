"""PostgreSQL: leases in a table (`postgresql://`), and session advisory locks (`postgresql+advisory://`)."""
