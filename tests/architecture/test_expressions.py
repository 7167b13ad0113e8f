"""Names in DynamoDB's expressions are aliased; no money and no id goes through JSONata doubles."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from architecture.project import ROOT, Json, Project, expressions, hold, own_fields

OWN_WORDS: Final = frozenset(
    {"PK", "SK", "SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN", "size"}
    | {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"}
    | {"if_not_exists", "list_append"}
)
"""What may stand in an expression bare: DynamoDB's own words and the two keys."""

MONEY_AND_IDS: Final = re.compile(
    r"\b(\w*(cost|worst|spent|ceiling|budget|available|reserved|price|dollar|usage|Id|ID)"
    r"|id|root|call|key|execution)\b"
)
ARITHMETIC: Final = re.compile(r"[-+*/%]|\$(sum|round|number|power|abs|floor|ceil|average)\(")
TOTALS: Final = re.compile(r"\$(sum|average|max|min)\((?!\[)|(?<!\[)\$filter\(")
STRING: Final = re.compile(r"'[^']*'|\"[^\"]*\"")

_EXPRESSION = re.compile(
    r"[#:]\w+\s*(=|<|>|,|\))|\b(SET|REMOVE|ADD) #|attribute_(not_)?exists|=\s*:\w"
)


def unaliased(sources: dict[str, str]) -> Iterator[str]:
    """Reserved words are hundreds, and grow: a name that is always aliased is none of them."""
    for place, source in sources.items():
        for text in _texts(source):
            if not _EXPRESSION.search(text):
                continue
            for word in re.findall(r"(?<![#:\w-])[A-Za-z_]\w*", text):
                if word not in OWN_WORDS:
                    yield f"{place}: {text!r} names {word} without an alias; write #{word}"


def _texts(source: str) -> Iterator[str]:
    """The string constants of a module, without its docstrings; of an f-string each constant."""
    tree = ast.parse(source)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def computed(project: Project) -> Iterator[str]:
    for state in project.states():
        for expression in expressions(own_fields(state.body)):
            bare = STRING.sub("", expression)
            if ARITHMETIC.search(bare) and (name := MONEY_AND_IDS.search(bare)):
                yield f"{state}: computes with {name[0]}; JSONata's numbers are doubles"


def undefined_totals(project: Project) -> Iterator[str]:
    for state in project.states():
        for expression in expressions(own_fields(state.body)):
            if found := TOTALS.search(STRING.sub("", expression)):
                yield f"{state}: {found[0]}...) of nothing is undefined; put its list into [...]"


def adapters() -> dict[str, str]:
    folder = ROOT / "functions/autoops/adapters"
    return {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}


def test_every_name_in_an_expression_of_dynamodb_is_aliased() -> None:
    found = [text for source in adapters().values() for text in _texts(source)]
    assert sum(1 for text in found if _EXPRESSION.search(text)) > 10, "the scan sees expressions"
    hold(unaliased(adapters()))


def test_a_reserved_word_in_an_expression_is_named() -> None:
    spoilt = {"x.py": 'update(key, "SET status = :status", "#status = :old AND attempt = :a")'}
    assert list(unaliased(spoilt)) == [
        "x.py: 'SET status = :status' names status without an alias; write #status",
        "x.py: '#status = :old AND attempt = :a' names attempt without an alias; write #attempt",
    ]


def test_no_machine_computes_money_or_ids(project: Project) -> None:
    hold(computed(project))


def test_money_computed_by_a_machine_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        definition["States"]["Correct"]["Assign"]["total"] = "{% $total + $cost %}"
        definition["States"]["Begin"]["Assign"]["path"] = "{% $number($run.id) %}"

    assert set(computed(project.with_machine("ask-model", spoil))) == {
        "ask-model: Correct: computes with cost; JSONata's numbers are doubles",
        "ask-model: Begin: computes with id; JSONata's numbers are doubles",
    }


def test_no_machine_takes_the_total_of_nothing(project: Project) -> None:
    hold(undefined_totals(project))


def test_a_total_that_may_be_undefined_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        assign = definition["States"]["Begin"]["Assign"]
        assign["bad"] = "{% $sum($items.x) %}"
        assign["worse"] = "{% $filter($items, function($i) { $i.ok }) %}"
        assign["good"] = "{% $sum([$items.x]) %}"
        assign["better"] = "{% [$filter($items, function($i) { $i.ok })] %}"

    assert list(undefined_totals(project.with_machine("ask-model", spoil))) == [
        "ask-model: Begin: $sum(...) of nothing is undefined; put its list into [...]",
        "ask-model: Begin: $filter(...) of nothing is undefined; put its list into [...]",
    ]


def test_jsonata_treats_nothing_as_the_rule_says() -> None:
    import jsonatapy

    assert jsonatapy.evaluate("$sum(items.x)", {"items": []}) is None
    assert jsonatapy.evaluate("$sum([items.x])", {"items": []}) == 0
