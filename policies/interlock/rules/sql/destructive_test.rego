package interlock.rules_test

dropping := stating(changing, {"kind": "drop", "object": "table", "effect": "schema", "text": "DROP TABLE t"})

test_sql_destructive_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("sql/destructive") == {verdict} with input as dropping
			with data.interlock.settings.sql.destructive_verdict as verdict
	}
	silent("sql/destructive") with input as dropping with data.interlock.settings.sql.destructive_verdict as "allow"
	messages("sql/destructive") == {"destructive: DROP TABLE t"} with input as dropping
}

test_sql_destructive_knows_statements_by_two_words_too if {
	verdicts("sql/destructive") == {"deny"} with input as dropping
		with data.interlock.settings.sql.destructive as {"drop table": true}
		with data.interlock.settings.sql.destructive_verdict as "deny"
	silent("sql/destructive") with input as dropping with data.interlock.settings.sql.destructive as {"drop index": true}
}

test_sql_destructive_is_silent_for_others if {
	silent("sql/destructive") with input as stating(changing, {"kind": "insert", "effect": "write"})
	silent("sql/destructive") with input as querying(reading, {}, {})
	silent("sql/destructive") with input as reading
}

test_sql_destructive_holds_without_the_other_fields_it_reads if {
	every path in {"call/facts/sql/statements/0/text", "tool"} {
		verdicts("sql/destructive") == {"checkpoint"} with input as without(dropping, path)
			with data.interlock.settings.sql.destructive_verdict as "checkpoint"
	}
}

test_sql_destructive_is_followed_by_other_rules_when_its_facts_are_missing if {
	every path in {"call/facts/sql/statements/0/kind", "call/facts/sql/statements/0/object"} {
		verdicts("sql/beyond") == {"checkpoint"} with input as without(dropping, path)
	}
	every path in {"call/facts/sql/statements", "call/facts/sql"} {
		count(verdicts("sql/unreadable")) == 1 with input as without(dropping, path)
	}
}
