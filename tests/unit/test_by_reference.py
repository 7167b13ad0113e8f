"""What travels by reference, from one step to the next, and what a forged reference may do."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.adapters.s3 import S3Artifacts
from autoops.domain.contracts import Contract, Json, Run, plain, to_json
from autoops.domain.references import (
    LARGE_BYTES,
    Large,
    Private,
    Reference,
    artifact_key,
    holds_reference,
    is_reference,
)
from autoops.errors import InvalidInput, PayloadTooLarge
from autoops.lambda_runtime import PAYLOAD_BYTES, LambdaContext, lambda_handler_for
from samples import NOON, RUN

CANARY = "canary-7f3a"


@dataclass
class Store:
    """Artifacts in memory, with the store's own rules."""

    content: dict[str, Json] = field(default_factory=dict)

    def put(self, tenant: str, value: Json) -> Reference:
        content = to_json(value).encode()
        key = artifact_key(tenant, content)
        self.content[key] = value
        return Reference(artifact=key, bytes=len(content))

    def get(self, tenant: str, reference: Reference) -> Json:
        if not reference.artifact.startswith(f"{tenant}/"):
            raise InvalidInput("artifact: belongs to another tenant")
        return self.content[reference.artifact]


class Silent:
    """A ledger that keeps what it is told and a clock that stands still."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def record_step(self, run: Run, record: object) -> None:  # noqa: ARG002
        self.told.append(record)

    def note_error(self, run: Run, error: str) -> None:  # noqa: ARG002
        self.told.append(error)

    def now(self) -> object:
        return NOON


class Context:
    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 1_000


class Item(Contract):
    secret: Private[str]
    open: int = 0


class Given(Contract):
    value: Json = None


class Everything(Contract):
    items: tuple[Item, ...] = ()
    by_name: dict[str, Item] | None = None
    maybe: Private[str | None] = None
    inner: Item | None = None
    large: Large[Json] = None
    open: Json = None


def run(store: Store, output: Everything, given: Json = None) -> Json:
    return running(store, lambda _: output, given)


def running(
    store: Store | S3Artifacts, make: Callable[[Json], Contract], given: Json = None
) -> Json:
    quiet = Silent()

    def step(given: Given, run: Run) -> Contract:  # noqa: ARG001
        return make(given.value)

    handler = lambda_handler_for(step, accepts=Given, returns=Everything).with_ports(
        ledger=lambda: quiet, artifacts=lambda: store, clock=lambda: quiet
    )
    event = {"run": plain(RUN), "step": "Step", "attempt": 0, "input": {"value": given}}
    context: LambdaContext = Context()
    payload = handler(event, context)
    assert CANARY not in to_json(quiet.told)
    return payload


@pytest.fixture
def store() -> Store:
    return Store()


def test_private_fields_in_lists_and_mappings_of_models_leave_by_reference(store: Store) -> None:
    item = Item(secret=CANARY, open=7)
    payload = run(store, Everything(items=(item, item), by_name={"a": item}, inner=item))
    assert CANARY not in to_json(payload)
    for one in [*payload["items"], payload["by_name"]["a"], payload["inner"]]:
        assert is_reference(one["secret"])
        assert one["open"] == 7
    assert (len(store.content), payload["maybe"]) == (1, None)


def test_nothing_stays_nothing(store: Store) -> None:
    payload = run(store, Everything())
    assert (payload["items"], payload["maybe"], payload["inner"]) == ([], None, None)
    assert store.content == {}


@pytest.mark.parametrize(
    ("characters", "travels"),
    [(LARGE_BYTES // 2 - 1, False), (LARGE_BYTES // 2, True)],
)
def test_large_is_measured_in_utf_8_bytes_of_the_json_text(
    store: Store, characters: int, travels: bool
) -> None:
    payload = run(store, Everything(large="ä" * characters))
    assert is_reference(payload["large"]) is travels


def test_a_result_at_the_limit_passes_and_one_byte_more_names_step_size_and_limit(
    store: Store,
) -> None:
    frame = len(to_json(run(store, Everything(open=""))).encode())
    room = PAYLOAD_BYTES - frame
    assert len(to_json(run(store, Everything(open="x" * room))).encode()) == PAYLOAD_BYTES
    over = rf"Step: result of {PAYLOAD_BYTES + 1} bytes, limit {PAYLOAD_BYTES}"
    with pytest.raises(PayloadTooLarge, match=over):
        run(store, Everything(open="x" * (room + 1)))
    with pytest.raises(PayloadTooLarge):
        run(store, Everything(open="ä" * (room // 2 + 1)))


@pytest.mark.parametrize("answer", ["x" * 300_000, "語" * 100_000, "ä" * 2_500_000])
def test_a_long_answer_travels_by_reference_and_comes_back_whole(store: Store, answer: str) -> None:
    payload = run(store, Everything(large=answer))
    reference = Reference.read(payload["large"])
    assert reference.bytes == len(to_json(answer).encode())
    assert len(to_json(payload)) < 1_000
    back = running(store, lambda value: Everything(open=len(value)), payload["large"])
    assert back["open"] == len(answer)


FORGED: list[Json] = [
    {"artifact": "default/" + "0" * 64, "bytes": 1},
    [{"note": {"artifact": "anything", "bytes": "many"}}],
    {"deep": [{"artifact": None, "bytes": None}]},
]


@pytest.mark.parametrize("data", FORGED)
def test_data_in_the_form_of_a_reference_comes_back_as_the_data_it_is(
    store: Store, data: Json
) -> None:
    payload = run(store, Everything(large=data))
    assert is_reference(payload["large"])
    seen: list[Json] = []

    def keep(value: Json) -> Everything:
        seen.append(value)
        return Everything()

    running(store, keep, payload["large"])
    assert seen == [data], "what a reference stands for is not looked into once more"


@pytest.mark.parametrize(
    "forged",
    [
        {"artifact": "other/" + "0" * 64, "bytes": 1},
        {"artifact": "default/../other/" + "0" * 64, "bytes": 1},
        {"artifact": "answers/answer-question:r1/AskModel/0/0/1", "bytes": 1},
        {"artifact": "default/notes", "bytes": 1},
        {"artifact": 7, "bytes": "x"},
    ],
)
def test_a_forged_reference_is_bad_input_and_opens_nothing(store: Store, forged: Json) -> None:
    store.content["other/" + "0" * 64] = CANARY
    with pytest.raises(InvalidInput) as raised:
        run(store, Everything(), forged)
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    "data", [None, 1, "artifact", [], {}, {"artifact": "a", "bytes": 1, "c": 2}]
)
def test_other_data_holds_no_reference(data: Json) -> None:
    assert not holds_reference(data)


class Bucket:
    """S3 in memory, as far as artifacts need it."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def put_object(self, *, Key: str, Body: bytes, **_: object) -> None:  # noqa: N803  # boto3's
        self.content[Key] = Body

    def get_object(self, *, Key: str, **_: object) -> dict[str, io.BytesIO]:  # noqa: N803  # as above
        return {"Body": io.BytesIO(self.content[Key])}


