"""Lambda entry point of the step."""

from autoops.adapters.catalogue import catalogue
from autoops.adapters.s3vectors import vector_index
from autoops.lambda_runtime import lambda_handler_for
from steps.index_chunks.step import Input, Output, index_chunks

handler = lambda_handler_for(
    index_chunks, accepts=Input, returns=Output, index=vector_index, catalogue=catalogue
)
