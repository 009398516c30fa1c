"""Whatever the bytes, a reader of tagged data yields examples or InputError."""

import pathlib
import tempfile

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.tagged.conll import read_conll
from pipelines.data.tagged.conllu import read_conllu
from pipelines.data.tagged.jsonl import read_tagged_jsonl
from pipelines.data.tagged.reading import read_tagged
from pipelines.data.tagged.spans import read_spans
from pipelines.errors import InputError

_PIECES = (
    b"\n", b"\r\n", b"\t", b" ", b"#", b"# newdoc\n", b"# text = a b\n",
    b"# id = 4\n", b"-DOCSTART-", b"O", b"B-X", b"a", b"\xef\xbb\xbf", b"\x00",
    b"\xff", b"\xc2\xa0", b"\xe2\x80\xa8", b"1\ta\t_\tX\tY\t_\t_\t_\t_\tk=v\n",
    b"1-2", b"1.1", b"2", b"_", b'{"tokens": ["a"], "tags": ["O"]}\n',
    b'{"text": "a b", "spans": [[0, 1, "X"]]}\n', b'{"text": "a b", "spans": ',
    b"[0, 1, \"X\"]", b"[", b"]", b"}", b'"', b"\\ud83d", b",", b"1e999",
    b"NaN",
)  # fmt: skip
_CONTENT = st.one_of(
    st.binary(max_size=80),
    st.lists(st.sampled_from(_PIECES), max_size=25).map(b"".join),
    st.text(max_size=60).map(str.encode),
)
_READERS = {
    "conll": read_conll,
    "words": lambda path: read_conll(path, tag=None),
    "conllu": read_conllu,
    "misc": lambda path: read_conllu(path, "misc:k"),
    "jsonl": read_tagged_jsonl,
    "spans": read_spans,
    "any": read_tagged,
}


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize(
    "suffix", ["jsonl", "jsonl.gz", "conll.bz2", "txt.zip"]
)
@hypothesis.given(content=_CONTENT)
@hypothesis.settings(max_examples=60, deadline=None)
def test_random_bytes(reader, suffix, content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"data.{suffix}"
        path.write_bytes(content)
        try:
            for example in _READERS[reader](path):
                tags = example.tags
                assert tags is None or len(tags) == len(example.tokens)
                if example.offsets is not None:
                    assert len(example.offsets) == len(example.tokens)
        except InputError as error:
            assert "data." in str(error)
