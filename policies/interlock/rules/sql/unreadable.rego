package interlock.rules.sql

# METADATA
# title: SQL that cannot be read
# description: |
#   A statement that was not understood as a whole may do anything. The settings say whether a person decides; a call in
#   which no SQL was found, or of which not all is told, is refused.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": unreadable_verdict,
	"code": "sql_unreadable",
	"message": sprintf("the SQL could not be understood%s", [problem_shown]),
	"rule": "sql/unreadable",
} if {
	not readable
}

readable if {
	query.parse_error == false
	told
	every statement in query.statements {
		statement.problem == null
		statement.effect != "unknown"
	}
}

# Where no statement was understood, none is told.
unreadable_verdict := data.interlock.settings.sql.unreadable if told

else := data.interlock.settings.sql.unreadable if query.statements == []

else := "deny"

default problem_shown := ""

problem_shown := concat("", [": ", problem]) if problem := input.call.facts.sql.errors[0]

else := concat("", [": ", problem]) if problem := input.call.facts.error
