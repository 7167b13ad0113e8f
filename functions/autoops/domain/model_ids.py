"""By which id the tables know a model: an ARN that names a model is that model's id.

Nothing is guessed from the parts of a name. The ARN of an application inference profile names no
model, and stays the id it is: the account adds its rows.
"""

import re
from typing import Final

PRICED_REGION: Final = "us-east-1"
"""Where the shipped prices of models without an inference profile hold."""

_PROFILE = re.compile(r"arn:aws:bedrock:[a-z0-9-]+:\d{12}:inference-profile/([a-z0-9.:-]+)")
_FOUNDATION = re.compile(
    rf"arn:aws:bedrock:{PRICED_REGION}::foundation-model/([a-z0-9.:-]+)",
)


def table_id(model: str) -> str:
    """The id to look up: of a system-defined profile its own, of a foundation model the model's.

    Args:
        model: Bedrock model id, inference profile id or ARN.
    """
    found = _PROFILE.fullmatch(model) or _FOUNDATION.fullmatch(model)
    return found[1] if found else model
