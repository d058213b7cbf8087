package interlock.rules_test

claiming := stating(reading, {"kind": "insert", "effect": "write", "verbs": ["insert"], "text": "INSERT INTO t"})

test_sql_claims_denies_a_change_by_a_tool_that_says_it_only_reads if {
	verdicts("sql/claims") == {"deny"} with input as claiming
	silent("readonly/allow") with input as claiming
}

test_sql_claims_is_silent_for_tools_that_say_so_and_for_reading if {
	silent("sql/claims") with input as stating(changing, {"kind": "insert", "effect": "write"})
	silent("sql/claims") with input as querying(reading, {}, {})
	silent("sql/claims") with input as reading
}

test_sql_claims_holds_without_the_fields_it_reads if {
	every path in {"call/facts/sql/statements/0/effect", "tool/name", "tool/metadata", "tool/declared", "tool/effect"} {
		verdicts("sql/claims") == {"deny"} with input as without(claiming, path)
	}
	every path in {"call/facts/sql/statements", "call/facts/sql"} {
		verdicts("sql/unreadable") == {"deny"} with input as without(claiming, path)
		silent("readonly/allow") with input as without(claiming, path)
		silent("sql/read_only") with input as without(claiming, path)
	}
}
