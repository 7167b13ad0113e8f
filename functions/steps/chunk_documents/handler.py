"""Lambda entry point of the step."""

from autoops.lambda_runtime import lambda_handler_for
from steps.chunk_documents.step import Input, Output, chunk_documents

handler = lambda_handler_for(chunk_documents, accepts=Input, returns=Output)
