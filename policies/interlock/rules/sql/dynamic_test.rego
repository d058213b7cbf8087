package interlock.rules_test

procedure := querying(changing, {"kind": "call", "effect": "code", "text": "CALL p(1)"}, {
	"dynamic": true,
	"read_only": false,
	"effects": ["code"],
})

test_sql_dynamic_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("sql/dynamic") == {verdict} with input as procedure with data.interlock.settings.sql.dynamic as verdict
	}
	silent("sql/dynamic") with input as procedure with data.interlock.settings.sql.dynamic as "allow"
}

test_sql_dynamic_sees_functions_that_run_text if {
	verdicts("sql/dynamic") == {"checkpoint"} with input as querying(reading, {}, {"functions": ["query_to_xml"]})
		with data.interlock.settings.sql.dynamic as "checkpoint"
}

test_sql_dynamic_is_silent_for_what_is_written_out if {
	silent("sql/dynamic") with input as querying(reading, {}, {"functions": ["count"]})
	silent("sql/dynamic") with input as reading
}

test_sql_dynamic_holds_without_the_fields_it_reads if {
	every path in {"call/facts/sql/dynamic", "call/facts/sql/functions", "tool"} {
		verdicts("sql/dynamic") == {"checkpoint"} with input as without(procedure, path)
			with data.interlock.settings.sql.dynamic as "checkpoint"
	}
	verdicts("sql/unreadable") == {"deny"} with input as without(procedure, "call/facts/sql")
}
