package interlock.rules.sql

# METADATA
# title: More than rows
# description: |
#   What changes tables, rights, transactions, the session or the server is decided by the kind of statement, as the
#   settings say. Transactions are left to the tool: ending one would make a preview real.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": verdict,
	"code": "sql_beyond_rows",
	"message": sprintf("does more than read and change rows: %s", [text_of(statement)]),
	"rule": "sql/beyond",
} if {
	some statement in query.statements
	not decided_elsewhere(statement)
	verdict := beyond_verdict(statement)
	asked_for(verdict)
}

beyond_verdict(statement) := "deny" if on_list(statement, data.interlock.settings.sql.denied_statements)

else := "allow" if on_list(statement, data.interlock.settings.sql.plain_statements)

else := verdict if verdict := data.interlock.settings.sql.beyond_rows[statement.effect]

else := "deny"

# Statements about rows are decided by what they do to them, and those that are not known by other rules.
decided_elsewhere(statement) if {
	statement.effect in {"read", "write", "code", "unknown"}
	not on_list(statement, data.interlock.settings.sql.denied_statements)
}
