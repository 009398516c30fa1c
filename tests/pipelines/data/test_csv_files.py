import csv
import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.csv_files import read_csv, read_tsv
from pipelines.data.examples import TextExample
from pipelines.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(content, name="a.csv"):
        if isinstance(content, str):
            content = content.encode("utf-8")
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def rows(examples):
    return [(e.text, e.label) for e in examples]


def test_examples_say_where_they_stand(write):
    path = write("text,label,id\na,x,7\n")
    assert list(read_csv(path)) == [
        TextExample("a", None, "x", f"{path}:2", "7")
    ]


def test_lines_are_physical_lines_where_records_start(write):
    path = write('text,label\n\n"one\ntwo\n",x\n\nb,y\n')
    assert [e.where for e in read_csv(path)] == [f"{path}:3", f"{path}:7"]


def test_words_for_missing_values_are_texts(write):
    path = write(
        "text,label\nNone of them came,NA\nNA,EU\nnull,EU\nnan,NA\n,EU\n"
    )
    assert rows(read_csv(path)) == [
        ("None of them came", "NA"),
        ("NA", "EU"),
        ("null", "EU"),
        ("nan", "NA"),
        ("", "EU"),
    ]


@pytest.mark.parametrize("read", [read_csv, read_tsv])
@pytest.mark.parametrize("header", ["text{}label", '"text"{}"label"'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_is_not_part_of_the_header(write, read, header, end):
    mark = "," if read is read_csv else "\t"
    path = write(f"\ufeff{header.format(mark)}{end}a{mark}x{end}")
    assert rows(read(path)) == [("a", "x")]


def test_headers_are_stripped(write):
    assert rows(read_csv(write(" text , label \na,x\n"))) == [("a", "x")]


def test_the_repeated_header_of_concatenated_files_is_no_row(write):
    file = "\ufefftext,label\na,x\n"
    assert rows(read_csv(write(file + file))) == [("a", "x"), ("a", "x")]


def test_a_single_column_has_no_repeated_header(write):
    path = write("text\ntext\n")
    assert [e.text for e in read_csv(path, labelled=False)] == ["text"]


def test_text_in_the_odd_corners_of_unicode_stays(write):
    text = "nul\0 us\x1f ls\u2028 nel\x85 nbsp\xa0 \U0010ffff é ẞ"
    assert rows(read_csv(write(f"text,label\n{text},x\n"))) == [(text, "x")]
    path = write(f"text\tlabel\n{text}\tx\n", "a.tsv")
    assert rows(read_tsv(path)) == [(text, "x")]


def test_a_huge_cell_is_read(write):
    huge = "word " * 200_000
    assert rows(read_csv(write(f"text,label\n{huge},x\n"))) == [(huge, "x")]


def test_empty_and_blank_texts_are_texts(write):
    path = write('text\n""\n" "\nfine\n')
    found = [e.text for e in read_csv(path, labelled=False)]
    assert found == ["", " ", "fine"]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_header_without_commas_may_be_separated_otherwise(write, mark):
    path = write(f'text{mark}label\n"a{mark} b, c"{mark}x\n')
    assert rows(read_csv(path)) == [(f"a{mark} b, c", "x")]


def test_quotes_inside_a_plain_cell_are_characters(write):
    path = write('text,label\nsay "hi" now,x\n')
    assert rows(read_csv(path)) == [('say "hi" now', "x")]


@pytest.mark.parametrize(
    "record",
    ['"open,x\nb,y\n', '"a "b" c",x\n', '"a \\"b\\" c",x\n', '"a" ,x\n'],
)
def test_broken_quoting_names_the_start_of_the_record(write, record):
    path = write(f"text,label\nfirst,x\n{record}")
    with pytest.raises(InputError, match=r"a\.csv:3: .*not valid CSV"):
        list(read_csv(path))


def test_an_unclosed_quote_does_not_swallow_a_huge_file(write, monkeypatch):
    limit = csv.field_size_limit(1000)
    monkeypatch.setattr("pipelines.data.csv_files._LONGEST_CELL", 1000)
    try:
        path = write('text,label\n"open,x\n' + "b,y\n" * 1000)
        with pytest.raises(InputError, match=r"a\.csv:2: .*field larger"):
            list(read_csv(path))
    finally:
        csv.field_size_limit(limit)


@pytest.mark.parametrize("read, mark", [(read_csv, ","), (read_tsv, "\t")])
@pytest.mark.parametrize("cells", [["lonely"], ["a", "x", "more"], ["a"] * 4])
def test_a_wrong_number_of_cells_names_the_line(write, read, mark, cells):
    path = write(f"text{mark}label\na{mark}x\n\n{mark.join(cells)}\n")
    message = f":4: expected 2 cells as in the header .*found {len(cells)}"
    with pytest.raises(InputError, match=message):
        list(read(path))


@pytest.mark.parametrize("read", [read_csv, read_tsv])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_file_has_no_header(write, read, content):
    with pytest.raises(InputError, match="found an empty file"):
        list(read(write(content)))


@pytest.mark.parametrize("read, mark", [(read_csv, ","), (read_tsv, "\t")])
def test_a_header_alone_is_no_rows(write, read, mark):
    assert list(read(write(f"text{mark}label"))) == []


def test_a_file_without_header_says_so(write):
    path = write("a great film,1\nnot so,0\n")
    message = r':1: .*found the columns "a great film", "1".*first line must'
    with pytest.raises(InputError, match=message):
        list(read_csv(path))


@pytest.mark.parametrize("read, mark", [(read_csv, ","), (read_tsv, "\t")])
def test_bytes_that_are_not_utf8_name_the_offset(write, read, mark):
    path = write(f"text{mark}label\n".encode() + b"caf\xe9" + b"x\n")
    with pytest.raises(InputError, match=r":2: .*0xe9 at offset 14"):
        list(read(path))


def test_utf16_is_named(write):
    with pytest.raises(InputError, match="found UTF-16"):
        list(read_csv(write("text,label\na,x\n".encode("utf-16"))))


def test_reading_is_streaming(write):
    path = write("text,label\n" + "a,x\n" * 10 + '"open')
    assert len(list(itertools.islice(read_csv(path), 10))) == 10


@pytest.mark.parametrize(
    "cell, text",
    [
        ('"Hello', '"Hello'),
        ('he said "hi" and', 'he said "hi" and'),
        ('5" disk', '5" disk'),
        ('"all quoted"', "all quoted"),
        ('"with ""inner"" ones"', 'with "inner" ones'),
        ('"a" and "b"', '"a" and "b"'),
        ('"', '"'),
        ('""', ""),
        ('"tab\tinside"', "tab\tinside"),
        ('"a,b"', "a,b"),
    ],
)
def test_tsv_unquotes_only_whole_cells(write, cell, text):
    path = write(f"text\tlabel\n{cell}\tx\nnext\ty\n", "a.tsv")
    assert rows(read_tsv(path)) == [(text, "x"), ("next", "y")]


def test_tsv_quotes_that_open_and_close_in_two_cells_are_characters(write):
    path = write('text\ttext_pair\tlabel\n"one\ttwo"\tx\n', "a.tsv")
    (example,) = read_tsv(path)
    assert (example.text, example.text_pair) == ('"one', 'two"')


def test_tsv_keeps_an_empty_text_before_a_label(write):
    assert rows(read_tsv(write("text\tlabel\n\tx\n \ty\n"))) == [
        ("", "x"),
        (" ", "y"),
    ]


CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff"),
    max_size=20,
)


@hypothesis.given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
@hypothesis.settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_what_python_writes_is_read_as_it_was(tmp_path, pairs):
    path = tmp_path / "a.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *pairs])
    assert rows(read_csv(path)) == pairs


@hypothesis.given(
    st.lists(
        st.tuples(
            st.text(
                st.characters(
                    exclude_categories=["Cs"],
                    exclude_characters='\r\n\t"\ufeff',
                ),
                max_size=20,
            ),
            st.sampled_from(["x", "y"]),
        ),
        max_size=5,
    )
)
@hypothesis.settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_plain_tsv_is_read_as_it_was(tmp_path, pairs):
    path = tmp_path / "a.tsv"
    lines = ["text\tlabel", *("\t".join(pair) for pair in pairs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    assert rows(read_tsv(path)) == pairs
