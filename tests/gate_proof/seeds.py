"""Bugs to seed: each drops one condition, or one write, of the ledger's transactions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

ALWAYS: Final = "(attribute_exists(PK) OR attribute_not_exists(PK))"


@dataclass(frozen=True)
class Seed:
    """One condition that is dropped.

    Attributes:
        name: what it is for.
        where: part of the write's change or condition.
        drop: part of its condition; all of it where empty.
        leaves: what stands in its place.
    """

    name: str
    where: str
    drop: str = ""
    leaves: str = ALWAYS

    def alter(self, write: Mapping[str, Any]) -> Mapping[str, Any]:
        ((kind, body),) = write.items()
        when = body.get("ConditionExpression", "")
        if self.where not in f"<{body.get('UpdateExpression', '')} IF {when}>":
            return write
        drop = self.drop or when
        if drop not in when:
            return write
        return {kind: {**body, "ConditionExpression": when.replace(drop, self.leaves)}}


@dataclass(frozen=True)
class Forgotten:
    """A write that is not made: the one under a key."""

    name: str
    kind: str
    key: str

    def alter(self, write: Mapping[str, Any]) -> Mapping[str, Any]:
        ((kind, body),) = write.items()
        key = body.get("Key") or body["Item"]
        mine = kind == self.kind and self.key in f"{key['PK']['S']} {key['SK']['S']}"
        same = {"Key": {"PK": key["PK"], "SK": {"S": "NOWHERE"}}}
        return {"Delete": same} if mine else write


GRANT: Final = ":new, #fingerprint"
REPEAT: Final = "#attempt = #attempt + :one, #lost"
SEEDS: Final = (
    Seed("open: once", "< IF attribute_not_exists(PK)>"),
    Seed("reserve: the money reaches", "#reserved + :worst", "#available >= :worst"),
    Seed("repeat: the money reaches", "#available - :worst, #spent", "#available >= :worst"),
    Seed("grant: a slot is free", "#held, :zero) + :one"),
    Seed("grant: the minute has requests left", "#requests < :requests"),
    Seed("grant: the minute has tokens left", "#tokens <= :room"),
    Seed("going: not paused", "#status = :running", "#paused = :no"),
    Seed("going: not stopped", "#stopped = :no AND #status", "#stopped = :no"),
    Seed("going: not at its end", "AND #status = :running", "AND #status = :running", ""),
    Seed("grant, park: waits as it was seen: token", GRANT, "#token = :seen"),
    Seed("grant, park: waits as it was seen: reason", GRANT, "#wait = :why"),
    Seed("grant, park: waits as it was seen: state", GRANT, "#state = :waiting"),
    Seed("grant: not standing", f"{GRANT} = ", "", ALWAYS),
    Seed("grant: a settled call only for another request", GRANT, "#fingerprint <> :fingerprint"),
    Seed("unpark: token", "SET #state = :released", "#token = :seen"),
    Seed("unpark: reason", "SET #state = :released", "#wait = :why"),
    Seed("unpark: state", "SET #state = :released", "#state = :waiting"),
    Seed("park: still paused", "IF #paused = :yes"),
    Seed("park: the money still does not reach", "IF #available < :worst"),
    Seed("ask again: state", "#since = :since IF", "#state = :state"),
    Seed("ask again: token", "#since = :since IF", "#token = :seen"),
    Seed("ask again: later", "#since = :since IF", "#since <= :since"),
    Seed("begin: granted", "SET #state = :calling", "#state = :granted"),
    Seed("begin: the same request", "SET #state = :calling", "#fingerprint = :fingerprint"),
    Seed("renew: attempt", "SET #lease = :until IF", "#attempt = :attempt"),
    Seed("renew: state", "SET #lease = :until IF", "#state = :calling"),
    Seed("repeat: lease", REPEAT, "#lease = :seen"),
    Seed("repeat: attempt", REPEAT, "#attempt = :attempt"),
    Seed("uncharge: attempt", "SET #state = :granted REMOVE", "#attempt = :attempt"),
    Seed("uncharge: state", "SET #state = :granted REMOVE", "#state = :calling"),
    Seed("settle, release: attempt", "#state = :held", "#attempt = :attempt"),
    Seed("settle, release: asked as seen", "#state = :held", "#asked_at = :since"),
    Seed("settle, release: state", "#state = :held", "#state = :held"),
    Seed("settle: the soft limit", "#warned = :yes OR"),
    Seed("settle late: still lost", "REMOVE #lost["),
    Seed("recover: lease", ":unknown", "#lease = :seen"),
    Seed("recover: lost as seen", ":unknown", "#lost = :lost"),
    Seed("recover: attempt", ":unknown", "#attempt = :attempt"),
    Seed("lose: lease", "list_append(#lost, :these) REMOVE", "#lease = :seen"),
    Seed("lose: attempt", "list_append(#lost, :these) REMOVE", "#attempt = :attempt"),
    Seed("lose: state", "list_append(#lost, :these) REMOVE", "#state = :calling"),
    Seed(
        "close run: redrive",
        "#closed_at = :at",
        "#redrive < :redrive OR (#redrive = :redrive AND #status = :running)",
    ),
    Seed("close run: not twice", "#closed_at = :at", "AND #status = :running", ""),
    Seed("reopen: a later redrive", "REMOVE #closed_at", "#redrive < :redrive"),
    Seed("reopen: not stopped", "REMOVE #closed_at", "#stopped = :no"),
    Seed("pause: running", "SET #paused", "#status = :running"),
    Seed("raise: the account's ceiling", "#ceiling + :by"),
    Seed(
        "grant, park: as it was seen",
        f"{GRANT} = :fingerprint, #data",
        "#state = :waiting AND #token = :seen AND #wait = :why AND #asked_at = :asked",
    ),
    Seed("unpark: as it was seen", "SET #state = :released"),
    Seed("ask again: as it was seen", "#since = :since IF"),
    Seed("renew: as it was seen", "SET #lease = :until IF"),
    Seed("repeat: as it was seen", REPEAT),
    Seed("uncharge: as it was seen", "SET #state = :granted REMOVE"),
    Seed("settle, release: as it was seen", "#state = :held"),
    Seed("recover: as it was seen", ":unknown"),
    Seed("lose: as it was seen", "list_append(#lost, :these) REMOVE"),
    Forgotten("grant, unpark: the ticket is taken out", "Delete", "QUEUE#"),
    Forgotten("park: a ticket is put in", "Put", "QUEUE#"),
    Forgotten("settle, release, lose: the slot is freed", "Update", "SLOT#"),
)

UNSHOWN: Final = frozenset(
    {
        "grant, park: waits as it was seen: reason",
        "grant, park: waits as it was seen: state",
        "unpark: token",
        "unpark: reason",
        "unpark: state",
        "park: still paused",
        "park: the money still does not reach",
        "ask again: state",
        "ask again: token",
        "ask again: later",
        "begin: the same request",
        "renew: attempt",
        "renew: state",
        "repeat: lease",
        "repeat: attempt",
        "uncharge: attempt",
        "uncharge: state",
        "settle, release: asked as seen",
        "settle late: still lost",
        "recover: lease",
        "recover: lost as seen",
        "recover: attempt",
        "lose: lease",
        "lose: attempt",
        "lose: state",
        "close run: not twice",
        "reopen: a later redrive",
        "reopen: not stopped",
        "renew: as it was seen",
        "uncharge: as it was seen",
        "recover: as it was seen",
    }
)
"""Seeds that no world looked at so far shows: another condition of the same write stands in for
the one that is dropped, or the worlds seldom get there. The proof says nothing of these; the model
of the protocol finds the lease, the attempt, the token and the reasons of waiting."""
