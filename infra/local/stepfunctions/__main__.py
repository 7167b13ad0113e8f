"""`python -m local.stepfunctions --port 8083 --journal runs.db`."""

import argparse
import asyncio
from pathlib import Path

from local.constants import REGION
from local.memory import collect_less
from local.stepfunctions.serve import serve

parser = argparse.ArgumentParser(prog="stepfunctions", description=__doc__)
parser.add_argument("--port", type=int, default=8083, help="where to listen on 127.0.0.1")
parser.add_argument("--journal", type=Path, help="a file that survives the process")
parser.add_argument("--endpoint", help="where tasks find AWS services and Lambda")
parser.add_argument("--region", default=REGION)

if __name__ == "__main__":
    collect_less()
    options = parser.parse_args()
    work = serve(
        options.port, journal=options.journal, endpoint=options.endpoint, region=options.region
    )
    asyncio.run(work)
