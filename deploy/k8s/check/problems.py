"""What the checks found."""


class Problems:
    """Counts checks and collects what failed."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.checked = 0
        self.where = ""

    def expect(self, holds: object, problem: str) -> bool:
        """Counts a check, and notes `problem` unless it holds."""
        if holds:
            self.checked += 1
            return True
        text = f"{self.where}: {problem}"
        if text not in self.found:
            self.found.append(text)
        return False
