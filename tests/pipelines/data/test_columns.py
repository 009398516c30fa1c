import pytest

from pipelines.data.columns import Columns, choose_columns, example_from
from pipelines.errors import InputError


@pytest.mark.parametrize(
    "found, text, pair, label",
    [
        (["label", "text"], "text", None, "label"),
        (["Text", "Label"], "Text", None, "Label"),
        (["sentence", "category"], "sentence", None, "category"),
        (["review", "title", "class"], "review", None, "class"),
        (["content", "target"], "content", None, "target"),
        (["document", "labels"], "document", None, "labels"),
        (["text", "text_pair", "label"], "text", "text_pair", "label"),
        (
            ["sentence1", "sentence2", "score"],
            "sentence1",
            "sentence2",
            "score",
        ),
        (["premise", "hypothesis", "label"], "premise", "hypothesis", "label"),
        (["question", "sentence", "label"], "question", "sentence", "label"),
        (
            ["question1", "question2", "label"],
            "question1",
            "question2",
            "label",
        ),
        (["question", "score", "label"], "question", None, "label"),
    ],
)
def test_usual_names_are_detected(found, text, pair, label):
    assert choose_columns(found, "f") == Columns(text, pair, label)


def test_given_names_win_over_usual_ones():
    found = ["text", "label", "headline", "mood"]
    columns = choose_columns(found, "f", text="headline", label="mood")
    assert columns == Columns("headline", None, "mood")


def test_a_given_text_means_one_text():
    found = ["premise", "hypothesis", "label"]
    assert choose_columns(found, "f", text="hypothesis").text_pair is None


def test_a_given_pair_is_not_detected_as_the_text():
    columns = choose_columns(["text", "body", "label"], "f", "body", "text")
    assert (columns.text, columns.text_pair) == ("body", "text")


def test_a_given_label_is_not_detected_as_the_text():
    columns = choose_columns(["text", "content"], "f", label="text")
    assert (columns.text, columns.label) == ("content", "text")


@pytest.mark.parametrize("option", ["text", "text_pair", "label"])
def test_a_missing_asked_column_lists_what_was_found(option):
    flag = "--" + option.replace("_", "-")
    message = (
        f'f: no column "x" \\({flag}\\); found the columns "text", "label"'
    )
    with pytest.raises(InputError, match=message):
        choose_columns(["text", "label"], "f", **{option: "x"})


def test_no_text_column_names_the_option():
    with pytest.raises(InputError, match='found the columns "a", .* --text'):
        choose_columns(["a", "label"], "f")


def test_no_label_column_names_the_option():
    with pytest.raises(InputError, match='found the columns "text".* --label'):
        choose_columns(["text"], "f")


def test_unlabelled_data_need_no_label_column():
    assert choose_columns(["text"], "f", labelled=False).label is None


def test_unlabelled_data_still_need_the_label_that_was_asked_for():
    with pytest.raises(InputError, match='no column "mood"'):
        choose_columns(["text"], "f", label="mood", labelled=False)


def test_one_column_cannot_be_two_things():
    with pytest.raises(InputError, match="asked for twice"):
        choose_columns(["text", "label"], "f", text="text", label="text")


def test_a_column_in_use_stands_once():
    with pytest.raises(InputError, match='column "label" stands twice'):
        choose_columns(["text", "label", "label"], "f")


def test_columns_out_of_use_may_repeat():
    assert choose_columns(["", "", "text", "label"], "f").text == "text"


def test_many_and_long_names_are_shortened_in_messages():
    with pytest.raises(InputError) as error:
        choose_columns([f"{i}" + "x" * 999 for i in range(999)], "f")
    assert len(str(error.value)) < 1200


@pytest.mark.parametrize("identifier", ["a", 7, None])
def test_the_id_is_kept(identifier):
    row = {"text": "t", "id": identifier}
    columns = choose_columns(list(row), "f", labelled=False)
    assert example_from(row, columns, "f").id == identifier


def test_an_id_that_pandas_made_a_float_is_an_integer_again():
    columns = Columns("text", id="id")
    assert example_from({"text": "t", "id": 7.0}, columns, "f").id == 7
    assert (
        example_from({"text": "t", "id": float("nan")}, columns, "f").id is None
    )


@pytest.mark.parametrize("identifier", [True, 1.5, [1], {}])
def test_other_ids_are_refused(identifier):
    with pytest.raises(InputError, match='f: field "id": expected'):
        example_from(
            {"text": "t", "id": identifier}, Columns("text", id="id"), "f"
        )


@pytest.mark.parametrize("value", [None, 3, 2.5, True, ["a"], {}, b"bytes"])
def test_a_text_is_a_string(value):
    with pytest.raises(InputError, match='f: field "text": expected a text'):
        example_from({"text": value}, Columns("text"), "f")


def test_a_null_second_text_is_no_second_text():
    row = {"text": "a", "other": None}
    assert example_from(row, Columns("text", "other"), "f").text_pair is None
