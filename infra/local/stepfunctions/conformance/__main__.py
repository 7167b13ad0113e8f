"""`python -m local.stepfunctions.conformance DIR`: how this engine compares with AWS."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from moto import mock_aws

from local.stepfunctions.conformance.api_runner import ApiResult, run_api_case
from local.stepfunctions.conformance.cases import read_cases
from local.stepfunctions.conformance.report import as_json, as_text
from local.stepfunctions.conformance.runner import Result, run_case


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the recorded cases of a folder and print how far each went."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with cases.jsonl")
    parser.add_argument("--language", action="append", default=[], help="only these languages")
    parser.add_argument("--only", default="", help="only cases whose id contains this")
    parser.add_argument("--report", type=Path, help="write the report as JSON")
    options = parser.parse_args(arguments)
    results, api = run_all(options.folder, options.language, options.only)
    sys.stdout.write(as_text(results, api) + "\n")
    if options.report is not None:
        text = json.dumps(as_json(results, api), indent=2)
        options.report.write_text(text, encoding="utf-8")
    return 0


def run_all(
    folder: Path, languages: Sequence[str], only: str = ""
) -> tuple[list[Result], list[ApiResult]]:
    """Run the cases of a folder.

    Args:
        folder: where cases.jsonl and api_cases.jsonl are.
        languages: query languages; all when empty.
        only: part of the ids to run; all when empty.
    """
    cases = [case for case in read_cases(folder, "cases.jsonl", languages) if only in case["id"]]
    calls = [c for c in read_cases(folder, "api_cases.jsonl", languages) if only in c["id"]]

    async def run() -> tuple[list[Result], list[ApiResult]]:
        results = [await run_case(case) for case in cases]
        return results, [await run_api_case(case) for case in calls]

    with mock_aws():
        return asyncio.run(run())


if __name__ == "__main__":
    sys.exit(main())
