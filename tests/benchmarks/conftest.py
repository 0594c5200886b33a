"""`benchmarks` is not installed: it is found from the root of the project, and is not this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
