"""What can go wrong, named by what happens next.

The class names are what the state machines match in `ErrorEquals`: Lambda reports a raised
exception under its class name. A message names the field or thing at fault and the remedy, and
carries no prompt, answer or personal data, because it ends in the execution history.
"""


class AutoOpsError(Exception):
    """The root: every error that a step raises is one of these."""


class TryAgain(AutoOpsError):
    """The same request may succeed later; the state machine retries it."""


class ModelThrottled(TryAgain):
    """The model refused for rate; nothing was charged."""


class ModelUnavailable(TryAgain):
    """The model could not be reached or is not ready; nothing was charged."""


class ModelTimedOut(TryAgain):
    """No answer came in time; whether it was charged is unknown."""


class ModelFaulted(TryAgain):
    """The model failed while it answered."""


class CallInProgress(TryAgain):
    """Another worker is making this very call."""


class DependencyUnavailable(TryAgain):
    """A store or service that the step needs did not answer or refused for rate."""


class GiveUp(AutoOpsError):
    """The same request can never succeed; nothing retries it."""


class InvalidInput(GiveUp):
    """The input breaks the contract; the message names the field."""


class OutputRejected(GiveUp):
    """The model's answer still broke its contract after the last correction."""


class OutputTruncated(GiveUp):
    """The model stopped at its output limit; a part of an answer is no answer."""


class OutputEmpty(GiveUp):
    """The model ended cleanly and said nothing."""


class ContentBlocked(GiveUp):
    """A guardrail or content filter stopped the answer."""


class ContextTooLong(GiveUp):
    """The request is longer than the model takes."""


class BudgetExceeded(GiveUp):
    """The run's ceiling does not cover the worst case of the next call."""


class UnpricedModel(GiveUp):
    """The price table has no row for the model, so no ceiling could hold."""


class ModelNotAllowed(GiveUp):
    """The account may not call the model."""


class ModelMisconfigured(GiveUp):
    """The model's id or the request's settings are wrong."""


class PayloadTooLarge(GiveUp):
    """A step's input or result is over what Step Functions carries."""


class AdmissionLost(GiveUp):
    """The call is no longer admitted; it has to be admitted again."""


class OutcomeUnknown(GiveUp):
    """A call's outcome stayed unknown after every allowed repeat; each was charged in full."""


class StepFaulted(GiveUp):
    """The step's own code is at fault; its log line has the stack trace."""


class ApprovalRejected(GiveUp):
    """A person said no."""


class ApprovalExpired(GiveUp):
    """Nobody decided before the deadline."""


class LoopDetected(GiveUp):
    """Events started one another more often than allowed."""


class RunStopped(GiveUp):
    """An operator stopped the run, or it has already ended."""


class CompensationFailed(GiveUp):
    """An effect could not be undone and needs a person."""
