package interlock.rules_test

of_effect(kind, object, effect) := stating(changing, {"kind": kind, "object": object, "effect": effect, "text": "X"})

test_sql_beyond_decides_by_what_is_changed if {
	every effect in {"schema", "privilege", "transaction", "session", "admin"} {
		verdicts("sql/beyond") == {"nonsense"} with input as of_effect("x", "", effect)
			with data.interlock.settings.sql.beyond_rows as {effect: "nonsense"}
		silent("sql/beyond") with input as of_effect("x", "", effect)
			with data.interlock.settings.sql.beyond_rows as {effect: "allow"}
	}
	messages("sql/beyond") == {"does more than read and change rows: X"} with input as of_effect("grant", "all", "privilege")
}

test_sql_beyond_denies_what_the_settings_do_not_know if {
	verdicts("sql/beyond") == {"deny"} with input as of_effect("x", "", "something")
	verdicts("sql/beyond") == {"deny"} with input as of_effect("x", "", "schema")
		with data.interlock.settings.sql.beyond_rows as {}
}

test_sql_beyond_leaves_plain_statements_to_the_tools_effect if {
	silent("sql/beyond") with input as of_effect("create", "table", "schema")
	verdicts("sql/beyond") == {"checkpoint"} with input as of_effect("create", "function", "schema")
}

test_sql_beyond_denies_what_the_settings_deny if {
	every call in [of_effect("create", "table", "schema"), of_effect("insert", "into", "write")] {
		verdicts("sql/beyond") == {"deny"} with input as call
			with data.interlock.settings.sql.denied_statements as {"create": true, "insert": true}
	}
}

test_sql_beyond_is_silent_for_rows if {
	every effect in {"read", "write", "code", "unknown"} {
		silent("sql/beyond") with input as of_effect("x", "", effect)
	}
	silent("sql/beyond") with input as reading
}

test_sql_beyond_holds_without_the_fields_it_reads if {
	granting := of_effect("grant", "all", "privilege")
	every field in {"effect", "kind", "object", "text"} {
		path := concat("", ["call/facts/sql/statements/0/", field])
		verdicts("sql/beyond") == {"deny"} with input as without(granting, path)
	}
	verdicts("sql/beyond") == {"deny"} with input as without(granting, "tool")
	count(verdicts("sql/unreadable")) == 1 with input as without(granting, "call/facts/sql/statements")
}
