SELECT fencepost_claim(:name, :token)
