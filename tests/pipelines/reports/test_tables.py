"""Tables in Markdown."""

import pytest

from pipelines.reports.tables import markdown_table

pytestmark = pytest.mark.backend_free


def test_a_table_has_a_header_a_rule_and_its_rows():
    table = markdown_table(
        ("what", "how many", "share"), [("a|b", 23837184, 0.21773)]
    )
    assert table.split("\n") == [
        "| what | how many | share |",
        "| --- | ---: | ---: |",
        "| a\\|b | 23,837,184 | 0.218 |",
    ]


def test_a_line_break_does_not_end_a_row():
    assert markdown_table(["x"], [["one\ntwo"]]).endswith("| one two |")


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="Expected 2 cells"):
        markdown_table(["x", "y"], [[1]])
