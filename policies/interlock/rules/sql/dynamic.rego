package interlock.rules.sql

# METADATA
# title: SQL made at run time
# description: |
#   What a procedure, a block or a prepared statement does is not written in the call. The settings say whether a person
#   decides.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.sql.dynamic,
	"code": "sql_dynamic",
	"message": "what it does is not written in the statement; write out what is to be done",
	"rule": "sql/dynamic",
} if {
	asked_for(data.interlock.settings.sql.dynamic)
	query
	not written_out
}

written_out if {
	query.dynamic == false
	is_array(query.functions)
	count({name | some name in called; data.interlock.settings.sql.evaluating_functions[name]}) == 0
}
