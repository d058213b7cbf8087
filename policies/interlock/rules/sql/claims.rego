package interlock.rules.sql

# METADATA
# title: A tool that says it only reads
# description: Statements that change something are refused when the tool says that it only reads; its word is not enough.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "sql_not_read_only",
	"message": sprintf("%s says that it only reads, and this changes something", [data.interlock.rules.tool_name]),
	"rule": "sql/claims",
} if {
	not says_otherwise
	some statement in query.statements
	not changes_nothing(statement)
}

says_otherwise if input.tool.effect in {"mutating", "destructive", "undeclared"}

# Of what is not understood another rule speaks.
changes_nothing(statement) if statement.effect in {"read", "unknown"}
