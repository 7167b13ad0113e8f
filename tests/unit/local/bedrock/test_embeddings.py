import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from local.bedrock.embeddings import WordLlamaEmbedder, wordllama
from local.rest import ServiceError

MODEL = "local.wordllama-v1"


async def invoke(body: dict[str, Any]) -> dict[str, Any]:
    return await WordLlamaEmbedder().invoke(MODEL, body)


def test_the_vectors_are_those_of_the_wordllama_package() -> None:
    # In a process of its own: importing wordllama sets up the root logger.
    code = (
        "import wordllama, sys, json; from pathlib import Path;"
        "m = wordllama.WordLlama.load("
        "cache_dir=Path(wordllama.__file__).parent, disable_download=True);"
        "print(json.dumps(m.embed(json.loads(sys.argv[1]), norm=True).tolist()))"
    )
    texts = '["The finally clause", "\\u65e5\\u672c \\u00e9t\\u00e9", "x"]'
    theirs = subprocess.run(
        [sys.executable, "-c", code, texts], check=True, capture_output=True, text=True
    )
    ours = wordllama().embed(["The finally clause", "日本 été", "x"])
    np.testing.assert_allclose(ours, json.loads(theirs.stdout), atol=1e-6)


async def test_titans_shape_is_answered_with_256_numbers_of_length_one() -> None:
    answer = await invoke({"inputText": "a try block", "dimensions": 256, "normalize": True})
    assert len(answer["embedding"]) == 256
    assert np.linalg.norm(answer["embedding"]) == pytest.approx(1.0, abs=1e-5)
    assert answer["inputTextTokenCount"] == 3


async def test_coheres_batch_gives_one_vector_per_text_in_order() -> None:
    one = await invoke({"inputText": "a try block"})
    batch = await invoke({"texts": ["a loop", "a try block"], "input_type": "search_document"})
    assert len(batch["embeddings"]) == 2
    assert batch["embeddings"][1] == one["embedding"]


async def test_texts_that_mean_the_same_are_closer_than_others() -> None:
    texts = ["How do I handle an error?", "Exceptions are handled here.", "Bread is baked."]
    a, b, c = np.array((await invoke({"texts": texts}))["embeddings"])
    assert a @ b > a @ c


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputText": " \n"},
        {"inputText": 3},
        {"inputText": "a" * 50_001},
        {"inputText": "a", "dimensions": 1024},
        {"texts": []},
        {"texts": ["a"] * 97},
        {"texts": ["a", ""]},
        {"texts": "a"},
    ],
)
async def test_blank_long_or_unfitting_input_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ServiceError) as refused:
        await invoke(body)
    assert refused.value.name == "ValidationException"
