"""Lambda entry point of the step."""

from autoops.adapters.s3 import documents
from autoops.lambda_runtime import lambda_handler_for
from steps.parse_documents.step import Input, Output, parse_documents

handler = lambda_handler_for(parse_documents, accepts=Input, returns=Output, documents=documents)
