"""The ledger on one DynamoDB table: PK `RUN#<root>`, items META, BUDGET, ADMISSION#, CALL#, STEP#.

Numbers that conditions look at are attributes; everything else of a record is its JSON in `data`.
"""

from datetime import datetime
from functools import cache
from typing import Any

from autoops.adapters.aws import client
from autoops.adapters.expressions import Item, condition, put, update, value_of
from autoops.adapters.table import CancelledError, Table
from autoops.config import settings
from autoops.domain.contracts import Run, to_json
from autoops.domain.ledger import (
    Admission,
    AdmissionState,
    Begun,
    Budget,
    CallClaim,
    CallRecord,
    OpenedRun,
    RunView,
    StepRecord,
)
from autoops.domain.references import Reference
from autoops.errors import (
    AdmissionLost,
    BudgetExceeded,
    CallInProgress,
    InvalidInput,
    RunStopped,
)


class DynamoLedger:
    """`autoops.ports.Ledger` on a table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def open_run(self, opened: OpenedRun) -> OpenedRun:
        """See `Ledger.open_run`."""
        root = opened.run.root
        meta = {
            "execution": opened.execution,
            "workflow": opened.run.workflow,
            "tenant": opened.run.tenant,
            "status": "RUNNING",
            "paused": False,
            "stopped": False,
            "data": to_json(opened),
        }
        budget = {
            "ceiling": opened.ceiling,
            "available": opened.ceiling,
            "reserved": 0,
            "spent": 0,
        }
        try:
            self._table.transact(
                put(_run(root, "META"), meta, "attribute_not_exists(PK)"),
                put(_run(root, "BUDGET"), budget, "attribute_not_exists(PK)"),
            )
        except CancelledError:
            return self._opened_before(opened)
        return opened

    def admit(self, run: Run, claim: CallClaim) -> Admission:
        """See `Ledger.admit`."""
        admission = Admission(claim=claim, state=AdmissionState.GRANTED, attempt=0, lost=())
        reserve = update(
            _run(run.root, "BUDGET"),
            "SET #available = #available - :worst, #reserved = #reserved + :worst",
            "#available >= :worst",
            worst=claim.worst,
        )
        going = condition(
            _run(run.root, "META"),
            "#paused = :no AND #stopped = :no",
            no=False,
        )
        # Attempts count on from an earlier admission of the path: each has a reply key of its own,
        # and a worker that was given up cannot settle one that came after it.
        grant = update(
            _call(run.root, "ADMISSION", claim.call),
            "SET #state = :granted, #fingerprint = :fingerprint, #data = :data,"
            " #attempt = if_not_exists(#attempt, :zero), #lost = if_not_exists(#lost, :none)",
            "attribute_not_exists(PK) OR #state IN (:lost, :released)"
            " OR (#state = :settled AND #fingerprint <> :fingerprint)",
            granted=AdmissionState.GRANTED,
            lost=AdmissionState.LOST,
            released=AdmissionState.RELEASED,
            settled=AdmissionState.SETTLED,
            fingerprint=claim.fingerprint,
            data=to_json(claim),
            zero=0,
            none=[],
        )
        try:
            self._table.transact(reserve, going, grant)
        except CancelledError as cancelled:
            return _standing(cancelled, claim)
        return admission

    def begin(self, run: Run, claim: CallClaim) -> Begun:
        """See `Ledger.begin`."""
        try:
            item = self._table.update(
                update(
                    _call(run.root, "ADMISSION", claim.call),
                    "SET #state = :calling, #attempt = #attempt + :one",
                    "#state = :granted AND #fingerprint = :fingerprint",
                    calling=AdmissionState.CALLING,
                    granted=AdmissionState.GRANTED,
                    one=1,
                    fingerprint=claim.fingerprint,
                )
            )
        except CancelledError as cancelled:
            standing = cancelled.items[0]
            if standing is None or not _may_continue(_admission(standing), claim):
                raise AdmissionLost(f"call {claim.call}: not admitted") from None
            return Begun(admission=_admission(standing), now=False)
        return Begun(admission=_admission(item), now=True)

    def repeat(self, run: Run, admission: Admission) -> Admission:
        """See `Ledger.repeat`."""
        charge = update(
            _run(run.root, "BUDGET"),
            "SET #available = #available - :worst, #spent = #spent + :worst",
            "#available >= :worst",
            worst=admission.claim.worst,
        )
        following = update(
            _call(run.root, "ADMISSION", admission.claim.call),
            "SET #attempt = #attempt + :one, #lost = list_append(#lost, :these)",
            "#state = :calling AND #attempt = :attempt",
            calling=AdmissionState.CALLING,
            attempt=admission.attempt,
            one=1,
            these=[admission.attempt],
        )
        try:
            self._table.transact(charge, following)
        except CancelledError as cancelled:
            if cancelled.failed[1]:
                raise CallInProgress(f"call {admission.claim.call}: taken over") from None
            self.lose(run, admission)
            raise BudgetExceeded(
                f"call {admission.claim.call}: no money left to repeat it; raise the budget"
            ) from None
        return admission.model_copy(
            update={
                "attempt": admission.attempt + 1,
                "lost": (*admission.lost, admission.attempt),
            }
        )

    def lose(self, run: Run, admission: Admission) -> None:
        """See `Ledger.lose`."""
        self._end(
            run,
            admission,
            AdmissionState.LOST,
            "SET #reserved = #reserved - :worst, #spent = #spent + :worst",
        )

    def release(self, run: Run, admission: Admission) -> None:
        """See `Ledger.release`."""
        self._end(
            run,
            admission,
            AdmissionState.RELEASED,
            "SET #reserved = #reserved - :worst, #available = #available + :worst",
        )

    def uncharge(self, run: Run, admission: Admission) -> None:
        """See `Ledger.uncharge`."""
        try:
            self._table.update(
                update(
                    _call(run.root, "ADMISSION", admission.claim.call),
                    "SET #state = :granted",
                    "#state = :calling AND #attempt = :attempt",
                    granted=AdmissionState.GRANTED,
                    calling=AdmissionState.CALLING,
                    attempt=admission.attempt,
                )
            )
        except CancelledError:
            raise CallInProgress(f"call {admission.claim.call}: taken over") from None

    def settle(self, run: Run, admission: Admission, record: CallRecord) -> None:
        """See `Ledger.settle`."""
        worst = admission.claim.worst
        writes = [
            update(
                _run(run.root, "BUDGET"),
                "SET #reserved = #reserved - :worst, #spent = #spent + :cost,"
                " #available = #available + :rest",
                worst=worst,
                cost=record.cost,
                rest=worst - record.cost,
            ),
            update(
                _call(run.root, "ADMISSION", record.call),
                "SET #state = :settled",
                "#state = :calling AND #attempt = :attempt",
                settled=AdmissionState.SETTLED,
                calling=AdmissionState.CALLING,
                attempt=record.attempt,
            ),
            put(_call(run.root, "CALL", record.call), {"data": to_json(record)}),
        ]
        try:
            self._table.transact(*writes, *_stop_when_dearer(run, record.cost, worst))
        except CancelledError as cancelled:
            self._settle_late(run, admission, record, cancelled.items[1])

    def call_record(self, run: Run, call: str) -> CallRecord | None:
        """See `Ledger.call_record`."""
        item = self._table.get(_call(run.root, "CALL", call))
        return None if item is None else CallRecord.model_validate_json(value_of(item, "data"))

    def record_step(self, run: Run, step: StepRecord) -> None:
        """See `Ledger.record_step`."""
        moment = step.started_at.isoformat(timespec="microseconds")
        self._table.put(
            _call(run.root, "STEP", f"{moment}#{step.request}"), {"data": to_json(step)}
        )

    def note_error(self, run: Run, error: str) -> None:
        """See `Ledger.note_error`."""
        self._table.update_if_there(_run(run.root, "META"), "SET #error = :error", error=error)

    def keep_result(self, run: Run, outcome: str, result: Reference) -> None:
        """See `Ledger.keep_result`."""
        self._table.update_if_there(
            _run(run.root, "META"),
            "SET #outcome = :outcome, #result = :result",
            outcome=outcome,
            result=to_json(result),
        )

    def close_run(self, root: str, status: str, error: str | None, at: datetime) -> bool:
        """See `Ledger.close_run`."""
        named, values = _error_at_the_end(status, error)
        try:
            self._table.update(
                update(
                    _run(root, "META"),
                    f"SET #status = :status, #closed_at = :at{named}",
                    "#status = :running",
                    status=status,
                    at=at.isoformat(),
                    running="RUNNING",
                    **values,
                )
            )
        except CancelledError:
            return False
        return True

    def view(self, root: str) -> RunView | None:
        """The whole run: META, money, calls, admissions and steps; None when it never opened."""
        items = {value_of(item, "SK"): item for item in self._table.partition(f"RUN#{root}")}
        if "META" not in items:
            return None
        meta = items["META"]
        error = value_of(meta, "error") if "error" in meta else None

        def data(kind: str) -> list[str]:
            return [value_of(item, "data") for key, item in items.items() if key.startswith(kind)]

        return RunView(
            opened=OpenedRun.model_validate_json(value_of(meta, "data")),
            status=value_of(meta, "status"),
            error=error,
            outcome=value_of(meta, "outcome") if "outcome" in meta else None,
            result=_reference(meta),
            budget=_budget(items["BUDGET"]),
            calls=tuple(CallRecord.model_validate_json(text) for text in data("CALL#")),
            admissions=tuple(
                _admission(item) for key, item in items.items() if key.startswith("ADMISSION#")
            ),
            steps=tuple(StepRecord.model_validate_json(text) for text in data("STEP#")),
        )

    def _opened_before(self, opened: OpenedRun) -> OpenedRun:
        item = self._table.get(_run(opened.run.root, "META"))
        if item is None or value_of(item, "execution") != opened.execution:
            raise InvalidInput(
                f"run {opened.run.root}: opened by another execution; use a new name"
            )
        return OpenedRun.model_validate_json(value_of(item, "data"))

    def _settle_late(
        self, run: Run, admission: Admission, record: CallRecord, item: Item | None
    ) -> None:
        """The attempt was charged at its worst case meanwhile: replace that by the actual cost."""
        lost = () if item is None else _admission(item).lost
        if record.attempt not in lost:
            if item is not None and _admission(item).state is AdmissionState.SETTLED:
                return
            raise AdmissionLost(f"call {record.call}: no longer admitted")
        rest = admission.claim.worst - record.cost
        try:
            self._table.transact(
                update(
                    _run(run.root, "BUDGET"),
                    "SET #spent = #spent - :rest, #available = #available + :rest",
                    rest=rest,
                ),
                update(
                    _call(run.root, "ADMISSION", record.call),
                    f"REMOVE #lost[{lost.index(record.attempt)}]",
                    f"#lost[{lost.index(record.attempt)}] = :attempt",
                    attempt=record.attempt,
                ),
                *_stop_when_dearer(run, record.cost, admission.claim.worst),
            )
        except CancelledError:
            raise CallInProgress(f"call {record.call}: settled by another worker") from None
        raise CallInProgress(f"call {record.call}: taken over; its cost is counted")

    def _end(self, run: Run, admission: Admission, state: AdmissionState, money: str) -> None:
        try:
            self._table.transact(
                update(_run(run.root, "BUDGET"), money, worst=admission.claim.worst),
                update(
                    _call(run.root, "ADMISSION", admission.claim.call),
                    "SET #state = :end, #lost = list_append(#lost, :these)",
                    "#state = :calling AND #attempt = :attempt",
                    end=state,
                    calling=AdmissionState.CALLING,
                    attempt=admission.attempt,
                    these=[admission.attempt] if state is AdmissionState.LOST else [],
                ),
            )
        except CancelledError:
            raise CallInProgress(f"call {admission.claim.call}: taken over") from None


@cache
def ledger() -> DynamoLedger:
    """The ledger of this process."""
    return DynamoLedger(Table(client("dynamodb"), settings().ledger_table))


def _run(root: str, kind: str) -> Item:
    return {"PK": {"S": f"RUN#{root}"}, "SK": {"S": kind}}


def _call(root: str, kind: str, call: str) -> Item:
    return _run(root, f"{kind}#{call}")


def _budget(item: Item) -> Budget:
    return Budget(
        ceiling=value_of(item, "ceiling"),
        available=value_of(item, "available"),
        reserved=value_of(item, "reserved"),
        spent=value_of(item, "spent"),
    )


def _reference(meta: Item) -> Reference | None:
    return Reference.model_validate_json(value_of(meta, "result")) if "result" in meta else None


def _admission(item: Item) -> Admission:
    return Admission(
        claim=CallClaim.model_validate_json(value_of(item, "data")),
        state=AdmissionState(value_of(item, "state")),
        attempt=value_of(item, "attempt"),
        lost=tuple(value_of(item, "lost")),
    )


def _error_at_the_end(status: str, error: str | None) -> tuple[str, dict[str, Any]]:
    """The change of the error: none stays on success, and what a step noted comes first."""
    if status == "SUCCEEDED":
        return " REMOVE #error", {}
    return (", #error = if_not_exists(#error, :error)", {"error": error}) if error else ("", {})


def _stop_when_dearer(run: Run, cost: int, worst: int) -> list[Item]:
    """A call that cost more than its worst case: no ceiling holds any more, so the run stops."""
    stop = update(_run(run.root, "META"), "SET #stopped = :yes", yes=True)
    return [stop] if cost > worst else []


def _may_continue(admission: Admission, claim: CallClaim) -> bool:
    same = admission.claim.fingerprint == claim.fingerprint
    return same and admission.state in (AdmissionState.CALLING, AdmissionState.SETTLED)


def _standing(cancelled: CancelledError, claim: CallClaim) -> Admission:
    """What an admission that was not granted anew means."""
    _, _, item = cancelled.items
    if item is not None:
        standing = _admission(item)
        if standing.claim.fingerprint == claim.fingerprint:
            return standing
        raise InvalidInput(f"call {claim.call}: another request is under way on this path")
    if cancelled.failed[1]:
        raise RunStopped("the run was stopped or never opened; start a new one")
    raise BudgetExceeded(
        f"call {claim.call}: its worst case is over what is left of the budget; raise the budget"
    )
