"""What an experiment found, as a table with its targets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """What we want, and what was measured. Smaller is better."""

    want: str
    measured: float
    most: float

    @property
    def met(self) -> bool:
        return self.measured <= self.most

    def __str__(self) -> str:
        return f"{'ok  ' if self.met else 'MISS'} {self.want}: {self.measured:.3g} (at most {self.most:g})"


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment. `figures` are the numbers behind the rows, for machines."""

    title: str
    how: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    targets: Sequence[Target]
    figures: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return {"title": self.title, "how": self.how, "figures": self.figures, "targets": targets}


def show(section: Section, *, pretty: bool) -> None:
    print()
    if pretty:
        _show_pretty(section)
    else:
        print(f"{section.title}\n{_plain(section)}")
    print(section.how)
    for target in section.targets:
        print(target)


def _plain(section: Section) -> str:
    lines = [section.headings, *section.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(section.headings))]
    texts = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join((texts[0], "-" * len(texts[0]), *texts[1:]))


def _show_pretty(section: Section) -> None:
    from rich import box
    from rich import print as rich_print
    from rich.table import Table

    table = Table(title=section.title, title_justify="left", box=box.SIMPLE)
    for column, heading in enumerate(section.headings):
        table.add_column(heading, justify="right" if column else "left", no_wrap=True)
    for row in section.rows:
        table.add_row(*row, style="bold" if row[0].startswith("fencepost") else "")
    rich_print(table)
