"""Retention: what ended long ago leaves the journal, whose file must not grow for ever."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

DAY: Final = 86_400_000
# The children of a map run that goes on are its results: they stay as long as it runs.
_ENDED: Final = """
SELECT id FROM execution
WHERE status <> 'RUNNING' AND 1000 * json_extract(summary, '$.stopDate') < :before
AND (map_run IS NULL OR map_run NOT IN (
    SELECT arn FROM resource
    WHERE kind = 'map_run' AND json_extract(data, '$.status') = 'RUNNING'))"""
_FORGET: Final = (
    f"DELETE FROM happening WHERE execution IN ({_ENDED})",  # noqa: S608 - no value is put in
    f"DELETE FROM execution WHERE id IN ({_ENDED})",  # noqa: S608 - as above
    "DELETE FROM resource WHERE kind = 'map_run' AND json_extract(data, '$.stopped') < :before",
    "DELETE FROM definition WHERE id NOT IN (SELECT definition FROM execution)",
)


def forget_ended(path: Path, before: int) -> int:
    """Delete the executions that ended before a moment; their names may be used again.

    The room they took is used for what comes. No engine may have the journal open meanwhile.

    Args:
        path: the journal's file; nothing happens when there is none.
        before: the moment in milliseconds.

    Returns:
        How many executions were deleted.
    """
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'execution'").fetchone() is None:
            return 0
        db.execute("BEGIN IMMEDIATE")
        deleted = [db.execute(statement, {"before": before}).rowcount for statement in _FORGET]
        db.execute("COMMIT")
    return deleted[1]
