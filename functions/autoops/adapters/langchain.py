"""The one import of langchain-aws, without the half of its cost that no call needs.

langchain-core imports one enumeration from langsmith, and with it runs `langsmith.types`, several
hundred modules of a tracing service's API: 0.4 s of CPU at every cold start.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from langchain_aws import ChatBedrockConverse

UNUSED: Final = "langsmith.types"


@cache
def chat_class() -> "type[ChatBedrockConverse]":
    """The client class, imported on first use."""
    try:
        with package_not_run(UNUSED):
            from langchain_aws import ChatBedrockConverse
    except (ImportError, AttributeError):
        # A release that needs the package after all: slower, and right.
        from langchain_aws import ChatBedrockConverse
    return ChatBedrockConverse


@contextmanager
def package_not_run(name: str) -> Iterator[None]:
    """Inside the block a package's modules can be imported without running its `__init__`.

    Afterwards nothing is left of it: whoever imports the package then, gets it whole.
    """
    spec = None if name in sys.modules else _spec(name)
    if spec is None:
        yield
        return
    bare = importlib.util.module_from_spec(spec)
    sys.modules[name] = bare
    try:
        yield
    finally:
        if sys.modules.get(name) is bare:
            del sys.modules[name]


def _spec(name: str) -> "importlib.machinery.ModuleSpec | None":
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