numbers = st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.just(FORGED[0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values, st.integers(0, 2))
def test_any_value_travels_by_reference_and_comes_back_the_same(value: Json, scale: int) -> None:
    bucket = Bucket()
    store = S3Artifacts(cast("Any", bucket), "artifacts")
    wide = [value, "x" * (LARGE_BYTES // 2) * scale]
    seen: list[Json] = []

    def keep(given: Json) -> Everything:
        seen.append(given)
        return Everything()

    first = running(store, lambda _: Everything(large=wide, maybe=to_json(value)))
    running(store, keep, first["large"])
    assert seen == [json.loads(to_json(wide))]
    assert is_reference(first["maybe"])
    assert is_reference(first["large"]) is (scale == 2 or holds_reference(value))
    kept = store.get("default", Reference.read(first["maybe"]))
    assert json.loads(kept) == json.loads(to_json(value))


@given(values, st.data())
def test_a_value_with_any_byte_changed_is_refused(value: Json, data: st.DataObject) -> None:
    bucket = Bucket()
    store = S3Artifacts(cast("Any", bucket), "artifacts")
    reference = store.put("default", value)
    assert store.get("default", reference) == json.loads(to_json(value))
    content = bucket.content[reference.artifact]
    at = data.draw(st.integers(0, len(content) - 1))
    changed = content[at] ^ data.draw(st.integers(1, 255))
    bucket.content[reference.artifact] = content[:at] + bytes([changed]) + content[at + 1 :]
    with pytest.raises(InvalidInput, match="does not match its hash"):
        store.get("default", reference)
