"""The report: levels by language and group, and each miss with its reason."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from local.stepfunctions.conformance.api_runner import ApiResult
from local.stepfunctions.conformance.runner import LEVELS, Result

_LEVELS: Final = range(1, LEVELS + 1)


def totals(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """By query language: how many cases there are and how many reach each level."""
    table: dict[str, dict[str, int]] = {}
    for result in results:
        row = table.setdefault(result.language, {"cases": 0} | {f"L{n}": 0 for n in _LEVELS})
        _count(row, result)
    return table


def _count(row: dict[str, int], result: Result) -> None:
    row["cases"] += 1
    for level in _LEVELS:
        row[f"L{level}"] += result.level >= level


def as_json(results: Sequence[Result], api: Sequence[ApiResult]) -> dict[str, Any]:
    """The report as JSON."""
    misses = [
        {"id": result.id, "level": result.level, "path": result.path}
        for result in results
        if result.path is not None
    ]
    misses += [
        {"id": result.id, "level": 0, "path": result.path}
        for result in api
        if result.path is not None
    ]
    counted = [result for result in api if not result.needs_jsonpath]
    return {
        "totals": totals(results),
        "api": {
            "calls_cases": len(counted),
            "passed": sum(result.passed for result in counted),
        },
        "misses": misses,
    }


def as_text(results: Sequence[Result], api: Sequence[ApiResult]) -> str:
    """The report as text: a table, then the misses."""
    lines = [f"{'language':12} {'group':22} cases " + " ".join(f"   L{n}" for n in _LEVELS)]
    for language in sorted({result.language for result in results}):
        own = [result for result in results if result.language == language]
        for group in sorted({result.group for result in own}):
            lines.append(_line(language, group, [r for r in own if r.group == group]))
        lines.append(_line(language, "all", own))
    counted = [result for result in api if not result.needs_jsonpath]
    if counted:
        passed = sum(result.passed for result in counted)
        whole = sum(result.path is None for result in counted)
        aside = len(api) - len(counted)
        lines.append(
            f"API: {passed} of {len(counted)} by code and http status, {whole} by the whole"
            f" answer; {aside} more need JSONPath"
        )
    lines.append("")
    lines += [f"L{r.level} {r.id}\n     {r.path}" for r in results if r.path is not None]
    lines += [f"{_mark(r)} {r.id}\n     {r.path}" for r in api if r.path is not None]
    return "\n".join(lines)


def _mark(result: ApiResult) -> str:
    if result.needs_jsonpath:
        return "API jsonpath"
    return "API answer" if result.passed else "API"


def _line(language: str, group: str, results: Sequence[Result]) -> str:
    row = {"cases": 0} | {f"L{n}": 0 for n in _LEVELS}
    for result in results:
        _count(row, result)
    shares = " ".join(f"{100 * row[f'L{n}'] / row['cases']:5.1f}" for n in _LEVELS)
    return f"{language:12} {group:22} {row['cases']:5} {shares}"
