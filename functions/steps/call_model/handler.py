"""Lambda entry point of the step."""

from autoops.adapters.bedrock import chat_model
from autoops.adapters.gate import gate
from autoops.adapters.s3 import artifacts
from autoops.lambda_runtime import lambda_handler_for
from steps.call_model.step import Input, Output, call_model

handler = lambda_handler_for(
    call_model,
    accepts=Input,
    returns=Output,
    model=chat_model,
    gate=gate,
    artifacts=artifacts,
)
