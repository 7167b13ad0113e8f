"""Runs tasks: Lambda, nested executions, and every other AWS service through boto3."""

import asyncio
from collections.abc import Callable
from typing import Any

from local.invoke import LambdaInvoker
from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.integrations.functions import invoke_action, invoke_function
from local.stepfunctions.integrations.http import invoke_endpoint
from local.stepfunctions.integrations.nested import start_execution
from local.stepfunctions.jsontext import Json
from local.stepfunctions.states.task_events import events_for
from local.stepfunctions.tasks import TaskRequest

Clients = Callable[[str], Any]
"""Makes the boto3 client of a service by its boto3 name."""


class Integrations:
    """The task runner of a laptop: functions by a LambdaInvoker, the rest by boto3 clients.

    Args:
        lambdas: runs functions; without it a task that needs one fails.
        clients: makes boto3 clients, called from worker threads; without it a task that
            needs one fails.
    """

    def __init__(
        self, lambdas: LambdaInvoker | None = None, clients: Clients | None = None
    ) -> None:
        self._lambdas = lambdas
        self.clients = clients

    async def run(self, request: TaskRequest) -> Json:
        """Run one task.

        Raises:
            StatesError: the task failed.
        """
        events = events_for(request.resource)
        if events.resource_type is None:
            return await invoke_function(self._invoker(), request)
        action, _, pattern = events.resource.partition(".")
        if events.resource_type == "lambda" and action == "invoke":
            return await invoke_action(self._invoker(), request)
        if events.resource_type == "states" and action == "startExecution":
            return await start_execution(request, pattern)
        if (events.resource_type, action) == ("http", "invoke"):
            return await asyncio.to_thread(invoke_endpoint, self.clients, request)
        if pattern.startswith("sync"):
            raise StatesError(RUNTIME, f"The engine cannot wait for the end of {request.resource}")
        if self.clients is None:
            raise StatesError(RUNTIME, f"No AWS clients are configured for {request.resource}")
        # On first use: the SDK costs a tenth of a second of start-up.
        from local.stepfunctions.integrations.services import call_service

        call = (self.clients, events.resource_type, action, request)
        return await asyncio.to_thread(call_service, *call)

    def _invoker(self) -> LambdaInvoker:
        if self._lambdas is None:
            raise StatesError(RUNTIME, "No Lambda functions are configured")
        return self._lambdas
