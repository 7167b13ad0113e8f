"""Vectors packed into text: a hundred of them are one string instead of a hundred lists."""

import base64
import sys
from array import array
from collections.abc import Sequence
from typing import Self

from autoops.domain.contracts import Contract
from autoops.errors import InvalidInput


class Vectors(Contract):
    """Vectors of one length, in order.

    Attributes:
        dimensions: length of each; 0 when there is none.
        data: base64 of their little-endian 32-bit floats, one vector after the other.
    """

    dimensions: int
    data: str

    @classmethod
    def pack(cls, rows: Sequence[Sequence[float]]) -> Self:
        """Pack rows; a 32-bit float keeps seven digits.

        Raises:
            InvalidInput: the rows differ in length.
        """
        dimensions = len(rows[0]) if rows else 0
        if any(len(row) != dimensions for row in rows):
            raise InvalidInput("vectors: of different lengths")
        numbers = array("f", (number for row in rows for number in row))
        if sys.byteorder == "big":
            numbers.byteswap()
        return cls(dimensions=dimensions, data=base64.b64encode(numbers.tobytes()).decode())

    def rows(self) -> tuple[tuple[float, ...], ...]:
        """The vectors.

        Raises:
            InvalidInput: the data is no whole number of vectors.
        """
        numbers = array("f")
        try:
            numbers.frombytes(base64.b64decode(self.data, validate=True))
        except ValueError:
            raise InvalidInput("vectors: the data is cut off") from None
        if sys.byteorder == "big":
            numbers.byteswap()
        if not self.dimensions:
            return ()
        if len(numbers) % self.dimensions:
            raise InvalidInput("vectors: the data is cut off")
        starts = range(0, len(numbers), self.dimensions)
        return tuple(tuple(numbers[start : start + self.dimensions]) for start in starts)
