"""What the first words of a statement say about what it does."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Effect: TypeAlias = Literal[
    "read", "write", "schema", "privilege", "transaction", "session", "admin", "code", "unknown"
]
"""`write` changes rows, `schema` what holds them, `session` how the connection behaves; `code` runs what is not written
down in the statement, `admin` is about the server, its files or its processes."""

EFFECTS: tuple[Effect, ...] = (
    *("read", "write", "schema", "privilege", "transaction", "session", "admin", "code", "unknown"),
)

EFFECT_OF: Mapping[str, Effect] = {
    **dict.fromkeys(("SELECT", "VALUES", "TABLE", "WITH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "PRAGMA"), "read"),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "UPSERT", "COPY", "LOAD", "IMPORT"), "write"),
    **dict.fromkeys(("UPDATETEXT", "WRITETEXT", "BULK", "HANDLER"), "write"),
    **dict.fromkeys(("CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "COMMENT", "REFRESH", "SECURITY"), "schema"),
    **dict.fromkeys(("GRANT", "REVOKE", "DENY", "REASSIGN", "REVERT", "SETUSER"), "privilege"),
    **dict.fromkeys(
        ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ABORT", "XA"), "transaction"
    ),
    **dict.fromkeys(("SAVE",), "transaction"),
    **dict.fromkeys(("SET", "RESET", "USE", "DISCARD", "LISTEN", "UNLISTEN", "NOTIFY", "LOCK", "UNLOCK"), "session"),
    **dict.fromkeys(("FETCH", "CLOSE", "MOVE", "OPEN", "DEALLOCATE", "PRINT"), "session"),
    **dict.fromkeys(("ATTACH", "DETACH", "BACKUP", "RESTORE", "KILL", "SHUTDOWN", "RECONFIGURE", "DBCC"), "admin"),
    **dict.fromkeys(("VACUUM", "REINDEX", "CLUSTER", "ANALYZE", "ANALYSE", "OPTIMIZE", "REPAIR", "CHECK"), "admin"),
    **dict.fromkeys(("CHECKPOINT", "FLUSH", "PURGE", "INSTALL", "UNINSTALL", "CHANGE", "STOP", "CLONE"), "admin"),
    **dict.fromkeys(("RESTART", "CACHE", "BINLOG", "CHECKSUM", "ENABLE", "DISABLE", "WAITFOR"), "admin"),
    **dict.fromkeys(("EXECUTE", "EXEC", "PREPARE", "DO", "CALL", "DECLARE", "IF", "WHILE", "GOTO", "SIGNAL"), "code"),
}
"""By the first word; what is not here is `unknown`. `WITH`, `EXPLAIN` and `PRAGMA` are looked into further."""

STRUCTURED = frozenset({"SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"})
"""Statements about which nothing is said until their structure is understood."""

HIDDEN = frozenset(
    {
        *("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "DROP", "ALTER", "CREATE", "GRANT", "REVOKE"),
        *("DENY", "EXEC", "EXECUTE", "INTO", "OUTFILE", "DUMPFILE", "BACKUP", "RESTORE", "SHUTDOWN", "KILL", "DBCC"),
        *("BULK", "RECONFIGURE", "WRITETEXT", "UPDATETEXT", "DECLARE", "CALL", "COPY", "LOAD", "ATTACH", "COMMIT"),
        *("ROLLBACK", "USE", "SET", "SETUSER", "WAITFOR", "PREPARE", "GO"),
    }
)
"""Words that start something else in the middle of a statement: SQL Server needs no semicolon between two."""

RUN_ON = frozenset({"REVERT", "CHECKPOINT"})
"""The same, of words that are reserved in SQL Server alone: elsewhere they name things, where a name may stand."""

FUNCTIONS_TOO = frozenset({"REPLACE", "INSERT", "TRUNCATE"})
"""Those of them that are also the names of functions."""

READING_PRAGMAS = frozenset(
    {
        *("APPLICATION_ID", "AUTO_VACUUM", "BUSY_TIMEOUT", "CACHE_SIZE", "COLLATION_LIST", "COMPILE_OPTIONS"),
        *("DATABASE_LIST", "DATA_VERSION", "ENCODING", "FOREIGN_KEYS", "FREELIST_COUNT", "FUNCTION_LIST"),
        *("INTEGRITY_CHECK", "JOURNAL_MODE", "LOCKING_MODE", "MAX_PAGE_COUNT", "MODULE_LIST", "PAGE_COUNT"),
        *("PAGE_SIZE", "PRAGMA_LIST", "QUERY_ONLY", "QUICK_CHECK", "SCHEMA_VERSION", "SYNCHRONOUS", "TABLE_LIST"),
        *("TEMP_STORE", "USER_VERSION", "FOREIGN_KEY_CHECK"),
    }
)
"""Pragmas that only read when nothing is given to them."""

ASKING_PRAGMAS = frozenset(
    {
        *("FOREIGN_KEY_CHECK", "FOREIGN_KEY_LIST", "INDEX_INFO", "INDEX_LIST", "INDEX_XINFO", "INTEGRITY_CHECK"),
        *("QUICK_CHECK", "TABLE_INFO", "TABLE_LIST", "TABLE_XINFO"),
    }
)
"""Pragmas that only read, with the name of a table or an index in parentheses."""
