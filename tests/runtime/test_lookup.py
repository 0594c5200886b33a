"""A host can be looked up whatever interrupted the first look-up."""

import subprocess
import sys


def test_what_a_look_up_imports_is_there_before_anybody_can_be_interrupted_in_it() -> None:
    code = "import sys, fencepost; fencepost.connect; print('encodings.idna' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"
