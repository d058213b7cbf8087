package interlock.rules.sql

# METADATA
# title: Functions that change something
# description: A `SELECT` changes something when it calls one of the listed functions. A person decides.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "checkpoint",
	"code": "sql_function",
	"message": sprintf("calls what changes something: %s", [data.interlock.rules.shown(changing_functions)]),
	"rule": "sql/functions",
} if {
	count(changing_functions) > 0
}

changing_functions contains name if {
	some name in called
	data.interlock.settings.sql.changing_functions[name]
}
