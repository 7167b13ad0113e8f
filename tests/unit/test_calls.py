"""A paid call: whatever crashes in between, a reply that reached us is never paid for again."""

import pytest

from autoops.calls import UNKNOWN_REPEATS
from autoops.domain.admissions import AdmissionState
from autoops.domain.ledger import OnUnknown
from autoops.domain.model import ModelReply
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
from fakes import Killed, killed, raising, tool
from gate_bench import DOLLAR
from samples import ANSWER, RUN, claim
from unit.desk import ASKED, COST, WORST, Desk, spent


@pytest.fixture
def desk() -> Desk:
    return Desk()


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
    desk.behind.watch = killed(moment)
    desk.dies()
    desk.make(tool(ANSWER))
    assert (desk.asked, desk.money) == (1, spent(COST))


@pytest.mark.parametrize("moment", AFTER_THE_REPLY_IS_KEPT)
def test_a_crash_after_the_reply_was_kept_settles_it_and_asks_nobody(
    desk: Desk, moment: str
) -> None:
    desk.behind.watch = killed(moment)
    desk.dies(tool(ANSWER))
    reply, record = desk.make()
    assert (reply.tool_input, record.attempt) == (ANSWER, 1)
    assert (desk.asked, desk.money) == (1, spent(COST))


def test_a_crash_after_settling_answers_from_the_record(desk: Desk) -> None:
    desk.behind.watch = killed("after settle")
    desk.dies(tool(ANSWER))
    desk.make()
    assert (desk.asked, desk.money) == (1, spent(COST))


@pytest.mark.parametrize("moment", ["after begin", "before keep_reply"])
def test_a_crash_with_unknown_outcome_is_charged_in_full_and_repeated_once(
    desk: Desk, moment: str
) -> None:
    desk.behind.watch = killed(moment)
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
        if unknown is Killed:
            desk.behind.pass_lease()
    with pytest.raises(OutcomeUnknown, match="2 attempts"):
        desk.make()
    assert (desk.asked, desk.money) == (2, spent(2 * WORST))
    assert desk.state is AdmissionState.LOST
    with pytest.raises(AdmissionLost):
        desk.make()


def test_without_money_a_call_of_unknown_outcome_is_not_repeated() -> None:
    desk = Desk(ceiling=WORST)
    desk.dies(Killed("x"))
    with pytest.raises(AdmissionLost, match="not repeated: money"):
        desk.make()
    assert (desk.asked, desk.money) == (1, (0, 0, WORST))
    with pytest.raises(BudgetExceeded):
        desk.admit()


def test_where_the_run_says_so_a_call_of_unknown_outcome_fails_and_is_not_repeated() -> None:
    desk = Desk(on_unknown=OnUnknown.FAIL)
    desk.dies(Killed("x"))
    with pytest.raises(OutcomeUnknown, match="1 attempts"):
        desk.make()
    assert (desk.asked, desk.money) == (1, spent(WORST))


def test_a_stopped_run_repeats_nothing_and_pays_what_is_unknown(desk: Desk) -> None:
    desk.dies(Killed("x"))
    desk.behind.ledger.stop(RUN.root)
    with pytest.raises(AdmissionLost, match="stopped"):
        desk.make()
    assert (desk.asked, desk.money) == (1, spent(WORST))


def test_a_call_refused_for_rate_gives_its_money_back_and_comes_back_through_the_gate(
    desk: Desk,
) -> None:
    for _ in range(5):
        with pytest.raises(ModelThrottled):
            desk.make(ModelThrottled("x"))
        assert (desk.money, desk.state) == (spent(0), AdmissionState.RELEASED)
        with pytest.raises(AdmissionLost):
            desk.make()
        desk.admit()
    desk.make(tool(ANSWER))
    assert desk.money == spent(COST)


def test_a_model_out_of_reach_costs_nothing_and_the_call_stays_admitted(desk: Desk) -> None:
    for _ in range(5):
        with pytest.raises(ModelUnavailable):
            desk.make(ModelUnavailable("x"))
        assert desk.money == (DOLLAR - WORST, WORST, 0)
        assert desk.state is AdmissionState.GRANTED
    desk.make(tool(ANSWER))
    assert desk.money == spent(COST)


def test_a_model_out_of_reach_of_a_stopped_run_gives_the_money_back(desk: Desk) -> None:
    desk.behind.ledger.stop(RUN.root)
    with pytest.raises(ModelUnavailable):
        desk.make(ModelUnavailable("x"))
    assert (desk.money, desk.state) == (spent(0), AdmissionState.RELEASED)


