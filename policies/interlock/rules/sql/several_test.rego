package interlock.rules_test

two := querying(changing, {"kind": "update", "effect": "write", "verbs": ["update"], "condition": "given"}, {
	"several": true,
	"read_only": false,
	"effects": ["read", "write"],
})

test_sql_several_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("sql/several") == {verdict} with input as two with data.interlock.settings.sql.several as verdict
	}
	silent("sql/several") with input as two with data.interlock.settings.sql.several as "allow"
}

test_sql_several_is_silent_for_one_and_for_several_that_only_read if {
	silent("sql/several") with input as stating(changing, {"effect": "write"})
	silent("sql/several") with input as querying(changing, {}, {"several": true})
	silent("sql/several") with input as reading
}

test_sql_several_holds_without_the_fields_it_reads if {
	every field in {"several", "read_only", "effects", "parse_error", "dynamic"} {
		path := concat("", ["call/facts/sql/", field])
		verdicts("sql/several") == {"checkpoint"} with input as without(two, path)
			with data.interlock.settings.sql.several as "checkpoint"
	}
	every field in {"read_only", "effects", "parse_error", "dynamic"} {
		path := concat("", ["call/facts/sql/", field])
		verdicts("sql/several") == {"checkpoint"} with input as without(querying(changing, {}, {"several": true}), path)
			with data.interlock.settings.sql.several as "checkpoint"
	}
	verdicts("sql/unreadable") == {"deny"} with input as without(two, "call/facts/sql")
}
