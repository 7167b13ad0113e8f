"""A run's budget as parts of transactions: available + reserved + spent = ceiling + over.

A condition cannot add, so `available` is kept; `soft_left` is what may be spent before the run is
announced as near its ceiling.
"""

from typing import Any

from autoops.adapters.expressions import Item, condition, update
from autoops.adapters.keys import run_key
from autoops.domain.contracts import Run
from autoops.domain.ledger import SOFT_LIMIT_PERCENT, Budget


def opened(ceiling: int) -> Item:
    """The attributes of a budget of which nothing is spent."""
    return {
        "ceiling": ceiling,
        "available": ceiling,
        "reserved": 0,
        "spent": 0,
        "over": 0,
        "soft_left": _soft(ceiling),
        "warned": False,
    }


def sliced(amount: int) -> Item:
    """The attributes of a slice's budget: only its run's own is announced when it runs out."""
    return {**opened(amount), "warned": True}


def reserve(run: Run, worst: int) -> Item:
    """Set the worst case aside, if there is that much."""
    return update(
        _key(run.purse),
        "SET #available = #available - :worst, #reserved = #reserved + :worst",
        "#available >= :worst",
        worst=worst,
    )


def short_of(run: Run, worst: int) -> Item:
    """There is not that much."""
    return condition(_key(run.purse), "#available < :worst", worst=worst)


def give_back(run: Run, worst: int) -> Item:
    """The call will not be made."""
    return update(
        _key(run.purse),
        "SET #reserved = #reserved - :worst, #available = #available + :worst",
        worst=worst,
    )


def lose(run: Run, worst: int) -> Item:
    """What the call cost is unknown: it counts in full."""
    return update(
        _key(run.purse),
        "SET #reserved = #reserved - :worst, #spent = #spent + :worst,"
        " #soft_left = #soft_left - :worst",
        worst=worst,
    )


def lose_and_reserve(run: Run, worst: int) -> Item:
    """One attempt counts in full, and as much is set aside for the next, if there is that much."""
    return update(
        _key(run.purse),
        "SET #available = #available - :worst, #spent = #spent + :worst,"
        " #soft_left = #soft_left - :worst",
        "#available >= :worst",
        worst=worst,
    )


def settle(run: Run, cost: int, worst: int, *, warn: bool = False) -> Item:
    """What was set aside becomes what it cost.

    On the condition that the soft limit is not passed by it, or was passed before; with `warn` it
    is passed now.
    """
    rest, over = _rest(cost, worst)
    change = (
        "SET #reserved = #reserved - :worst, #spent = #spent + :cost, #over = #over + :over,"
        " #available = #available + :rest, #soft_left = #soft_left - :cost"
    )
    values: dict[str, Any] = {"worst": worst, "cost": cost, "rest": rest, "over": over, "yes": True}
    if warn:
        return update(_key(run.purse), f"{change}, #warned = :yes", **values)
    return update(_key(run.purse), change, "#warned = :yes OR #soft_left >= :cost", **values)


def replace_lost(run: Run, cost: int, worst: int) -> Item:
    """An attempt that counts in full counts what it cost after all."""
    rest, over = _rest(cost, worst)
    return update(
        _key(run.purse),
        "SET #spent = #spent + :less, #over = #over + :over, #available = #available + :rest,"
        " #soft_left = #soft_left - :less",
        less=cost - worst,
        over=over,
        rest=rest,
    )


def recover(run: Run, cost: int | None, worst: int, *, made: bool) -> Item:
    """An earlier attempt counts what it cost, and what is set aside is not needed.

    Args:
        run: whose money it is.
        cost: nano-dollars that the earlier attempt cost and that replace its worst case; None when
            they do already.
        worst: nano-dollars counted for it, and set aside for the present one.
        made: the present attempt may have been made too: it counts in full.
    """
    rest, over = (0, 0) if cost is None else _rest(cost, worst)
    spent = (0 if cost is None else cost - worst) + (worst if made else 0)
    return update(
        _key(run.purse),
        "SET #reserved = #reserved - :worst, #spent = #spent + :more, #over = #over + :over,"
        " #available = #available + :free, #soft_left = #soft_left - :more",
        worst=worst,
        more=spent,
        over=over,
        free=rest if made else rest + worst,
    )


def rejoined(run: Run, amount: int, part: Budget) -> list[Item]:
    """A slice of which nothing is reserved goes back to its run: what it spent, and the rest.

    Args:
        run: with the slice.
        amount: nano-dollars that were set aside for it.
        part: the slice's budget, as it was seen.
    """
    emptied = update(
        _key(run.purse),
        "SET #ceiling = :spent - :over, #available = :zero",
        "#reserved = :zero AND #spent = :spent AND #available = :rest",
        zero=0,
        spent=part.spent,
        rest=part.available,
        over=part.over,
    )
    whole = update(
        _key(run.root),
        "SET #reserved = #reserved - :amount, #spent = #spent + :spent, #over = #over + :over,"
        " #available = #available + :rest, #soft_left = #soft_left - :spent",
        amount=amount,
        spent=part.spent,
        rest=part.available,
        over=part.over,
    )
    return [emptied, whole]


def stop_when_dearer(run: Run, cost: int, worst: int) -> list[Item]:
    """A call that cost more than its worst case: no ceiling holds any more, so the run stops."""
    stop = update(run_key(run.root, "META"), "SET #stopped = :yes", yes=True)
    return [stop] if cost > worst else []


def more(root: str, by: int, most: int) -> Item:
    """A ceiling that is higher by so much, and not above the most."""
    return update(
        _key(root),
        "SET #ceiling = #ceiling + :by, #available = #available + :by,"
        " #soft_left = #soft_left + :soft, #warned = :no",
        "#ceiling <= :room",
        by=by,
        soft=_soft(by),
        no=False,
        room=most - by,
    )


def _rest(cost: int, worst: int) -> tuple[int, int]:
    """What is left of the worst case, and what came on top of it."""
    return max(0, worst - cost), max(0, cost - worst)


def _soft(amount: int) -> int:
    return amount * SOFT_LIMIT_PERCENT // 100


def _key(root: str) -> Item:
    return run_key(root, "BUDGET")
