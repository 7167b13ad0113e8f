"""Lambda entry point of the step."""

from autoops.adapters.clock import system_clock
from autoops.adapters.dynamodb import ledger
from autoops.config import settings
from autoops.lambda_runtime import lambda_handler_for
from steps.open_run.step import Input, Output, open_run

handler = lambda_handler_for(
    open_run,
    accepts=Input,
    returns=Output,
    ledger=ledger,
    clock=system_clock,
    account_ceiling=lambda: settings().account_ceiling,
)
