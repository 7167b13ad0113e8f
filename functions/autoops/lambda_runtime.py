"""What stands between Lambda and a step: validation, references, idempotency, errors, record.

handler = lambda_handler_for(retrieve_context, accepts=Input, returns=Output, index=vector_index)
"""

import hashlib
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final, Protocol, Self

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from pydantic import BaseModel, ValidationError

from autoops.adapters.aws import translated
from autoops.adapters.clock import system_clock
from autoops.adapters.dynamodb import ledger
from autoops.adapters.s3 import artifacts
from autoops.config import function_version
from autoops.domain.contracts import Contract, Json, Run, plain, sentence_of, to_json
from autoops.domain.ledger import StepRecord
from autoops.domain.references import (
    LARGE_BYTES,
    Reference,
    holds_reference,
    is_reference,
    marker_of,
)
from autoops.errors import AutoOpsError, GiveUp, InvalidInput, PayloadTooLarge, StepFaulted
from autoops.ports import ArtifactStore, Clock, Ledger

PAYLOAD_BYTES: Final = 240 * 1024
"""Step Functions carries 256 KiB, the whole invoke result with its metadata; the rest is margin."""

Port = Callable[[], Any]


class LambdaContext(Protocol):
    """What we read of Lambda's context object."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""
        ...


class Envelope(Contract):
    """What a state passes to its step.

    Attributes:
        run: whose step it is.
        step: the state's name.
        attempt: the state's RetryCount, 0 at first.
        map_index: position in the innermost Map, None outside one.
        input: the step's own input; references stand in for private and large values.
    """

    run: Run
    step: str
    attempt: int
    map_index: int | None = None
    input: dict[str, Json]


@dataclass(frozen=True)
class StepHandler:
    """A Lambda handler around one step.

    Attributes:
        step: called as `step(input, run, **ports)`; returns `returns`.
        ports: makes each port, by the name of the step's argument. `artifacts`, `ledger`, `clock`
            and `run_once` are the runtime's own; a step gets them when it asks for them too.
        idempotent: a second delivery of the same state's attempt returns the first one's result.
        recorded: whether the step's attempts that succeed are written to the run's record.
    """

    step: Callable[..., Contract]
    accepts: type[Contract]
    returns: type[Contract]
    ports: Mapping[str, Port]
    idempotent: bool = False
    recorded: bool = True

    def __call__(self, event: Json, context: LambdaContext) -> Json:
        """Run the step for one invocation; the result is JSON-safe."""
        envelope = Envelope.read(event)
        with_run = {"run": envelope.run.root, "step": envelope.step, "attempt": envelope.attempt}
        _logger().append_keys(**with_run)
        try:
            return self._recorded(envelope, context)
        finally:
            _logger().remove_keys(list(with_run))

    def with_ports(self, **ports: Port) -> Self:
        """The same handler on other ports, for tests."""
        return replace(self, ports={**self.ports, **ports})

    def _recorded(self, envelope: Envelope, context: LambdaContext) -> Json:
        clock: Clock = self._port("clock", system_clock)
        started = clock.now()
        try:
            output = self._once(envelope, context)
        except Exception as error:
            failure = _as_ours(error)
            _report(envelope.step, failure, error)
            self._record_failure(envelope, context, started, failure)
            raise failure from error
        if self.recorded:
            self._record(envelope, context, started, output, None)
        _count("StepsSucceeded", envelope.step)
        return output

    def _once(self, envelope: Envelope, context: LambdaContext) -> Json:
        if not self.idempotent:
            return self._run(envelope)
        run_once = self._port("run_once", _powertools)
        output: Json = run_once(_identity(envelope), lambda: self._run(envelope), context)
        return output

    def _run(self, envelope: Envelope) -> Json:
        tenant = envelope.run.tenant
        given = self.accepts.read(_resolved(envelope.input, tenant, self._artifacts))
        ports = {name: make() for name, make in self.ports.items() if name in self._asked_for()}
        output = self.step(given, envelope.run, **ports)
        payload = _referenced(output, tenant, self._artifacts)
        size = len(to_json(payload).encode())
        if size > PAYLOAD_BYTES:
            raise PayloadTooLarge(f"{envelope.step}: result of {size} bytes, limit {PAYLOAD_BYTES}")
        return payload

    def _record_failure(
        self,
        envelope: Envelope,
        context: LambdaContext,
        started: datetime,
        failure: AutoOpsError,
    ) -> None:
        try:
            self._record(envelope, context, started, None, type(failure).__name__)
            if isinstance(failure, GiveUp):
                self._ledger.note_error(envelope.run, type(failure).__name__)
        except Exception as unrecorded:  # noqa: BLE001  # what ended the step matters more
            _logger().error("failure not recorded", error=type(unrecorded).__name__)

    def _record(
        self,
        envelope: Envelope,
        context: LambdaContext,
        started: datetime,
        output: Json,
        error: str | None,
    ) -> None:
        clock: Clock = self._port("clock", system_clock)
        self._ledger.record_step(
            envelope.run,
            StepRecord(
                name=envelope.step,
                request=context.aws_request_id,
                function=function_version(),
                attempt=envelope.attempt,
                map_index=envelope.map_index,
                started_at=started,
                ended_at=clock.now(),
                input_hash=hashlib.sha256(to_json(envelope.input).encode()).hexdigest(),
                output=output,
                error=error,
            ),
        )

    @property
    def _artifacts(self) -> ArtifactStore:
        store: ArtifactStore = self._port("artifacts", artifacts)
        return store

    @property
    def _ledger(self) -> Ledger:
        book: Ledger = self._port("ledger", ledger)
        return book

    def _port(self, name: str, default: Port) -> Any:
        return self.ports.get(name, default)()

    def _asked_for(self) -> frozenset[str]:
        code = self.step.__code__
        return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


@dataclass(frozen=True)
class EventHandler:
    """A Lambda handler around a trigger: called with an event's detail instead of an envelope.

    Attributes:
        trigger: called as `trigger(detail, **ports)`.
    """

    trigger: Callable[..., Contract]
    accepts: type[BaseModel]
    ports: Mapping[str, Port]

    def __call__(self, event: Json, context: LambdaContext) -> Json:  # noqa: ARG002  # Lambda's shape
        """Handle one EventBridge event; the result is JSON-safe."""
        try:
            detail = self.accepts.model_validate(event.get("detail"))
            ports = {name: make() for name, make in self.ports.items()}
            return plain(self.trigger(detail, **ports))
        except Exception as error:
            failure = _as_ours(error)
            _report(self.trigger.__name__, failure, error)
            raise failure from error

    def with_ports(self, **ports: Port) -> Self:
        """The same handler on other ports, for tests."""
        return replace(self, ports={**self.ports, **ports})


def event_handler_for(
    trigger: Callable[..., Contract], *, accepts: type[BaseModel], **ports: Port
) -> EventHandler:
    """The Lambda handler of a trigger; see `EventHandler`."""
    return EventHandler(trigger, accepts, ports)


def lambda_handler_for(
    step: Callable[..., Contract],
    *,
    accepts: type[Contract],
    returns: type[Contract],
    idempotent: bool = False,
    recorded: bool = True,
    **ports: Port,
) -> StepHandler:
    """The Lambda handler of a step; see `StepHandler`."""
    return StepHandler(step, accepts, returns, ports, idempotent, recorded)


def _resolved(value: Json, tenant: str, store: ArtifactStore) -> Json:
    """The value with every reference replaced by what it stands for."""
    if is_reference(value):
        return store.get(tenant, Reference.read(value))
    if isinstance(value, dict):
        return {name: _resolved(item, tenant, store) for name, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, tenant, store) for item in value]
    return value


def _referenced(output: BaseModel, tenant: str, store: ArtifactStore) -> dict[str, Json]:
    """The output's fields, private and large ones put into the store."""
    return {name: _travelling(output, name, tenant, store) for name in type(output).model_fields}


