"""Lambda entry point of the step."""

from autoops.adapters.bedrock import embedder
from autoops.adapters.gate import gate
from autoops.adapters.s3 import artifacts
from autoops.lambda_runtime import lambda_handler_for
from steps.embed_chunks.step import Input, Output, embed_chunks

handler = lambda_handler_for(
    embed_chunks,
    accepts=Input,
    returns=Output,
    embedder=embedder,
    gate=gate,
    artifacts=artifacts,
)
