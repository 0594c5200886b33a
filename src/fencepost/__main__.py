"""`python -m fencepost` is the command line."""

import sys

from fencepost.cli import main

sys.exit(main())
