"""Lambda entry point of the step."""

from autoops.adapters.s3 import documents
from autoops.lambda_runtime import lambda_handler_for
from steps.list_documents.step import Input, Output, list_documents

handler = lambda_handler_for(list_documents, accepts=Input, returns=Output, documents=documents)
