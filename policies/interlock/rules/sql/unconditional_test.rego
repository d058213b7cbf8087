package interlock.rules_test

deleting(condition) := stating(changing, {
	"kind": "delete",
	"effect": "write",
	"verbs": ["delete"],
	"condition": condition,
	"text": "DELETE FROM t",
})

test_sql_unconditional_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		every condition in {"none", "trivial"} {
			verdicts("sql/unconditional") == {verdict} with input as deleting(condition)
				with data.interlock.settings.sql.every_row as verdict
		}
	}
	silent("sql/unconditional") with input as deleting("none") with data.interlock.settings.sql.every_row as "allow"
	messages("sql/unconditional") == {"changes every row; give a condition: DELETE FROM t"} with input as deleting("none")
}

test_sql_unconditional_is_silent_with_a_condition_and_for_others if {
	silent("sql/unconditional") with input as deleting("given")
	silent("sql/unconditional") with input as stating(changing, {"kind": "insert", "effect": "write", "verbs": ["insert"]})
	silent("sql/unconditional") with input as stating(changing, {
		"kind": "merge",
		"effect": "write",
		"verbs": ["merge", "insert"],
		"condition": null,
	})
	messages("sql/unconditional") != set() with input as stating(changing, {
		"kind": "merge",
		"effect": "write",
		"verbs": ["merge"],
		"condition": "trivial",
	})
	silent("sql/unconditional") with input as querying(reading, {}, {})
	silent("sql/unconditional") with input as reading
}

test_sql_unconditional_holds_without_the_fields_it_reads if {
	every field in {"condition", "text", "kind", "effect"} {
		path := concat("", ["call/facts/sql/statements/0/", field])
		verdicts("sql/unconditional") == {"deny"} with input as without(deleting("none"), path)
			with data.interlock.settings.sql.every_row as "deny"
	}
	verdicts("sql/unconditional") == {"deny"} with input as without(deleting("none"), "tool")
		with data.interlock.settings.sql.every_row as "deny"
	count(verdicts("sql/unreadable")) == 1 with input as without(deleting("none"), "call/facts/sql/statements")
}

test_sql_unconditional_takes_a_change_whose_verbs_are_missing_for_one if {
	verdicts("sql/unconditional") == {"deny"} with input as without(
		stating(changing, {"effect": "write"}),
		"call/facts/sql/statements/0/verbs",
	)
		with data.interlock.settings.sql.every_row as "deny"
}
