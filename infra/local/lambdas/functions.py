"""What a Lambda function is to the laptop, and the environment its process sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from local.constants import ACCOUNT, PARTITION, REGION

LATEST: Final = "$LATEST"
# The runtime that the template names; its awslambdaric writes JSON without \u escapes,
# so sizes are counted here as they are on AWS, whichever Python runs the laptop.
EXECUTION_ENVIRONMENT: Final = "AWS_Lambda_python3.13"


@dataclass(frozen=True)
class Preload:
    """What a process imports before functions are forked from it, to save each one the time.

    Attributes:
        modules: modules to import; one that is missing is left for the function to complain of.
        packages: packages to import with every module in them: the functions' own library, whose
            modules do nothing when imported.
        clients: boto3 clients made once on boto3's default session, so that a function's own
            `boto3.client(...)` finds their service models parsed.
        base: what was imported before, by a process that others share.
    """

    modules: tuple[str, ...] = (
        "pydantic.main",
        "pydantic.json_schema",
        "aws_lambda_powertools.logging",
        "aws_lambda_powertools.metrics",
        "boto3.dynamodb.types",
    )
    packages: tuple[str, ...] = ("autoops",)
    clients: tuple[str, ...] = (
        "dynamodb",
        "s3",
        "stepfunctions",
        "bedrock-runtime",
        "s3vectors",
        "events",
    )
    base: "Preload | None" = None

    def with_modules(self, *modules: str) -> "Preload":
        """This one and more modules, such as what a layer brings, in a process forked from it."""
        return Preload(modules=modules, packages=(), clients=(), base=self)


@dataclass(frozen=True)
class LambdaFunction:
    """One function as the template declares it.

    Attributes:
        name: the function's name, as in its ARN.
        handler: dotted path such as `steps.call_model.handler.handler`.
        timeout: seconds one invocation may take.
        memory: megabytes, told to the function, not enforced.
        environment: the function's own variables.
        concurrency: invocations at once; one more is refused with TooManyRequests.
        preload: what its worker is forked with.
        log_format: how awslambdaric writes the log lines of the standard logger.
        event_retries: how often an asynchronous invocation that failed is tried again.
        layers: names or ARNs of its layers, as GetFunction shows them.
    """

    name: str
    handler: str
    timeout: float = 3
    memory: int = 128
    environment: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 1000
    preload: Preload = Preload()
    layers: tuple[str, ...] = ()
    log_format: Literal["Text", "JSON"] = "Text"
    event_retries: int = 2

    @property
    def arn(self) -> str:
        """The unqualified ARN."""
        return f"arn:{PARTITION}:lambda:{REGION}:{ACCOUNT}:function:{self.name}"


@dataclass(frozen=True)
class Qualified:
    """A function's name with the version that an ARN or an alias means."""

    name: str
    version: str


def qualified(reference: str) -> Qualified:
    """Read a name, `name:qualifier`, partial ARN or full ARN.

    An alias means version 1: the laptop has one code, published once.
    """
    parts = reference.split(":")
    rest = parts[parts.index("function") + 1 :] if "function" in parts else parts
    qualifier = rest[1] if len(rest) > 1 else LATEST
    is_version = qualifier == LATEST or qualifier.isdecimal()
    return Qualified(rest[0], qualifier if is_version else "1")


def worker_environment(
    function: LambdaFunction,
    *,
    version: str,
    instance: str,
    task_root: Path,
    endpoint_url: str | None,
) -> dict[str, str]:
    """Everything in the function's environment: what Lambda sets, then what the function declares.

    Args:
        function: the function.
        version: "$LATEST" or a number.
        instance: 32 hexadecimal digits that name this worker in its log stream.
        task_root: the folder with the code, as /var/task in Lambda.
        endpoint_url: where the SDKs find AWS; None leaves the real one.
    """
    endpoint = {"AWS_ENDPOINT_URL": endpoint_url} if endpoint_url else {}
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "LAMBDA_TASK_ROOT": str(task_root),
        "_HANDLER": function.handler,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EXECUTION_ENV": EXECUTION_ENVIRONMENT,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": version,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": f"[{version}]{instance}",
        "AWS_LAMBDA_LOG_FORMAT": function.log_format,
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        **ISOLATION,
        **endpoint,
        **function.environment,
    }


# Credentials of nobody, and no way to the ones that the user of the laptop has.
ISOLATION: Final = {
    "AWS_ACCESS_KEY_ID": "AKIALOCALLOCALLOCAL0",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_SESSION_TOKEN": "local",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
