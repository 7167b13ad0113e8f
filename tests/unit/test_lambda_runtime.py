"""What stands between Lambda and a step: nothing private gets out, every error has our name."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError, NoRegionError

from autoops.domain.contracts import Contract, Json, Run, plain, to_json
from autoops.domain.ledger import StepRecord
from autoops.domain.references import LARGE_BYTES, Large, Private, is_reference
from autoops.errors import (
    AutoOpsError,
    BudgetExceeded,
    DependencyUnavailable,
    InvalidInput,
    ModelThrottled,
    PayloadTooLarge,
    StepFaulted,
)
from autoops.lambda_runtime import PAYLOAD_BYTES, StepHandler, lambda_handler_for
from fake_dynamodb import client_error
from fakes import FakeContext, FakeOnce, raising
from gate_bench import GateBench
from samples import RUN
from unit.logs import Logs

CANARY = "canary-7f3a"


class Inner(Contract):
    secret: Private[str]
    open: int


class Input(Contract):
    secret: Private[str]
    count: int = 1


class Output(Contract):
    secret: Private[str]
    maybe: Private[str | None]
    large: Large[str]
    inner: Inner
    count: int


def echo(given: Input, run: Run) -> Output:  # noqa: ARG001
    return Output(
        secret=given.secret,
        maybe=None,
        large="x" * given.count,
        inner=Inner(secret=given.secret, open=7),
        count=given.count,
    )


@dataclass
class Desk:
    """A handler on fakes."""

    written: Logs
    behind: GateBench = field(default_factory=GateBench)
    once: FakeOnce = field(default_factory=FakeOnce)

    def __post_init__(self) -> None:
        self.ledger, self.clock = self.behind.ledger, self.behind.clock
        self.artifacts = self.behind.artifacts
        self.behind.open(RUN)

    def handler(self, step: Callable[..., Contract] = echo, **more: bool) -> StepHandler:
        made = lambda_handler_for(step, accepts=Input, returns=Output, **more)  # type: ignore[arg-type]
        return made.with_ports(
            ledger=lambda: self.ledger,
            artifacts=lambda: self.artifacts,
            clock=lambda: self.clock,
            run_once=lambda: self.once,
        )

    def run(self, given: Json = None, step: Callable[..., Contract] = echo, **more: bool) -> Json:
        event = envelope({"secret": CANARY} if given is None else given)
        return self.handler(step, **more)(event, FakeContext())

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        return self.behind.view(RUN).steps

    def logs(self) -> str:
        return self.written.all()


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(Logs(capsys))


def envelope(given: Json, **changes: Json) -> Json:
    return {"run": plain(RUN), "step": "Echo", "attempt": 0, "input": given, **changes}


def fails(error: Exception) -> Callable[..., Output]:
    def failing(given: Input, run: Run) -> Output:  # noqa: ARG001
        raise error

    return failing


def test_private_fields_leave_by_reference_at_every_level_and_large_ones_when_they_are(
    desk: Desk,
) -> None:
    payload = desk.run()
    assert is_reference(payload["secret"])
    assert is_reference(payload["inner"]["secret"])
    assert desk.artifacts.value(payload["secret"]) == CANARY
    assert (payload["maybe"], payload["large"], payload["inner"]["open"]) == (None, "x", 7)
    assert is_reference(desk.run({"secret": CANARY, "count": LARGE_BYTES})["large"])


def test_a_step_receives_the_value_behind_a_reference(desk: Desk) -> None:
    reference = plain(desk.artifacts.put(RUN.tenant, CANARY))
    assert desk.run({"secret": reference}) == desk.run({"secret": CANARY})


def test_another_tenants_reference_is_refused(desk: Desk) -> None:
    reference = plain(desk.artifacts.put("other", CANARY))
    with pytest.raises(InvalidInput, match="another tenant"):
        desk.run({"secret": reference})


ERRORS: list[Exception] = [
    ValueError(CANARY),
    KeyError(CANARY),
    json.JSONDecodeError(CANARY, CANARY, 0),
    UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_fault_of_our_code_is_named_and_says_where_but_not_with_what(
    desk: Desk, error: Exception
) -> None:
    with pytest.raises(StepFaulted, match=type(error).__name__) as raised:
        desk.run(step=fails(error))
    logs = desk.logs()
    assert CANARY not in str(raised.value) + logs
    assert type(error).__name__ in logs
    assert "test_lambda_runtime.py" in logs, "the place of the fault"


def test_the_cause_of_a_fault_is_shown_without_its_words(desk: Desk) -> None:
    def failing(given: Input, run: Run) -> Output:
        try:
            Path(given.secret).read_text()
        except OSError as error:
            raise RuntimeError(given.secret) from error
        return echo(given, run)

    with pytest.raises(StepFaulted):
        desk.run(step=failing)
    logs = desk.logs()
    assert CANARY not in logs
    assert "FileNotFoundError" in logs


def test_a_result_that_breaks_its_contract_names_the_field_alone(desk: Desk) -> None:
    def failing(given: Input, run: Run) -> Output:  # noqa: ARG001
        return Output.model_validate({"secret": 7, "count": given.secret})

    with pytest.raises(InvalidInput, match="secret: ") as raised:
        desk.run(step=failing)
    assert CANARY not in str(raised.value) + desk.logs()


def test_no_private_value_reaches_log_payload_or_record(desk: Desk) -> None:
    payload = desk.run()
    assert CANARY not in to_json([payload, desk.steps]) + desk.logs()


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        [],
        "text",
        envelope({}),
        envelope({"secret": CANARY, "extra": CANARY}),
        envelope({"secret": 7}),
        envelope({"secret": CANARY, "count": "1"}),
        envelope({"secret": CANARY}, attempt="0"),
        envelope({"secret": CANARY}, extra=CANARY),
        envelope({"secret": CANARY}, run={**plain(RUN), "tenant": "Other"}),
        envelope({"secret": {"artifact": "default/gone", "bytes": 1}}),
        envelope({"secret": {"artifact": "default/gone", "bytes": "many"}}),
    ],
)
def test_a_bad_payload_is_bad_input_and_never_a_crash(desk: Desk, event: Json) -> None:
    with pytest.raises(InvalidInput) as raised:
        desk.handler()(event, FakeContext())
    assert CANARY not in str(raised.value) + desk.logs()


def test_a_result_over_what_step_functions_carries_is_refused(desk: Desk) -> None:
    class Wide(Contract):
        text: str

    def wide(given: Input, run: Run) -> Wide:  # noqa: ARG001
        return Wide(text="€" * given.count)

    around = len(to_json({"text": ""}))
    most = (PAYLOAD_BYTES - around) // 3
    assert desk.run({"secret": "", "count": most}, wide)
    with pytest.raises(PayloadTooLarge, match=str(PAYLOAD_BYTES)):
        desk.run({"secret": "", "count": most + 1}, wide)


@pytest.mark.parametrize("error", [ModelThrottled("x"), BudgetExceeded("x")])
def test_our_errors_pass_under_their_own_names(desk: Desk, error: AutoOpsError) -> None:
    with pytest.raises(type(error)) as raised:
        desk.run(step=fails(error))
    assert raised.value is error
    (step,) = desk.steps
    assert (step.error, step.output) == (type(error).__name__, None)


def test_only_an_error_that_ends_the_run_is_noted_on_it(desk: Desk) -> None:
    for error in (ModelThrottled("x"), BudgetExceeded("x"), ModelThrottled("x")):
        with pytest.raises(AutoOpsError):
            desk.run(step=fails(error))
    assert desk.behind.view(RUN).error == "BudgetExceeded"


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (client_error("ThrottlingException", "GetItem"), DependencyUnavailable),
        (client_error("AccessDeniedException", "GetItem"), InvalidInput),
        (EndpointConnectionError(endpoint_url=CANARY), DependencyUnavailable),
    ],
)
def test_what_boto_raises_past_an_adapter_still_gets_our_name(
    desk: Desk, raised: Exception, ours: type[AutoOpsError]
) -> None:
    with pytest.raises(ours) as said:
        desk.run(step=fails(raised))
    assert CANARY not in str(said.value) + desk.logs()


@pytest.mark.parametrize("operation", ["record_step", "note_error"])
def test_the_error_that_ended_the_step_is_told_even_when_it_cannot_be_recorded(
    desk: Desk, operation: str
) -> None:
    desk.behind.watch = raising(f"before {operation}", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(BudgetExceeded):
        desk.run(step=fails(BudgetExceeded("x")))
    assert "failure not recorded" in desk.logs()


def test_without_a_region_the_first_use_says_which_variable_is_missing(desk: Desk) -> None:
    def no_region() -> None:
        raise NoRegionError

    handler = desk.handler().with_ports(ledger=no_region, artifacts=no_region)
    with pytest.raises(InvalidInput, match="AWS_REGION"):
        handler(envelope({"secret": {"artifact": "default/0", "bytes": 1}}), FakeContext())


def test_a_step_is_recorded_with_hash_references_and_times_and_nothing_else(desk: Desk) -> None:
    desk.handler()(envelope({"secret": CANARY}, attempt=2, map_index=5), FakeContext("request-9"))
    (step,) = desk.steps
    assert (step.name, step.request, step.attempt, step.map_index) == ("Echo", "request-9", 2, 5)
    assert (step.started_at, step.ended_at) == (desk.clock.now(), desk.clock.now())
    assert len(step.input_hash) == 64
    assert is_reference(step.output["secret"])


def test_a_step_that_keeps_no_record_of_its_success_keeps_one_of_its_failure(desk: Desk) -> None:
    desk.run(recorded=False)
    assert not desk.steps
    with pytest.raises(BudgetExceeded):
        desk.run(step=fails(BudgetExceeded("x")), recorded=False)
    assert [step.error for step in desk.steps] == ["BudgetExceeded"]


def test_every_line_of_a_failing_step_names_run_step_and_attempt(desk: Desk) -> None:
    with pytest.raises(BudgetExceeded):
        desk.run(step=fails(BudgetExceeded("x")))
    lines = desk.written.lines()
    (failed,) = [line for line in lines if line.get("message") == "step failed"]
    assert (failed["run"], failed["step"], failed["attempt"]) == (RUN.root, "Echo", 0)
    assert failed["error"] == "BudgetExceeded"
    metrics = [line for line in lines if "StepsFailed" in line]
    assert [line["step"] for line in metrics] == ["Echo"]


def test_the_second_delivery_of_an_idempotent_step_does_nothing(desk: Desk) -> None:
    runs: list[str] = []

    def counted(given: Input, run: Run) -> Output:
        runs.append(run.id)
        return echo(given, run)

    first = desk.run(step=counted, idempotent=True)
    assert desk.run(step=counted, idempotent=True) == first
    assert runs == ["r1"]


def test_another_place_in_a_map_or_another_input_is_no_second_delivery(desk: Desk) -> None:
    handler = desk.handler(idempotent=True)
    for event in (
        envelope({"secret": "a"}, map_index=0),
        envelope({"secret": "a"}, map_index=1),
        envelope({"secret": "b"}, map_index=1),
        envelope({"secret": "b"}, map_index=1, step="Other"),
    ):
        handler(event, FakeContext())
    assert len(desk.once.records) == 4


def test_a_retry_of_an_idempotent_step_is_the_same_delivery(desk: Desk) -> None:
    handler = desk.handler(idempotent=True)
    for attempt in range(3):
        handler(envelope({"secret": "a"}, attempt=attempt), FakeContext())
    assert len(desk.once.records) == 1
