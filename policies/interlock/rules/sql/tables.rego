package interlock.rules.sql

# METADATA
# title: Secret and protected tables
# description: Where a database keeps passwords is not read, and the listed tables are not written.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "sql_table",
	"message": sprintf("not to be touched: %s", [data.interlock.rules.shown(untouchable)]),
	"rule": "sql/tables",
} if {
	count(untouchable) > 0
}

untouchable contains table_name(table) if {
	some statement in query.statements
	some part in {"reads", "writes"}
	some table in statement[part]
	table_listed(table, data.interlock.settings.sql.secret_tables)
}

untouchable contains table_name(table) if {
	some statement in query.statements
	some table in statement.writes
	table_listed(table, data.interlock.settings.sql.protected_tables)
}

untouchable contains table_name(table) if {
	some statement in query.statements
	some table in statement.writes
	parts := split(table.qualified, ".")
	some above in array.slice(parts, 0, count(parts) - 1)
	data.interlock.settings.sql.protected_schemas[above]
}

table_name(table) := table.qualified if is_string(table.qualified)

else := "a table"
