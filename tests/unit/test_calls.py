"""A paid call: whatever crashes in between, a reply that reached us is never paid for again."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from autoops.calls import UNKNOWN_REPEATS, PaidCalls
from autoops.domain.admissions import AdmissionState
from autoops.domain.ledger import CallRecord
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage, price_of
from autoops.errors import (
    AdmissionLost,
    AutoOpsError,
    BudgetExceeded,
    CallInProgress,
    ContextTooLong,
    DependencyUnavailable,
    ModelFaulted,
    ModelMisconfigured,
    ModelNotAllowed,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
    OutcomeUnknown,
)
from fakes import FakeArtifacts, FakeLedger, Killed, killed, raising, tool
from samples import ANSWER, CALL, DOLLAR, MODEL, RUN, claim, opened

WORST = 1_000_000
COST = price_of(MODEL).actual(Usage(input=1_000, output=200))
ASKED = claim(worst=WORST)

Said = ModelReply | BaseException


@dataclass
class Desk:
    """A run with one admitted call, and a model that follows a script."""

    ceiling: int = DOLLAR
    ledger: FakeLedger = field(default_factory=FakeLedger)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    script: list[Said] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.ledger.open_run(opened(self.ceiling))
        self.ledger.admit(RUN, ASKED)

    def make(self, *says: Said) -> tuple[ModelReply, CallRecord]:
        self.script += says
        return PaidCalls(RUN, self.ledger, self.artifacts, "answer@1").make(ASKED, self.model)

    def model(self) -> ModelReply:
        self.asked += 1
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    def dies(self, *says: Said) -> None:
        with pytest.raises(Killed):
            self.make(*says)

    @property
    def money(self) -> tuple[int, int, int]:
        """Available, reserved, spent."""
        budget = self.ledger.books[RUN.root].budget
        return budget.available, budget.reserved, budget.spent

    @property
    def state(self) -> AdmissionState:
        return self.ledger.books[RUN.root].admissions[CALL].state


@pytest.fixture
def desk() -> Desk:
    return Desk()


def spent(amount: int) -> tuple[int, int, int]:
    return DOLLAR - amount, 0, amount


def test_a_call_is_made_once_and_charged_what_it_cost(desk: Desk) -> None:
    reply, record = desk.make(tool(ANSWER))
    assert (reply.tool_input, record.cost, record.estimated) == (ANSWER, COST, False)
    assert desk.money == spent(COST)
    assert record.prompt == "answer@1"


def test_made_again_it_answers_from_the_record_and_asks_nobody(desk: Desk) -> None:
    first = desk.make(tool(ANSWER))
    assert desk.make() == first
    assert (desk.asked, desk.money) == (1, spent(COST))


def test_a_reply_without_usage_is_charged_its_worst_case_and_marked(desk: Desk) -> None:
    _, record = desk.make(tool(ANSWER, usage=None))
    assert (record.cost, record.estimated, record.usage) == (WORST, True, None)
    assert desk.money == spent(WORST)


BEFORE_THE_CALL = ["before begin"]
AFTER_THE_REPLY_IS_KEPT = ["after keep_reply", "before settle"]


@pytest.mark.parametrize("moment", BEFORE_THE_CALL)
def test_a_crash_before_the_call_costs_nothing(desk: Desk, moment: str) -> None:
    desk.ledger.watch = killed(moment)
    desk.dies()
    desk.make(tool(ANSWER))
    assert (desk.asked, desk.money) == (1, spent(COST))


@pytest.mark.parametrize("moment", AFTER_THE_REPLY_IS_KEPT)
def test_a_crash_after_the_reply_was_kept_settles_it_and_asks_nobody(
    desk: Desk, moment: str
) -> None:
    desk.ledger.watch = desk.artifacts.watch = killed(moment)
    desk.dies(tool(ANSWER))
    reply, record = desk.make()
    assert (reply.tool_input, record.attempt) == (ANSWER, 1)
    assert (desk.asked, desk.money) == (1, spent(COST))


def test_a_crash_after_settling_answers_from_the_record(desk: Desk) -> None:
    desk.ledger.watch = killed("after settle")
    desk.dies(tool(ANSWER))
    desk.make()
    assert (desk.asked, desk.money) == (1, spent(COST))


@pytest.mark.parametrize("moment", ["after begin", "before keep_reply"])
def test_a_crash_with_unknown_outcome_is_charged_in_full_and_repeated_once(
    desk: Desk, moment: str
) -> None:
    desk.ledger.watch = desk.artifacts.watch = killed(moment)
    desk.dies(tool(ANSWER))
    if not desk.script:
        desk.script.append(tool(ANSWER))
    _, record = desk.make()
    assert record.attempt == 2
    assert desk.money == spent(WORST + COST)


def test_a_worker_killed_in_the_call_is_charged_in_full_and_repeated_once(desk: Desk) -> None:
    desk.dies(Killed("kill -9"))
    desk.make(tool(ANSWER))
    assert (desk.asked, desk.money) == (2, spent(WORST + COST))


@pytest.mark.parametrize("unknown", [ModelTimedOut, ModelFaulted, Killed, RuntimeError])
def test_an_outcome_unknown_after_every_repeat_ends_the_call_and_is_charged(
    desk: Desk, unknown: type[BaseException]
) -> None:
    for _ in range(1 + UNKNOWN_REPEATS):
        with pytest.raises(unknown):
            desk.make(unknown("x"))
    with pytest.raises(OutcomeUnknown, match="2 attempts"):
        desk.make()
    assert (desk.asked, desk.money) == (2, spent(2 * WORST))
    assert desk.state is AdmissionState.LOST
    with pytest.raises(AdmissionLost):
        desk.make()


def test_without_money_a_call_of_unknown_outcome_is_not_repeated() -> None:
    desk = Desk(ceiling=WORST)
    desk.dies(Killed("x"))
    with pytest.raises(BudgetExceeded):
        desk.make()
    assert (desk.asked, desk.money) == (1, (0, 0, WORST))


@pytest.mark.parametrize("refused", [ModelThrottled, ModelUnavailable])
def test_a_call_refused_for_rate_costs_nothing_and_keeps_its_reservation(
    desk: Desk, refused: type[AutoOpsError]
) -> None:
    for _ in range(5):
        with pytest.raises(refused):
            desk.make(refused("x"))
        assert desk.money == (DOLLAR - WORST, WORST, 0)
        assert desk.state is AdmissionState.GRANTED
    desk.make(tool(ANSWER))
    assert desk.money == spent(COST)


@pytest.mark.parametrize("refused", [ContextTooLong, ModelNotAllowed, ModelMisconfigured])
def test_a_call_refused_for_good_gives_its_money_back(
    desk: Desk, refused: type[AutoOpsError]
) -> None:
    with pytest.raises(refused):
        desk.make(refused("x"))
    assert (desk.money, desk.state) == (spent(0), AdmissionState.RELEASED)


def test_a_call_that_was_not_admitted_is_not_made() -> None:
    desk = Desk()
    desk.ledger.books[RUN.root].admissions.clear()
    with pytest.raises(AdmissionLost):
        desk.make()
    assert desk.asked == 0


@pytest.mark.parametrize("operation", ["begin", "call_record"])
def test_when_the_ledger_is_out_of_reach_no_call_is_made(desk: Desk, operation: str) -> None:
    if operation == "call_record":
        desk.make(tool(ANSWER))
    down = DependencyUnavailable("dynamodb: down")
    desk.ledger.watch = raising(f"before {operation}", down)
    with pytest.raises(DependencyUnavailable):
        desk.make()
    assert desk.asked == (1 if operation == "call_record" else 0)


def test_when_settling_fails_the_reply_is_settled_later_and_not_paid_again(desk: Desk) -> None:
    desk.ledger.watch = raising("before settle", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        desk.make(tool(ANSWER))
    desk.make()
    assert (desk.asked, desk.money) == (1, spent(COST))


def test_a_slow_worker_that_was_given_up_is_counted_and_its_reply_is_not(desk: Desk) -> None:
    def slow() -> ModelReply:
        desk.make(tool({**ANSWER, "text": "fast"}))
        return tool({**ANSWER, "text": "slow"})

    calls = PaidCalls(RUN, desk.ledger, desk.artifacts, "answer@1")
    with pytest.raises(CallInProgress):
        calls.make(ASKED, slow)
    reply, record = desk.make()
    assert (reply.tool_input["text"], record.attempt) == ("fast", 2)
    assert desk.money == spent(2 * COST)


def test_a_reply_is_not_taken_for_another_requests_on_the_same_path(desk: Desk) -> None:
    desk.make(tool(ANSWER))
    other = claim(fingerprint="e" * 64, worst=WORST)
    desk.ledger.admit(RUN, other)
    calls = PaidCalls(RUN, desk.ledger, desk.artifacts, "answer@2")
    with pytest.raises(Killed):
        calls.make(other, _dying)
    reply, _ = calls.make(other, lambda: tool({**ANSWER, "text": "another"}))
    assert reply.tool_input["text"] == "another"
    assert desk.money == spent(COST + WORST + COST)


def test_a_settled_call_whose_reply_is_gone_is_not_answered_from_nothing(desk: Desk) -> None:
    desk.make(tool(ANSWER))
    desk.artifacts.values.clear()
    with pytest.raises(AdmissionLost, match="reply is gone"):
        desk.make()


@pytest.mark.parametrize(
    "moment",
    [
        "before begin",
        "after begin",
        "before keep_reply",
        "after keep_reply",
        "before settle",
        "after settle",
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_after_any_crash_nothing_stays_reserved_and_no_reply_is_paid_twice(
    moment: str, times: int
) -> None:
    desk = Desk()
    desk.ledger.watch = desk.artifacts.watch = killed(moment, times)
    desk.script = [tool(ANSWER)] * 4
    ended = _until_it_ends(desk.make)
    available, reserved, paid = desk.money
    assert (available + paid, reserved) == (DOLLAR, 0)
    assert paid <= desk.asked * COST + times * WORST
    assert ended or paid == 2 * WORST


def _until_it_ends(make: Callable[[], object]) -> bool:
    for _ in range(6):
        try:
            make()
        except Killed:
            continue
        except OutcomeUnknown:
            return False
        return True
    raise AssertionError("it never ended")


def _dying() -> ModelReply:
    raise Killed("kill -9")
