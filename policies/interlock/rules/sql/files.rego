package interlock.rules.sql

# METADATA
# title: Files, programs and other servers
# description: |
#   A database that reads and writes files, starts programs or talks to others does so with the rights of its server. Such
#   statements and the listed functions are refused.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "sql_reaches_out",
	"message": sprintf("has the database reach files, programs or other servers: %s", [shown(reaching)]),
	"rule": "sql/files",
} if {
	count(reaching) > 0
}

reaching contains statement if {
	some statement in query.statements
	not stays_inside(statement)
}

reaching contains statement if {
	some statement in query.statements
	some name in statement.functions
	reaching_function(name)
}

# With its schema, as the whole call tells it.
reaching contains statement if {
	is_array(query.calls)
	some name in query.calls
	data.interlock.settings.sql.reaching_functions[name]
	some statement in query.statements
}

# SQLite reads from some functions as from tables, without parentheses.
reaching contains statement if {
	some statement in query.statements
	some part in {"reads", "writes"}
	some table in statement[part]
	data.interlock.settings.sql.reaching_functions[table.name]
}

# Before the names of a database, a schema and a table stands that of another server.
reaching contains statement if {
	some statement in query.statements
	some part in {"reads", "writes"}
	some table in statement[part]
	count(split(table.qualified, ".")) > 3
}

stays_inside(statement) if {
	statement.files == false
	statement.programs == false
	is_array(statement.functions)
	not on_list(statement, data.interlock.settings.sql.reaching_statements)
}

reaching_function(name) if data.interlock.settings.sql.reaching_functions[name]

reaching_function(name) if {
	parts := split(name, "_")
	data.interlock.settings.sql.reaching_families[parts[0]]
}
