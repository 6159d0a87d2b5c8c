"""A program for `ouro snakgame judge`: extends to the first empty neighbour, otherwise starts anew."""

import sys


def main():
    rows, columns, count = map(int, sys.stdin.readline().split())
    cells = [(x, y) for x in range(1, rows + 1) for y in range(1, columns + 1)]
    empty = set(cells)
    for _ in range(count):
        empty.discard(tuple(map(int, sys.stdin.readline().split())))
    ends = []
    while empty:
        for x, y in ends:
            near = [(x - 1, y), (x, y - 1), (x, y + 1), (x + 1, y)]
            target = next((cell for cell in near if cell in empty), None)
            if target:
                print("MOVE", x, y, *target, flush=True)
                ends[ends.index((x, y))] = target
                break
        else:
            target = next(cell for cell in cells if cell in empty)
            print("NEW", *target, flush=True)
            ends = [target, target]
        empty.discard(target)
        answer = sys.stdin.readline().split()
        if answer[0] in ("NEW", "MOVE"):
            empty.discard((int(answer[-2]), int(answer[-1])))


main()
