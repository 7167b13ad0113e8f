"""Rules on the laptop: schedules tick at their rate, and say what EventBridge says."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from local.invoke import InvokeResult
from local.rules import Rules, seconds_of
from local.template.model import Rule, Target