def _travelling(output: BaseModel, name: str, tenant: str, store: ArtifactStore) -> Json:
    value = getattr(output, name)
    marker = marker_of(type(output), name)
    if marker is None:
        return _inside(value, tenant, store)
    value = plain(value)
    if value is None:
        return None
    large = len(to_json(value).encode()) > LARGE_BYTES
    # Data in the form of a reference would be taken for one on its way back in.
    if marker.when == "always" or large or holds_reference(value):
        return plain(store.put(tenant, value))
    return value


def _inside(value: object, tenant: str, store: ArtifactStore) -> Json:
    """An open value, the private and large fields of every model in it put into the store."""
    if isinstance(value, BaseModel):
        return _referenced(value, tenant, store)
    if isinstance(value, list | tuple):
        return [_inside(item, tenant, store) for item in value]
    if isinstance(value, Mapping):
        return {str(plain(key)): _inside(item, tenant, store) for key, item in value.items()}
    return plain(value)


def _powertools() -> Callable[..., Json]:
    # Imported where a step asks for it: 0.2 s of start-up that the others need not pay.
    from autoops.adapters.idempotency import run_once

    return run_once


def _identity(envelope: Envelope) -> str:
    """What makes two deliveries the same: run, state, place in its Map, and input."""
    parts = [envelope.run.root, envelope.step, envelope.map_index, envelope.input]
    return hashlib.sha256(to_json(parts).encode()).hexdigest()


def _as_ours(error: Exception) -> AutoOpsError:
    if isinstance(error, AutoOpsError):
        return error
    if isinstance(error, ValidationError):
        return InvalidInput(sentence_of(error))
    if type(error).__module__.startswith("botocore"):
        return translated(error, "aws")
    return StepFaulted(f"{type(error).__name__} in the step's code; see its log line")


def _report(step: str, failure: AutoOpsError, cause: Exception) -> None:
    trace: dict[str, Any] = {"trace": _places(cause)} if isinstance(failure, StepFaulted) else {}
    _logger().error("step failed", error=type(failure).__name__, **trace)
    _count("StepsFailed", step)


def _places(error: BaseException | None) -> list[str]:
    """Types and places of an error and its causes; their messages may hold private values."""
    places: list[str] = []
    while error is not None:
        places.append(type(error).__name__)
        frames = traceback.extract_tb(error.__traceback__)
        places += [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        error = error.__cause__ or error.__context__
    return places


def _count(metric: str, step: str) -> None:
    metrics = Metrics(namespace="AutoOps", service="steps")
    metrics.add_dimension(name="step", value=step)
    metrics.add_metric(name=metric, unit=MetricUnit.Count, value=1)
    metrics.flush_metrics()


@cache
def _logger() -> Logger:
    return Logger(service="autoops", utc=True)
