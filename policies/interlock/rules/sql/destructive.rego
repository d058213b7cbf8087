package interlock.rules.sql

# METADATA
# title: Destructive statements
# description: What these statements destroy cannot be brought back. The settings list them, and say what is done.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": data.interlock.settings.sql.destructive_verdict,
	"code": "sql_destructive",
	"message": sprintf("destructive: %s", [shown(destroying)]),
	"rule": "sql/destructive",
} if {
	asked_for(data.interlock.settings.sql.destructive_verdict)
	count(destroying) > 0
}

destroying contains statement if {
	some statement in query.statements
	on_list(statement, data.interlock.settings.sql.destructive)
}
