"""Every state that the protocol can reach with so many faults, breadth first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prove.admission_invariants import broken, forgotten, unquiet
from prove.admission_model import Call, Run, State, Transactions, Worker
from prove.admission_moves import FAULTS, followers
from prove.admission_programs import TRIES, WRONG, Programs


class Instance(NamedTuple):
    """One exploration.

    Attributes:
        calls: of each run.
        ceiling: of each run.
        faults: how often each may happen.
        reduced: a worker's step that nobody else can see or hinder is taken before all others.
        most: the search ends after so many states.
    """

    programs: Programs
    faults: Mapping[str, int]
    runs: int = 2
    calls: int = 2
    ceiling: int = 3
    reduced: bool = False
    most: int = 10**9

    def first(self) -> State:
        """Every call asks."""
        asker = Worker("admit", "grant", inv=1, tries=TRIES)
        return State(
            runs=(Run(ceiling=self.ceiling, available=self.ceiling),) * self.runs,
            calls=(Call(workers=(asker,)),) * (self.runs * self.calls),
            faults=tuple(self.faults.get(kind, 0) for kind in FAULTS),
        )


@dataclass
class Explored:
    """What was seen, the whole or not; `wrong` says what was found, `path` how to come there."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    quiet: int = 0
    whole: bool = False
    wrong: str = ""
    path: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = (
            f"{self.states:,} states, {self.transitions:,} transitions, depth {self.depth},"
            f" {self.quiet:,} quiet{'' if self.whole or self.wrong else ', cut off'}"
        )
        return "\n  ".join([told, *([f"WRONG: {self.wrong}", *self.path] if self.wrong else [])])


def explore(instance: Instance) -> Explored:
    """All that the instance reaches, or the shortest path to what is wrong."""
    return _Search(instance).run()


class _Search:
    """One search; `came` says for each state from which one and by what it was reached first."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        first = canonical(instance.first())
        self._level = [first]
        self._came: dict[State, tuple[State | None, str]] = {first: (None, "start")}
        self._found = Explored()

    def run(self) -> Explored:
        while self._level and not self._found.wrong and len(self._came) < self._instance.most:
            level, self._level = self._level, []
            for state in level:
                if not self._went_on(state):
                    break
            self._found.depth += bool(self._level)
        self._found.states = len(self._came)
        self._found.whole = not self._level
        return self._found

    def _went_on(self, state: State) -> bool:
        """Whether nothing is wrong with what comes next."""
        moves = list(followers(self._instance.programs, state, reduced=self._instance.reduced))
        self._found.transitions += len(moves)
        wrong = self._wrong_at_rest(state, [label for label, _ in moves if "! " not in label])
        if wrong:
            return self._say(state, wrong)
        for label, following in moves:
            after = canonical(following)
            if after in self._came and WRONG not in label:
                continue
            self._came[after] = (state, label)
            wrong = label if WRONG in label else broken(after, self._instance.programs.on.limit)
            if wrong:
                return self._say(after, wrong)
            self._level.append(after)
        return True

    def _wrong_at_rest(self, state: State, labels: list[str]) -> str:
        if not labels:
            self._found.quiet += 1
            return unquiet(state, asks=self._instance.programs.asks)
        if labels == ["a whole sweep"] and set(self._instance.faults) == {"pause"}:
            return forgotten(state)
        return ""

    def _say(self, last: State, wrong: str) -> bool:
        self._found.wrong = wrong
        state: State | None = last
        while state is not None:
            state, label = self._came[state]
            self._found.path.append(label)
        self._found.path.reverse()
        return False


def canonical(state: State) -> State:
    """The same state with workers, calls and runs in one order: their names mean nothing."""
    calls = tuple(
        of if len(of.workers) < 2 else of._replace(workers=tuple(sorted(of.workers, key=hash)))
        for of in state.calls
    )
    each = len(calls) // len(state.runs)
    marks = [hash(of) for of in calls]
    own = [
        sorted(range(at * each, at * each + each), key=marks.__getitem__)
        for at in range(len(state.runs))
    ]
    runs = sorted(
        range(len(state.runs)),
        key=lambda at: hash((state.runs[at], *(marks[call] for call in own[at]))),
    )
    order = [call for at in runs for call in own[at]]
    others = tuple(sorted(state.others, key=hash)) if len(state.others) > 1 else state.others
    state = state._replace(calls=calls, others=others)
    return state if order == sorted(order) else _renamed(state, runs, order)


def _renamed(state: State, runs: list[int], order: list[int]) -> State:
    name = {old: new for new, old in enumerate(order)} | {-1: -1}
    run_name = {old: new for new, old in enumerate(runs)} | {-1: -1}

    def worker(w: Worker) -> Worker:
        if w.target < 0 and w.run < 0 and not w.todo and not w.known:
            return w
        return w._replace(
            run=run_name[w.run],
            target=name[w.target],
            todo=tuple((name[call], seen) for call, seen in w.todo),
            known=tuple(sorted((run_name[run], said) for run, said in w.known)),
        )

    return state._replace(
        runs=tuple(state.runs[at] for at in runs),
        calls=tuple(
            state.calls[call]._replace(workers=tuple(map(worker, state.calls[call].workers)))
            for call in order
        ),
        others=tuple(map(worker, state.others)),
    )


def programs(
    dropped: str = "", *mistakes: str, limit: int = 1, asks: bool = False, most: int = 4
) -> Programs:
    """The protocol as it is, or without one condition, or with mistakes."""
    return Programs(Transactions(limit, dropped), asks, most, frozenset(mistakes))
