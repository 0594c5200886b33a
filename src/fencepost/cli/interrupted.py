"""A signal as an exception, where nothing is left but to end."""


class Interrupted(BaseException):
    """A signal came, and there is no command to pass it on to."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum
