package interlock.rules.sql

# METADATA
# title: Statements that only read
# description: A statement that was understood and only reads needs nobody, also through a tool that could change things.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "allow",
	"code": "sql_read_only",
	"message": "",
	"rule": "sql/read_only",
} if {
	reads_only
	data.interlock.rules.declared
}
