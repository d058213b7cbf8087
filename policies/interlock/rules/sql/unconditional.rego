package interlock.rules.sql

# METADATA
# title: Every row at once
# description: |
#   An `UPDATE`, a `DELETE` or a `MERGE` without a condition, or with one that does not depend on the row, is refused. The settings
#   may have a person decide.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.sql.every_row,
	"code": "sql_every_row",
	"message": sprintf("changes every row; give a condition: %s", [shown(unconditional)]),
	"rule": "sql/unconditional",
} if {
	asked_for(data.interlock.settings.sql.every_row)
	count(unconditional) > 0
}

unconditional contains statement if {
	some statement in query.statements
	not spares_rows(statement)
}

spares_rows(statement) if statement.condition == "given"

spares_rows(statement) if {
	is_array(statement.verbs)
	count({verb | some verb in statement.verbs; verb in {"delete", "merge", "update"}}) == 0
}

# A MERGE that only adds rows has no condition.
spares_rows(statement) if {
	"merge" in statement.verbs
	statement.condition == null
}
