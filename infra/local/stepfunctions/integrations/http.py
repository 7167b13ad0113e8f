"""`http:invoke`: third-party HTTP endpoints with the credentials of an EventBridge connection."""

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.integrations.exchange import Exchange, note
from local.stepfunctions.jsontext import Json, JsonValue, dumps, loads
from local.stepfunctions.tasks import TaskRequest

if TYPE_CHECKING:
    import httpx

_SECONDS: Final = 60
_SOCKET: Final = "States.Http.Socket"


def invoke_endpoint(clients: Callable[[str], Any] | None, request: TaskRequest) -> Json:
    """Call an endpoint; called in a thread.

    Returns:
        Headers, ResponseBody, StatusCode and StatusText, as Step Functions gives them.

    Raises:
        StatesError: States.Http.StatusCode.<code> for an answer that is no success,
            States.Http.Socket when there was none, or a defect of the arguments.
    """
    arguments = request.arguments.data
    if not isinstance(arguments, dict) or not {"ApiEndpoint", "Method"} <= arguments.keys():
        raise StatesError(RUNTIME, "The fields 'ApiEndpoint' and 'Method' are required")
    headers = {
        str(name): _joined(value) for name, value in (arguments.get("Headers") or {}).items()
    }
    query = dict(arguments.get("QueryParameters") or {})
    own = {name.lower() for name in headers}, set(query)
    _authenticate(clients, arguments, headers, query)
    secrets = frozenset({name.lower() for name in headers} - own[0]), frozenset(set(query) - own[1])
    content = _content(arguments, headers)
    method, url = str(arguments["Method"]), str(arguments["ApiEndpoint"])
    answer = _call(method, url, params=query, headers=headers, content=content)
    note(Exchange(answer, *secrets))
    return _output(answer)


def _call(method: str, url: str, **content: Any) -> "httpx.Response":
    import httpx  # 0.1 s of start-up that most machines do not need

    try:
        return httpx.request(method, url, timeout=_SECONDS, **content)
    except httpx.HTTPError as error:
        raise StatesError(_SOCKET, str(error)) from error


def _joined(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _content(arguments: Mapping[str, Any], headers: dict[str, str]) -> bytes | None:
    body = arguments.get("RequestBody")
    if body is None:
        return None
    names = {name.lower() for name in headers}
    transform = arguments.get("Transform") or {}
    if transform.get("RequestBodyEncoding") == "URL_ENCODED":
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        return urlencode(body, doseq=True).encode()
    if "content-type" not in names:
        headers["Content-Type"] = "application/json"
    return (body if isinstance(body, str) else dumps(body)).encode()


def _output(answer: "httpx.Response") -> Json:
    try:
        body = loads(answer.text) if answer.text else ""
    except ValueError:
        body = answer.text
    if not answer.is_success:
        cause = answer.text or answer.reason_phrase
        raise StatesError(f"States.Http.StatusCode.{answer.status_code}", cause)
    names = dict.fromkeys(answer.headers)
    return Json(
        {
            "Headers": {name: answer.headers.get_list(name) for name in names},
            "ResponseBody": body,
            "StatusCode": answer.status_code,
            "StatusText": answer.reason_phrase,
        }
    )


def _authenticate(
    clients: Callable[[str], Any] | None,
    arguments: Mapping[str, Any],
    headers: dict[str, str],
    query: dict[str, Any],
) -> None:
    place = arguments.get("Authentication") or arguments.get("InvocationConfig") or {}
    arn = place.get("ConnectionArn")
    if arn is None or clients is None:
        return
    name = str(arn).split(":connection/", 1)[-1].split("/", 1)[0]
    connection = clients("events").describe_connection(Name=name)
    if connection.get("ConnectionState") not in (None, "AUTHORIZED"):
        state = connection["ConnectionState"]
        raise StatesError(
            "Events.ConnectionResource.InvalidConnectionState", f"Connection is {state}"
        )
    secret = _secret(clients, connection)
    kind = connection.get("AuthorizationType")
    if kind == "API_KEY":
        headers[secret["api_key_name"]] = secret["api_key_value"]
    elif kind == "BASIC":
        pair = f"{secret['username']}:{secret['password']}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif kind == "OAUTH_CLIENT_CREDENTIALS":
        headers["Authorization"] = f"Bearer {_token(secret)}"
    parameters = secret.get("invocation_http_parameters")
    headers |= _pairs(parameters, "header_parameters")
    query |= _pairs(parameters, "query_string_parameters")


def _pairs(parameters: Mapping[str, Any] | None, group: str) -> dict[str, str]:
    return {entry["key"]: entry["value"] for entry in (parameters or {}).get(group, ())}


def _secret(clients: Callable[[str], Any], connection: Mapping[str, Any]) -> dict[str, Any]:
    answer = clients("secretsmanager").get_secret_value(SecretId=connection["SecretArn"])
    secret: dict[str, Any] = loads(answer["SecretString"])
    return secret


def _token(secret: Mapping[str, Any]) -> str:
    # The laptop's EventBridge keeps some members under other names than AWS does.
    known = {**secret, **secret.get("client_parameters", {})}
    extra = known.get("oauth_http_parameters") or known.get("o_auth_http_parameters")
    form = {
        "grant_type": "client_credentials",
        "client_id": known["client_id"],
        "client_secret": known["client_secret"],
        **_pairs(extra, "body_parameters"),
    }
    endpoint = str(secret["authorization_endpoint"])
    answer = _call(secret.get("http_method", "POST"), endpoint, data=form)
    if not answer.is_success:
        raise StatesError("States.Http.StatusCode.Authorization", answer.text)
    return str(answer.json()["access_token"])
