"""Names and ARNs of state machines and executions."""

import re
from dataclasses import dataclass
from typing import Final

from local.constants import NAME_CHARACTERS
from local.stepfunctions.errors import ApiError

_FORBIDDEN: Final = re.compile(r"[\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Names:
    """Makes the ARNs of one account and region."""

    account: str
    region: str
    partition: str = "aws"

    def machine(self, name: str) -> str:
        """The ARN of a state machine."""
        return self._arn(f"stateMachine:{name}")

    def execution(self, machine: str, name: str) -> str:
        """The ARN of a Standard execution."""
        return self._arn(f"execution:{machine}:{name}")

    def express(self, machine: str, name: str, once: str) -> str:
        """The ARN of an Express execution."""
        return self._arn(f"express:{machine}:{name}:{once}")

    def activity(self, name: str) -> str:
        """The ARN of an activity."""
        return self._arn(f"activity:{name}")

    def map_run(self, machine: str, label: str, name: str) -> str:
        """The ARN of a map run."""
        return self._arn(f"mapRun:{machine}/{label}:{name}")

    def _arn(self, resource: str) -> str:
        return f"arn:{self.partition}:states:{self.region}:{self.account}:{resource}"


def check_name(name: str) -> str:
    """The name itself.

    Raises:
        ApiError: InvalidName; it is empty, too long, or has a character that names may not have.
    """
    if not name or len(name) > NAME_CHARACTERS or _FORBIDDEN.search(name):
        raise ApiError("InvalidName", f"Invalid Name: '{name}'")
    return name


def check_arn(arn: str, *kinds: str) -> str:
    """The ARN itself.

    Raises:
        ApiError: InvalidArn; it is no ARN, or one of another kind of resource.
    """
    if not arn.startswith("arn:"):
        raise ApiError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {arn}'")
    parts = arn.split(":")
    kind = parts[5] if len(parts) > 6 else ""
    if kind not in kinds:
        raise ApiError(
            "InvalidArn", f"Invalid Arn: 'Resource type not valid in this context: {kind}'"
        )
    return arn
