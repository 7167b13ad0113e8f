from dataclasses import replace

import pytest

from local.verify.undo import undo
from local.verify.world import Function
from unit.local.verify.small import ARN, FUNCTIONS, MACHINE, NESTS, Nest, world_of
from unit.local.verify.test_small_machines import CHARGES


def _said(function: Function, nest: Nest) -> list[tuple[str, str]]:
    around = world_of(nest.around(CHARGES))
    around = replace(around, functions={**around.functions, f"{ARN}Charge": function})
    machine = around.machines[MACHINE + nest.machine]
    return [(one.path[-1], one.sentence) for one in undo(around, machine)]


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_an_effect_without_compensation_is_found(nest: Nest) -> None:
    function = replace(FUNCTIONS["Charge"], compensated_by="")
    assert _said(function, nest) == [("Charge", "has an effect and declares no compensated_by")]


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_a_compensation_that_is_no_step_is_found(nest: Nest) -> None:
    function = replace(FUNCTIONS["Charge"], compensated_by="give_back")
    assert _said(function, nest) == [("Charge", "is undone by give_back, which is no step here")]


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_an_effect_that_writes_no_intent_first_is_found(nest: Nest) -> None:
    function = replace(FUNCTIONS["Charge"], intends=False)
    sentence = "has an effect and does not write its intent before it acts"
    assert _said(function, nest) == [("Charge", sentence)]
