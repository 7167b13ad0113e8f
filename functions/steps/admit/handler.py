"""Lambda entry point of the step."""

from autoops.adapters.counting import token_counter
from autoops.adapters.gate import gate
from autoops.config import settings
from autoops.lambda_runtime import lambda_handler_for
from steps.admit.step import Input, Output, admit

handler = lambda_handler_for(
    admit,
    accepts=Input,
    returns=Output,
    recorded=False,
    gate=gate,
    counter=token_counter,
    embedding_model=lambda: settings().embedding_model,
)
