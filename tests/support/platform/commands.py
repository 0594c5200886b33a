"""The command line on a platform that lacks calls: the platform, then the command."""

import sys

from tests.support.platform.lack import remove

if __name__ == "__main__":
    remove(sys.argv[1])
    from fencepost.cli import main

    sys.exit(main(sys.argv[2:]))
