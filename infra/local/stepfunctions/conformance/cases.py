"""The recorded cases, read as they are."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

Case = dict[str, Any]

_PATH_FIELDS: Final = re.compile(
    r'"(?:InputPath|OutputPath|ResultPath|Parameters|ResultSelector|ItemsPath|Variable|'
    r'[A-Za-z]+Path|[^"]+\.\$)"\s*:'
)


def read_cases(folder: Path, file: str, languages: Sequence[str] = ()) -> Iterator[Case]:
    """The cases of a file, only those of the given query languages when some are given."""
    with (folder / file).open(encoding="utf-8") as lines:
        for line in lines:
            case: Case = json.loads(line)
            if not languages or case["query_language"] in languages:
                yield case


def needs_jsonpath(case: Case) -> bool:
    """Whether an API case holds a definition that only JSONPath can run."""
    texts = [call["params"].get("definition", "") for call in case["calls"]]
    return any(_PATH_FIELDS.search(text) for text in texts if isinstance(text, str))
