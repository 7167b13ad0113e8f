"""The ledger's runs on a DynamoDB table; `autoops.adapters.keys` says where each record lies.

Numbers that conditions look at are attributes; everything else of a record is its JSON in `data`.
"""

from datetime import datetime
from functools import cache
from typing import Any

from autoops.adapters import admission_items, money
from autoops.adapters.aws import client
from autoops.adapters.expressions import Item, put, update, value_of
from autoops.adapters.keys import call_key, run_key
from autoops.adapters.table import CancelledError, Table
from autoops.config import settings
from autoops.domain.contracts import Run, to_json
from autoops.domain.ledger import (
    Budget,
    CallRecord,
    OpenedRun,
    RunState,
    RunView,
    StepRecord,
)
from autoops.domain.references import Reference
from autoops.errors import BudgetExceeded, InvalidInput, RunStopped


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
            "redrive": 0,
            "paused": False,
            "stopped": False,
            "data": to_json(opened),
        }
        budget = money.opened(opened.ceiling)
        try:
            self._table.transact(
                put(run_key(root, "META"), meta, "attribute_not_exists(PK)"),
                put(run_key(root, "BUDGET"), budget, "attribute_not_exists(PK)"),
            )
        except CancelledError:
            return self._opened_before(opened)
        return opened

    def call_record(self, run: Run, call: str) -> CallRecord | None:
        """See `Ledger.call_record`."""
        item = self._table.get(call_key(run.purse, "CALL", call))
        return None if item is None else CallRecord.model_validate_json(value_of(item, "data"))

    def record_step(self, run: Run, step: StepRecord) -> None:
        """See `Ledger.record_step`."""
        moment = step.started_at.isoformat(timespec="microseconds")
        self._table.put(
            call_key(run.root, "STEP", f"{moment}#{step.request}"), {"data": to_json(step)}
        )

    def note_error(self, run: Run, error: str) -> None:
        """See `Ledger.note_error`."""
        self._table.update_if_there(run_key(run.root, "META"), "SET #error = :error", error=error)

    def keep_result(self, run: Run, outcome: str, result: Reference) -> None:
        """See `Ledger.keep_result`."""
        self._table.update_if_there(
            run_key(run.root, "META"),
            "SET #outcome = :outcome, #result = :result",
            outcome=outcome,
            result=to_json(result),
        )

    def run_state(self, root: str) -> RunState | None:
        """See `Ledger.run_state`."""
        meta = self._table.get(run_key(root, "META"))
        return None if meta is None else RunState(**_state(meta))

    def pause(self, root: str, *, paused: bool) -> bool:
        """See `Ledger.pause`."""
        return self._changed(
            root, "SET #paused = :paused", "#status = :running", paused=paused, running="RUNNING"
        )

    def stop(self, root: str) -> bool:
        """See `Ledger.stop`."""
        return self._changed(root, "SET #stopped = :yes", "attribute_exists(PK)", yes=True)

    def raise_ceiling(self, root: str, by: int, most: int) -> bool:
        """See `Ledger.raise_ceiling`."""
        try:
            self._table.update(money.more(root, by, most))
        except CancelledError:
            return False
        return True

    def open_slice(self, run: Run, name: str, amount: int) -> Run:
        """See `Ledger.open_slice`."""
        part = run.model_copy(update={"slice": name})
        fresh = "attribute_not_exists(PK)"
        kept = {"purse": part.purse, "amount": amount, "closed": False}
        try:
            self._table.transact(
                put(run_key(run.root, f"SLICE#{name}"), kept, fresh),
                admission_items.going(run),
                money.reserve(run, amount),
                put(run_key(part.purse, "BUDGET"), money.sliced(amount), fresh),
            )
        except CancelledError as cancelled:
            refused = admission_items.refusal(cancelled)
            if refused == "money":
                raise BudgetExceeded(
                    f"slice {name}: is over what is left of the budget; raise the budget"
                ) from None
            if refused != "standing":
                raise RunStopped("the run does not go on; no slice of its money is given") from None
        return part

    def close_slice(self, run: Run) -> bool:
        """See `Ledger.close_slice`."""
        kept = self._table.get(run_key(run.root, f"SLICE#{run.slice}"))
        item = self._table.get(run_key(run.purse, "BUDGET"))
        if kept is None or item is None or value_of(kept, "closed"):
            return False
        try:
            self._table.transact(
                update(
                    run_key(run.root, f"SLICE#{run.slice}"),
                    "SET #closed = :yes",
                    "#closed = :no",
                    yes=True,
                    no=False,
                ),
                *money.rejoined(run, value_of(kept, "amount"), _budget(item)),
            )
        except CancelledError:
            return False
        return True

    def slices(self, root: str) -> tuple[str, ...]:
        """See `Ledger.slices`."""
        found = self._table.partition(f"RUN#{root}", "SLICE#")
        return tuple(
            value_of(item, "SK").removeprefix("SLICE#")
            for item in found
            if not value_of(item, "closed")
        )

    def close_run(
        self, root: str, status: str, error: str | None, at: datetime, redrive: int
    ) -> bool:
        """See `Ledger.close_run`."""
        named, values = _error_at_the_end(status, error)
        return self._changed(
            root,
            f"SET #status = :status, #closed_at = :at, #redrive = :redrive{named}",
            "#redrive < :redrive OR (#redrive = :redrive AND #status = :running)",
            status=status,
            at=at.isoformat(),
            redrive=redrive,
            running="RUNNING",
            **values,
        )

    def reopen(self, root: str, redrive: int) -> bool:
        """See `Ledger.reopen`."""
        return self._changed(
            root,
            "SET #status = :running, #redrive = :redrive REMOVE #closed_at, #error",
            "#redrive < :redrive AND #stopped = :no",
            running="RUNNING",
            redrive=redrive,
            no=False,
        )

    def view(self, root: str) -> RunView | None:
        """The whole run: META, money, calls, admissions and steps; None when it never opened."""
        items = {value_of(item, "SK"): item for item in self._table.partition(f"RUN#{root}")}
        if "META" not in items:
            return None
        meta = items["META"]

        def data(kind: str) -> list[str]:
            return [value_of(item, "data") for key, item in items.items() if key.startswith(kind)]

        return RunView(
            **_state(meta),
            error=_maybe(meta, "error"),
            outcome=_maybe(meta, "outcome"),
            result=_reference(meta),
            budget=_budget(items["BUDGET"]),
            calls=tuple(CallRecord.model_validate_json(text) for text in data("CALL#")),
            admissions=tuple(
                admission_items.read(item)
                for key, item in items.items()
                if key.startswith("ADMISSION#")
            ),
            steps=tuple(StepRecord.model_validate_json(text) for text in data("STEP#")),
        )

    def _changed(self, root: str, change: str, when: str, **values: object) -> bool:
        """Whether META was changed: not where there is none or its condition does not hold."""
        try:
            self._table.update(
                update(
                    run_key(root, "META"), change, f"attribute_exists(PK) AND ({when})", **values
                )
            )
        except CancelledError:
            return False
        return True

    def _opened_before(self, opened: OpenedRun) -> OpenedRun:
        item = self._table.get(run_key(opened.run.root, "META"))
        if item is None or value_of(item, "execution") != opened.execution:
            raise InvalidInput(
                f"run {opened.run.root}: opened by another execution; use a new name"
            )
        return OpenedRun.model_validate_json(value_of(item, "data"))


@cache
def ledger() -> DynamoLedger:
    """The ledger of this process."""
    return DynamoLedger(Table(client("dynamodb"), settings().ledger_table))


def _state(meta: Item) -> dict[str, Any]:
    """The fields of `RunState`."""
    plain = {name: value_of(meta, name) for name in ("status", "paused", "stopped", "redrive")}
    return {"opened": OpenedRun.model_validate_json(value_of(meta, "data")), **plain}


def _maybe(meta: Item, name: str) -> str | None:
    return value_of(meta, name) if name in meta else None


def _budget(item: Item) -> Budget:
    return Budget(**{name: value_of(item, name) for name in Budget.model_fields})


def _reference(meta: Item) -> Reference | None:
    return Reference.model_validate_json(value_of(meta, "result")) if "result" in meta else None


def _error_at_the_end(status: str, error: str | None) -> tuple[str, dict[str, Any]]:
    """The change of the error: none stays on success, and what a step noted comes first."""
    if status == "SUCCEEDED":
        return " REMOVE #error", {}
    return (", #error = if_not_exists(#error, :error)", {"error": error}) if error else ("", {})
