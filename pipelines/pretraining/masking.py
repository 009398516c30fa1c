"""Which tokens are hidden from the model, and what it sees instead."""

import dataclasses
import math

import numpy as np

SHARE = 0.15
_MASKED, _RANDOM = 0.8, 0.1


@dataclasses.dataclass(frozen=True)
class Masking:
    """BERT's masking: 15 % of the tokens, of these 80/10/10.

    Of the chosen tokens 80 % become `[MASK]`, 10 % a random token and 10 %
    stay; the model is asked for all of them.

    Attributes:
        mask_id: id of `[MASK]`.
        ordinary_ids: int array, the ids of all other than special tokens:
            what a random token is drawn from, and what may be chosen.
        whole_word: choose all pieces of a word or none.

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 3.1
    """

    mask_id: int
    ordinary_ids: np.ndarray
    whole_word: bool = False

    @classmethod
    def of(cls, tokenizer, whole_word: bool = False) -> "Masking":
        """The masking for the vocabulary of a `Tokenizer`."""
        vocabulary = tokenizer.backend.get_vocab()
        special = {*tokenizer.special_tokens.values()}
        ids = [i for token, i in vocabulary.items() if token not in special]
        return cls(
            tokenizer.mask_id, np.array(sorted(ids), "int32"), whole_word
        )

    @staticmethod
    def most(length: int) -> int:
        """The most positions of a row of that length that are chosen."""
        return max(1, math.ceil(SHARE * length))

    def __call__(
        self,
        token_ids: np.ndarray,
        starts: np.ndarray,
        generator: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Masks a batch.

        Args:
            token_ids: int array (batch, seq).
            starts: bool array (batch, seq): where a word begins.
            generator: what is drawn from.

        Returns:
            The masked token ids (batch, seq); the chosen positions, their
            original ids and their weights, each (batch, `most(seq)`). A row
            with fewer chosen positions has weight 0 in the rest.
        """
        batch, length = token_ids.shape
        most = self.most(length)
        positions = np.zeros((batch, most), "int32")
        weights = np.zeros((batch, most), "float32")
        ordinary = np.isin(token_ids, self.ordinary_ids)
        for row in range(batch):
            groups = self._groups(ordinary[row], starts[row])
            # Rounded up or down at random, so that the share holds in short
            # rows too.
            share = SHARE * ordinary[row].sum()
            count = max(1, int(share + generator.random()))
            chosen = _choose(groups, min(count, most), generator)
            positions[row, : len(chosen)] = chosen
            weights[row, : len(chosen)] = 1
        targets = np.take_along_axis(token_ids, positions, axis=1)
        seen = self._seen(targets, generator)
        masked = token_ids.copy()
        rows, places = np.nonzero(weights)
        masked[rows, positions[rows, places]] = seen[rows, places]
        return masked, positions, targets, weights

    def _groups(self, ordinary, starts):
        """Lists of positions that are chosen together."""
        places = np.flatnonzero(ordinary)
        if not self.whole_word:
            return [[place] for place in places.tolist()]
        groups = []
        for place in places.tolist():
            if groups and not starts[place] and groups[-1][-1] == place - 1:
                groups[-1].append(place)
            else:
                groups.append([place])
        return groups

    def _seen(self, targets, generator):
        """What the model sees in place of each chosen token."""
        draw = generator.random(targets.shape)
        other = generator.choice(self.ordinary_ids, targets.shape)
        seen = np.where(draw < _MASKED, self.mask_id, targets)
        is_random = (draw >= _MASKED) & (draw < _MASKED + _RANDOM)
        return np.where(is_random, other, seen).astype(targets.dtype)


def _choose(groups, count, generator):
    """Positions of groups in random order, as many as fit into `count`."""
    chosen = []
    for index in generator.permutation(len(groups)):
        if len(chosen) + len(groups[index]) <= count:
            chosen += groups[index]
        if len(chosen) == count:
            break
    return sorted(chosen)
