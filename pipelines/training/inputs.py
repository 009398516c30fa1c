"""What a model reads of many examples, stored without padding."""

import array
import dataclasses

import numpy as np

from pipelines.data.scratch import ScratchArray


class Rows:
    """Arrays of different length, stored end to end without padding.

    Args:
        values: array (total, ...), the rows one after the other.
        lengths: int array (rows,).
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray):
        self.values = values
        self.lengths = np.asarray(lengths, dtype="int64")
        self._ends = np.cumsum(self.lengths)

    @classmethod
    def join(cls, rows: list[np.ndarray], dtype: str) -> "Rows":
        """Stores a list of arrays, perhaps empty."""
        lengths = np.array([len(row) for row in rows], "int64")
        values = np.concatenate([np.zeros(0, dtype), *rows])
        return cls(values.astype(dtype, copy=False), lengths)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index: int) -> np.ndarray:
        end = self._ends[index]
        return self.values[end - self.lengths[index] : end]

    def take(self, rows: np.ndarray) -> "Rows":
        """Some of the rows, over the same values."""
        part = Rows(self.values, self.lengths[rows])
        part._ends = self._ends[rows]
        return part

    def pad(self, indices: np.ndarray, length: int, value=0) -> np.ndarray:
        """The rows of `indices` as one array (rows, length, ...)."""
        shape = (len(indices), length, *self.values.shape[1:])
        padded = np.full(shape, value, self.values.dtype)
        for place, index in enumerate(indices):
            row = self[index][:length]
            padded[place, : len(row)] = row
        return padded


class RowWriter:
    """Collects `Rows` one by one, on disk where they are many.

    Args:
        dtype: of the values.
    """

    def __init__(self, dtype: str):
        self._values = ScratchArray(dtype)
        self._lengths = array.array("q")

    def append(self, row: np.ndarray):
        """Adds a flat array."""
        self._values.append(row)
        self._lengths.append(len(row))

    def rows(self) -> Rows:
        """What was added."""
        return Rows(self._values, np.array(self._lengths, "int64"))


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What a model reads, for many examples at once.

    Attributes:
        columns: name -> `Rows`, or an array whose first axis is the example.
        pad_values: name -> what fills the end of a short row; 0 if absent.
        longest: no row is padded to more, since the model takes no more.
        owners: int array (rows,), where the rows are windows of texts: the
            text of each, from 0, in order. None: a row is an example.
    """

    columns: dict[str, Rows | np.ndarray]
    pad_values: dict[str, int] = dataclasses.field(default_factory=dict)
    longest: int | None = None
    owners: np.ndarray | None = None

    def __len__(self):
        return len(next(iter(self.columns.values())))

    @property
    def lengths(self) -> np.ndarray | None:
        """Length of each row, or None where nothing needs padding."""
        for column in self.columns.values():
            if isinstance(column, Rows):
                return column.lengths
        return None

    def take(self, examples: np.ndarray) -> "Inputs":
        """Some of the examples, with all windows of each."""
        rows, owners = examples, None
        if self.owners is not None:
            counts = np.bincount(self.owners)
            starts = np.cumsum(counts) - counts
            owners = np.repeat(np.arange(len(examples)), counts[examples])
            rows = np.concatenate(
                [starts[i] + np.arange(counts[i]) for i in examples]
            )
        columns = {
            name: column.take(rows)
            if isinstance(column, Rows)
            else column[rows]
            for name, column in self.columns.items()
        }
        return dataclasses.replace(self, columns=columns, owners=owners)

    def batch(self, indices: np.ndarray, length: int) -> dict:
        """A dict of arrays; `padding_mask` is made from the lengths."""
        batch = {}
        for name, column in self.columns.items():
            if isinstance(column, Rows):
                pad_value = self.pad_values.get(name, 0)
                batch[name] = column.pad(indices, length, pad_value)
            else:
                batch[name] = column[indices]
        if self.lengths is not None:
            mask = np.arange(length) < self.lengths[indices][:, None]
            batch["padding_mask"] = mask.astype("int32")
        return batch
