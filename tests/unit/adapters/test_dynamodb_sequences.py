"""Any sequence of operations: the ledger on DynamoDB answers as the simple one in memory does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from fake_ledger import FakeLedger
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import Table
from autoops.domain.admissions import Admission, AdmissionState, Begun
from autoops.errors import AutoOpsError
from autoops.ports import Ledger
from fake_dynamodb import FakeDynamoDB
from samples import CALL, RUN, claim, opened, record

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CEILING = 1_000
OPEN = (AdmissionState.GRANTED, AdmissionState.CALLING)
PATHS = [f"{CALL}/{number}" for number in range(2)]


@dataclass(frozen=True)
class Move:
    """What some worker does next, to an admission of its own that may be long out of date."""

    kind: Literal["admit", "begin", "repeat", "settle", "lose", "release", "uncharge"]
    path: str
    fingerprint: str
    amount: int
    held: int


moves = st.builds(
    Move,
    kind=st.sampled_from(
        ["admit", "admit", "begin", "begin", "repeat", "settle", "lose", "release", "uncharge"]
    ),
    path=st.sampled_from(PATHS),
    fingerprint=st.sampled_from(["e" * 64, "f" * 64]),
    amount=st.sampled_from([0, 1, 300, 700]),
    held=st.integers(0, 5),
)


@dataclass
class Both:
    """Both ledgers side by side, and the admissions that workers hold."""

    simple: FakeLedger = field(default_factory=FakeLedger)
    real: DynamoLedger = field(
        default_factory=lambda: DynamoLedger(
            Table(cast("DynamoDBClient", FakeDynamoDB()), "Ledger")
        )
    )
    held: list[Admission] = field(default_factory=list)

    def make(self, move: Move) -> None:
        if move.kind == "admit":
            asked = claim(move.path, move.fingerprint, move.amount)
            self.same(lambda ledger: ledger.admit(RUN, asked))
        elif move.kind == "begin":
            asked = claim(move.path, move.fingerprint, self.worst(move.path))
            self.hold(self.same(lambda ledger: ledger.begin(RUN, asked)))
        elif self.held:
            self.go_on(move, self.held[move.held % len(self.held)])

    def go_on(self, move: Move, admission: Admission) -> None:
        if move.kind == "settle":
            paid = record(admission, move.amount)
            self.same(lambda ledger: ledger.settle(RUN, admission, paid))
        else:
            self.hold(self.same(lambda ledger: getattr(ledger, move.kind)(RUN, admission)))

    def same(self, act: Callable[[Ledger], object]) -> object:
        simple, real = _said(act, self.simple), _said(act, self.real)
        assert simple == real
        return real

    def hold(self, said: object) -> None:
        found = said.admission if isinstance(said, Begun) else said
        if isinstance(found, Admission):
            self.held.append(found)

    def worst(self, path: str) -> int:
        standing = self.simple.books[RUN.root].admissions.get(path)
        return standing.claim.worst if standing else 0

    def check(self) -> None:
        book = self.simple.books[RUN.root]
        still = [each for each in book.admissions.values() if each.state in OPEN]
        assert book.budget.reserved == sum(each.claim.worst for each in still)
        assert self.real.view(RUN.root) == self.simple.view(RUN.root)


def _said(act: Callable[[Ledger], object], ledger: Ledger) -> object:
    try:
        return act(ledger)
    except AutoOpsError as error:
        return type(error)


@given(st.lists(moves, min_size=3, max_size=25))
@settings(max_examples=300, phases=(Phase.explicit, Phase.generate, Phase.shrink))
def test_any_sequence_keeps_the_money_whole_and_both_ledgers_equal(
    sequence: Sequence[Move],
) -> None:
    both = Both()
    both.simple.open_run(opened(CEILING))
    both.real.open_run(opened(CEILING))
    for move in sequence:
        both.make(move)
    both.check()
