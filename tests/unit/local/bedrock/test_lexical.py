import pytest

from local.bedrock.lexical import stem, terms, words


@pytest.mark.parametrize(
    "forms",
    [
        "execute executes executed executing execution",
        "raise raised raises raising",
        "try tries tried",
        "stop stops stopped stopping",
        "call calls called calling",
        "class classes",
        "evaluate evaluated evaluation",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("word", ["is", "pass", "this", "f_globals", "py3", "capital", "france"])
def test_other_words_stay_recognisable(word: str) -> None:
    assert word.startswith(stem(word))


def test_names_and_hyphens_are_split_as_search_expects() -> None:
    assert words("The for-loop's f_globals, __init__!") == [
        "the",
        "for",
        "loop",
        "s",
        "f_globals",
        "init",
    ]
    assert terms("What happens when the loop is executed?") == ["loop", "execut"]
