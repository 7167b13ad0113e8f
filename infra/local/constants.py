"""Figures that AWS sets, in one place; AWS raises some of them from time to time.

Source: the service quotas pages of Step Functions, Lambda, DynamoDB, EventBridge and S3 Vectors.
"""

from typing import Final

ACCOUNT: Final = "123456789012"
REGION: Final = "us-east-1"
PARTITION: Final = "aws"

# Step Functions
PAYLOAD_BYTES: Final = 256 * 1024
HISTORY_EVENTS: Final = 25_000
DEFINITION_BYTES: Final = 1024 * 1024
NAME_CHARACTERS: Final = 80
TASK_TOKEN_CHARACTERS: Final = 2_048
ERROR_CHARACTERS: Final = 256
CAUSE_CHARACTERS: Final = 32_768
REDRIVE_DAYS: Final = 14
EXECUTION_DAYS: Final = 90
EXPRESS_SECONDS: Final = 300
VARIABLE_BYTES: Final = 256 * 1024
VARIABLES_BYTES: Final = 10 * 1024 * 1024
STANDARD_SECONDS: Final = 31_536_000

# Lambda
LAMBDA_SECONDS: Final = 900
LAMBDA_SYNC_BYTES: Final = 6 * 1024 * 1024
LAMBDA_ASYNC_BYTES: Final = 1024 * 1024

# DynamoDB
ITEM_BYTES: Final = 400 * 1024
TRANSACTION_ITEMS: Final = 100
BATCH_GET_ITEMS: Final = 100
BATCH_WRITE_ITEMS: Final = 25

# EventBridge
EVENT_ENTRIES: Final = 10

# S3 Vectors
VECTORS_PER_PUT: Final = 500
QUERY_TOP_K: Final = 100
VECTOR_METADATA_BYTES: Final = 40 * 1024
VECTOR_FILTERABLE_BYTES: Final = 2 * 1024
