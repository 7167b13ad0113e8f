"""The embeddings of the laptop: wordllama's 256 dimensions, read from inside its wheel."""

import asyncio
import functools
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local.bedrock.errors import invalid
from local.rest import JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

DIMENSIONS: Final = 256
TEXTS_PER_CALL: Final = 96
CHARACTERS: Final = 50_000

_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"


class WordLlama:
    """Mean of the token vectors of a text, as wordllama computes it.

    The weights and the tokenizer are read straight from the wheel: importing `wordllama` itself
    costs 0.25 s more (requests, pydantic) and sets up the root logger as a side effect.
    """

    def __init__(self, table: "Vectors", tokenizer: Any) -> None:
        self._table = table
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str], *, normalize: bool = True) -> "Vectors":
        """Give one row of 256 numbers per text; a text of no known token becomes the zero row."""
        return self.embed_and_count(texts, normalize=normalize)[0]

    def embed_and_count(
        self, texts: Sequence[str], *, normalize: bool = True
    ) -> tuple["Vectors", list[int]]:
        """As `embed`, with the number of tokens of each text."""
        import numpy as np

        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for index, encoding in enumerate(encoded):
            if encoding.ids:
                rows[index] = self._table[encoding.ids].mean(axis=0, dtype=np.float32)
        if normalize:
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows, [len(encoding.ids) for encoding in encoded]

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


@functools.cache
def wordllama() -> WordLlama:
    """Load the weights on first use, about 0.15 s; call it ahead to keep that out of an answer.

    Raises:
        ModuleNotFoundError: the wordllama package is not installed.
    """
    import numpy as np
    from safetensors import safe_open
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The local embeddings need the package wordllama.")
    home = Path(spec.origin).parent
    with safe_open(home / _WEIGHTS, framework="np") as weights:
        table = weights.get_tensor("embedding.weight")
    tokenizer = Tokenizer.from_file(str(home / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return WordLlama(np.ascontiguousarray(table), tokenizer)


class WordLlamaEmbedder:
    """Answers InvokeModel in the shapes of Titan (one text) and Cohere (up to 96)."""

    async def invoke(self, model_id: str, body: JsonObject) -> JsonObject:
        """Embed one text or a batch.

        Raises:
            ServiceError: ValidationException for blank or too long text, too many texts, other
                dimensions than 256, or a text that has no vector.
        """
        if "texts" in body:
            return await self._batch(model_id, body)
        text = _checked(body.get("inputText"), "inputText")
        if body.get("dimensions", DIMENSIONS) != DIMENSIONS:
            raise invalid(f"dimensions: {model_id} has {DIMENSIONS} dimensions and no others.")
        rows, counts = await asyncio.to_thread(
            _embed, [text], normalize=body.get("normalize", True)
        )
        return {"embedding": rows[0], "inputTextTokenCount": counts[0]}

    async def _batch(self, model_id: str, body: JsonObject) -> JsonObject:
        texts = body["texts"]
        if not isinstance(texts, list) or not 1 <= len(texts) <= TEXTS_PER_CALL:
            raise invalid(f"texts: give a list of 1 to {TEXTS_PER_CALL} texts.")
        checked = [_checked(text, f"texts.{index}") for index, text in enumerate(texts)]
        rows, counts = await asyncio.to_thread(_embed, checked, normalize=True)
        return {
            "id": model_id,
            "response_type": "embeddings_floats",
            "embeddings": rows,
            "texts": checked,
            "inputTextTokenCount": sum(counts),
        }


def _checked(text: object, place: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise invalid(f"{place}: a text that is not blank is required.")
    if len(text) > CHARACTERS:
        raise invalid(f"{place}: {len(text)} characters; at most {CHARACTERS} are allowed.")
    return text


def _embed(texts: list[str], *, normalize: bool) -> tuple[list[list[float]], list[int]]:
    import numpy as np

    rows, counts = wordllama().embed_and_count(texts, normalize=normalize)
    empty = np.flatnonzero(~rows.any(axis=1) | ~np.isfinite(rows).all(axis=1))
    if len(empty):
        raise invalid(f"texts.{empty[0]}: the text has no vector.")
    # Six decimals are what the weights carry, and half the text to read and write.
    short = np.round(rows.astype(np.float64), 6).tolist()
    return short, counts
