"""Lines and bars go to stderr; a log file gets no bars."""

import pytest

from pipelines.console import Progress, say

pytestmark = pytest.mark.backend_free


def test_lines_go_to_stderr(capsys):
    say("one", "two")
    captured = capsys.readouterr()
    assert captured.err == "one\ntwo\n"
    assert captured.out == ""


def test_nothing_to_say_says_nothing(capsys):
    say()
    assert capsys.readouterr().err == ""


def test_a_log_file_gets_no_bars(capsys):
    with Progress("some", 3) as progress:
        progress.add(2)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
