package interlock.rules.sql

# METADATA
# title: Several statements
# description: |
#   One call with several statements, of which not all only read, looks like one to which something was added. The
#   settings say whether a person decides.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.sql.several,
	"code": "sql_several",
	"message": "several statements in one call; send them one by one",
	"rule": "sql/several",
} if {
	asked_for(data.interlock.settings.sql.several)
	query
	not one_statement
	changes
}

one_statement if query.several == false
