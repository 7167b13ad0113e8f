"""Lambda entry point of the step."""

from autoops.adapters.dynamodb import ledger
from autoops.adapters.events import event_bus
from autoops.adapters.s3 import artifacts
from autoops.lambda_runtime import lambda_handler_for
from steps.persist_answer.step import Input, Output, persist_answer

handler = lambda_handler_for(
    persist_answer,
    accepts=Input,
    returns=Output,
    idempotent=True,
    ledger=ledger,
    artifacts=artifacts,
    events=event_bus,
)
