# SPDX-License-Identifier: Apache-2.0
"""Chance that is a pure function of seed and index."""
from __future__ import annotations

import random
from typing import Sequence, TypeVar

Item = TypeVar("Item")


class Dice:
    """Only `random()` is used of Python's generator: of it alone Python promises the same numbers in every version."""
    def __init__(self, seed: int, index: int):
        self._random = random.Random(f"{seed}/{index}").random

    def below(self, count: int) -> int:
        return int(self._random() * count)

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[int, Item]]) -> Item:
        rest = self.below(sum(weight for weight, _ in items))
        for weight, item in items:
            rest -= weight
            if rest < 0:
                return item
        return items[-1][1]

    def bytes(self, count: int) -> bytes:
        return bytes(self.below(256) for _ in range(count))
