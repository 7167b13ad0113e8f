"""Short ways to write the state machines of these tests."""

from typing import Any

from local.stepfunctions.jsontext import JsonValue


def machine(**states: dict[str, Any]) -> dict[str, Any]:
    """A JSONata machine whose states follow each other in the order given."""
    return {"QueryLanguage": "JSONata", **program(**states)}


def program(**states: dict[str, Any]) -> dict[str, Any]:
    """States that follow each other unless they say where they lead."""
    names = list(states)
    for name, following in zip(names, [*names[1:], None], strict=True):
        state = states[name]
        ends_itself = state["Type"] in ("Choice", "Succeed", "Fail")
        if not ends_itself and "Next" not in state and "End" not in state:
            state |= {"End": True} if following is None else {"Next": following}
    return {"StartAt": names[0], "States": states}


def task(function: str = "work", **fields: JsonValue) -> dict[str, Any]:
    """A Task that invokes a function; its payload is the state's input unless given."""
    arguments = {"FunctionName": function, "Payload": "{% $states.input %}"}
    arguments |= fields.pop("Arguments", {})
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": arguments,
        "Output": "{% $states.result.Payload %}",
        **fields,
    }


def waiting_task(**fields: JsonValue) -> dict[str, Any]:
    """A Task that waits for its token, which the function `hold` is given."""
    arguments = {"FunctionName": "hold", "Payload": {"token": "{% $states.context.Task.Token %}"}}
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Arguments": arguments,
        **fields,
    }


def distributed(**fields: JsonValue) -> dict[str, Any]:
    """A Distributed Map whose children hand their items through unless a processor is given."""
    processor = fields.pop("ItemProcessor", program(Each={"Type": "Pass"}))
    config = {"Mode": "DISTRIBUTED", "ExecutionType": fields.pop("ExecutionType", "STANDARD")}
    return {"Type": "Map", "ItemProcessor": {**processor, "ProcessorConfig": config}, **fields}


def nested(machine_arn: str, pattern: str = ".sync:2", **fields: JsonValue) -> dict[str, Any]:
    """A Task that starts an execution of another machine."""
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::states:startExecution{pattern}",
        "Arguments": {"StateMachineArn": machine_arn, "Input": "{% $states.input %}"},
        **fields,
    }
