"""Lambda entry point of the step."""

from autoops.lambda_runtime import lambda_handler_for
from steps.post_process.step import Input, Output, post_process

handler = lambda_handler_for(post_process, accepts=Input, returns=Output)
