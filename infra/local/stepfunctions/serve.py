"""The engine by itself, for boto3 and the AWS CLI: `python -m local.stepfunctions`."""

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import uvicorn

from local.constants import EXECUTION_DAYS, LAMBDA_SECONDS, REGION
from local.invoke import InvokeRefusedError, InvokeResult
from local.stepfunctions.api.app import stepfunctions_app
from local.stepfunctions.clock import RealClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal
from local.stepfunctions.retention import DAY, forget_ended

_log = logging.getLogger(__name__)
_ADDRESS: Final = "127.0.0.1"
_CONNECT_SECONDS: Final = 5


async def serve(
    port: int,
    *,
    journal: Path | None = None,
    endpoint: str | None = None,
    region: str = REGION,
    keep_days: int = EXECUTION_DAYS,
) -> None:
    """Answer the Step Functions API on the loopback until interrupted.

    Args:
        port: where to listen.
        journal: a file that survives the process; without one nothing does.
        endpoint: where tasks find AWS services and Lambda, AWS itself unless given.
        region: the region in ARNs.
        keep_days: so many days the journal keeps executions that ended; 0 keeps them for ever.

    Raises:
        SystemExit: the journal cannot be written; started again, the engine goes on from it.
    """
    if journal is not None and keep_days:
        forget_ended(journal, RealClock().now() - keep_days * DAY)
    kept = None if journal is None else Journal(journal)
    clients = client_factory(endpoint, region)
    tasks = Integrations(RemoteFunctions(clients), clients)
    engine = Engine(tasks, region=region, journal=kept)
    resumed = engine.resume()
    config = uvicorn.Config(
        stepfunctions_app(engine), host=_ADDRESS, port=port, log_level="warning"
    )
    server = uvicorn.Server(config)
    _stop_on_signals(server)
    _log.info("listening", extra={"port": port, "resumed": resumed})
    watching = asyncio.create_task(_stop_when_dead(engine, server))
    await server.serve()
    died = engine.driver.dead
    watching.cancel()
    await engine.close()
    if kept is not None:
        kept.close()
    if died:
        sys.exit(f"the engine stopped: it could not write {journal}")


async def _stop_when_dead(engine: Engine, server: uvicorn.Server) -> None:
    # Nobody is told what is not on disk: who waits for an answer loses the connection.
    await engine.driver.died.wait()
    server.should_exit = server.force_exit = True


def _stop_on_signals(server: uvicorn.Server) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))


def client_factory(endpoint: str | None, region: str) -> Callable[[str], Any]:
    """Makes boto3 clients, one for each service, with one attempt and explicit timeouts."""
    made: dict[str, Any] = {}
    making = threading.Lock()

    def make(service: str) -> Any:
        with making:
            if service not in made:
                made[service] = _client(service, endpoint, region)
            return made[service]

    return make


def _client(service: str, endpoint: str | None, region: str) -> Any:
    import boto3  # 0.1 s of start-up that machines without such tasks do not need
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=LAMBDA_SECONDS + _CONNECT_SECONDS,
    )
    session: Any = boto3.session.Session(region_name=region)
    return session.client(service, endpoint_url=endpoint, config=config)


class RemoteFunctions:
    """Lambda functions behind the Lambda API, such as `sam local start-lambda`."""

    def __init__(self, clients: Callable[[str], Any]) -> None:
        self._clients = clients

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        """Call a function through the API.

        Raises:
            InvokeRefusedError: Lambda refused.
        """
        return await asyncio.to_thread(self._invoke, function_arn, payload, asynchronous)

    def _invoke(self, function_arn: str, payload: bytes, asynchronous: bool) -> InvokeResult:
        client = self._clients("lambda")
        kind = "Event" if asynchronous else "RequestResponse"
        try:
            answer = client.invoke(FunctionName=function_arn, Payload=payload, InvocationType=kind)
        except client.exceptions.ClientError as error:
            details = error.response["Error"]
            raise InvokeRefusedError(f"Lambda.{details['Code']}", details["Message"]) from error
        return InvokeResult(
            status_code=answer["StatusCode"],
            payload=answer["Payload"].read(),
            function_error=answer.get("FunctionError"),
            executed_version=answer.get("ExecutedVersion", "$LATEST"),
        )