@pytest.mark.parametrize("refused", [ContextTooLong, ModelNotAllowed, ModelMisconfigured])
def test_a_call_refused_for_good_gives_its_money_back(
    desk: Desk, refused: type[AutoOpsError]
) -> None:
    with pytest.raises(refused):
        desk.make(refused("x"))
    assert (desk.money, desk.state) == (spent(0), AdmissionState.RELEASED)


def test_a_call_that_was_not_admitted_is_not_made() -> None:
    desk = Desk()
    desk.behind.admissions.release(desk.standing)
    with pytest.raises(AdmissionLost):
        desk.make()
    assert desk.asked == 0


@pytest.mark.parametrize("operation", ["begin", "call_record"])
def test_when_the_ledger_is_out_of_reach_no_call_is_made(desk: Desk, operation: str) -> None:
    if operation == "call_record":
        desk.make(tool(ANSWER))
    down = DependencyUnavailable("dynamodb: down")
    desk.behind.watch = raising(f"before {operation}", down)
    with pytest.raises(DependencyUnavailable):
        desk.make()
    assert desk.asked == (1 if operation == "call_record" else 0)


def test_when_settling_fails_the_reply_is_settled_later_and_not_paid_again(desk: Desk) -> None:
    desk.behind.watch = raising("before settle", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        desk.make(tool(ANSWER))
    desk.make()
    assert (desk.asked, desk.money) == (1, spent(COST))


def test_a_slow_worker_that_was_given_up_is_counted_and_its_reply_is_not(desk: Desk) -> None:
    def slow() -> ModelReply:
        desk.behind.pass_lease()
        desk.make(tool({**ANSWER, "text": "fast"}))
        return tool({**ANSWER, "text": "slow"})

    with pytest.raises(CallInProgress):
        desk.behind.calls(RUN).make(ASKED, slow)
    reply, record = desk.make()
    assert (reply.tool_input["text"], record.attempt) == ("fast", 2)
    assert desk.money == spent(2 * COST)


def test_a_slow_workers_cost_is_counted_though_the_repeat_was_refused_for_good(
    desk: Desk,
) -> None:
    def slow() -> ModelReply:
        desk.behind.pass_lease()
        with pytest.raises(ContextTooLong):
            desk.make(ContextTooLong("x"))
        return tool({**ANSWER, "text": "slow"})

    with pytest.raises(CallInProgress, match="its cost is counted"):
        desk.behind.calls(RUN).make(ASKED, slow)
    assert desk.money == spent(COST)


def test_a_reply_of_a_lost_attempt_that_was_kept_is_settled_and_not_paid_again(desk: Desk) -> None:
    def slow() -> ModelReply:
        desk.behind.pass_lease()
        desk.dies(Killed("the repeat"))
        return tool({**ANSWER, "text": "slow"})

    desk.behind.watch = killed("after keep_reply")
    with pytest.raises(Killed):
        desk.behind.calls(RUN).make(ASKED, slow)
    reply, record = desk.make()
    assert (reply.tool_input["text"], record.attempt) == ("slow", 1)
    assert (desk.asked, desk.money) == (1, spent(COST + WORST))


def test_a_reply_is_not_taken_for_another_requests_on_the_same_path(desk: Desk) -> None:
    desk.make(tool(ANSWER))
    other = claim(fingerprint="e" * 64, worst=WORST)
    desk.behind.ask(RUN, other)
    calls = desk.behind.calls(RUN)
    with pytest.raises(Killed):
        calls.make(other, _dying)
    desk.behind.pass_lease()
    reply, _ = calls.make(other, lambda: tool({**ANSWER, "text": "another"}))
    assert reply.tool_input["text"] == "another"
    assert desk.money == spent(COST + WORST + COST)


def test_a_settled_call_whose_reply_is_gone_is_not_answered_from_nothing(desk: Desk) -> None:
    desk.make(tool(ANSWER))
    desk.behind.artifacts.values.clear()
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
    desk.behind.watch = killed(moment, times)
    desk.script = [tool(ANSWER)] * 4
    ended = _until_it_ends(desk)
    available, reserved, paid = desk.money
    assert (available + paid, reserved) == (DOLLAR, 0)
    assert paid <= desk.asked * COST + times * WORST
    assert ended or paid == 2 * WORST


def _until_it_ends(desk: Desk) -> bool:
    for _ in range(6):
        try:
            desk.make()
        except Killed:
            desk.behind.pass_lease()
            continue
        except OutcomeUnknown:
            return False
        return True
    raise AssertionError("it never ended")


def _dying() -> ModelReply:
    raise Killed("kill -9")
