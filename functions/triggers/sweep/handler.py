"""Lambda entry point of the trigger."""

from autoops.adapters.gate import gate
from autoops.adapters.s3 import artifacts
from autoops.lambda_runtime import event_handler_for
from triggers.sweep.step import Tick, sweep

handler = event_handler_for(sweep, accepts=Tick, gate=gate, artifacts=artifacts)
