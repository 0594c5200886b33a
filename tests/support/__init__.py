"""What tests share: plugins for this suite, and the parts that tests are made of. No test stands here."""
