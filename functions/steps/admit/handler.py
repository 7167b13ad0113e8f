"""Lambda entry point of the step."""

from autoops.adapters.dynamodb import ledger
from autoops.adapters.stepfunctions import workflows
from autoops.config import settings
from autoops.lambda_runtime import lambda_handler_for
from steps.admit.step import Input, Output, admit

handler = lambda_handler_for(
    admit,
    accepts=Input,
    returns=Output,
    ledger=ledger,
    workflows=workflows,
    embedding_model=lambda: settings().embedding_model,
)
