"""`python -m local.stepfunctions --port 8083 --journal runs.db`."""

import argparse
import asyncio
from pathlib import Path

from local.constants import EXECUTION_DAYS, REGION
from local.memory import collect_less
from local.stepfunctions.serve import serve

parser = argparse.ArgumentParser(prog="stepfunctions", description=__doc__)
parser.add_argument("--port", type=int, default=8083, help="where to listen on 127.0.0.1")
parser.add_argument("--journal", type=Path, help="a file that survives the process")
parser.add_argument("--endpoint", help="where tasks find AWS services and Lambda")
parser.add_argument("--region", default=REGION)
parser.add_argument(
    "--keep-days",
    type=int,
    default=EXECUTION_DAYS,
    help="so long the journal keeps executions that ended; 0 keeps them for ever",
)

if __name__ == "__main__":
    collect_less()
    options = parser.parse_args()
    work = serve(
        options.port,
        journal=options.journal,
        endpoint=options.endpoint,
        region=options.region,
        keep_days=options.keep_days,
    )
    asyncio.run(work)
