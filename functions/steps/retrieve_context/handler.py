"""Lambda entry point of the step."""

from autoops.adapters.bedrock import embedder
from autoops.adapters.gate import gate
from autoops.adapters.s3 import artifacts
from autoops.adapters.s3vectors import vector_index
from autoops.config import settings
from autoops.lambda_runtime import lambda_handler_for
from steps.retrieve_context.step import Input, Output, retrieve_context

handler = lambda_handler_for(
    retrieve_context,
    accepts=Input,
    returns=Output,
    index=vector_index,
    embedder=embedder,
    gate=gate,
    artifacts=artifacts,
    chat_model=lambda: settings().chat_model,
)
