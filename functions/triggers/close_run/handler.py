"""Lambda entry point of the trigger."""

from autoops.adapters.gate import gate
from autoops.adapters.s3 import artifacts
from autoops.config import settings
from autoops.lambda_runtime import event_handler_for
from triggers.close_run.step import StatusChange, close_run

handler = event_handler_for(
    close_run,
    accepts=StatusChange,
    gate=gate,
    artifacts=artifacts,
    machine_prefix=lambda: settings().machine_prefix,
)
