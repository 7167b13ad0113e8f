"""A desk at which one admitted call is made."""

from dataclasses import dataclass, field

import pytest

from autoops.domain.admissions import Admission, AdmissionState
from autoops.domain.ledger import CallRecord, OnUnknown
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage, price_of
from fakes import Killed
from gate_bench import DOLLAR, GateBench
from samples import CALL, MODEL, RUN, claim

WORST = 1_000_000
COST = price_of(MODEL).actual(Usage(input=1_000, output=200))
ASKED = claim(worst=WORST).model_copy(update={"prompt": "answer@1"})

Said = ModelReply | BaseException


@dataclass
class Desk:
    """A run with one admitted call, and a model that follows a script."""

    ceiling: int = DOLLAR
    on_unknown: OnUnknown = OnUnknown.REPEAT
    behind: GateBench = field(default_factory=GateBench)
    script: list[Said] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.behind.open(RUN, self.ceiling, on_unknown=self.on_unknown)
        self.admit()

    def admit(self) -> None:
        self.behind.ask(RUN, ASKED, token=None)

    def make(self, *says: Said) -> tuple[ModelReply, CallRecord]:
        self.script += says
        return self.behind.calls(RUN).make(ASKED, self.model)

    def model(self) -> ModelReply:
        self.asked += 1
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    def dies(self, *says: Said) -> None:
        """A worker is killed; nobody hears of it before its lease ends."""
        with pytest.raises(Killed):
            self.make(*says)
        self.behind.pass_lease()

    @property
    def money(self) -> tuple[int, int, int]:
        """Available, reserved, spent."""
        return self.behind.money(RUN)

    @property
    def state(self) -> AdmissionState:
        return self.behind.states(RUN)[CALL]

    @property
    def standing(self) -> Admission:
        (admission,) = self.behind.view(RUN).admissions
        return admission


def spent(amount: int) -> tuple[int, int, int]:
    return DOLLAR - amount, 0, amount
