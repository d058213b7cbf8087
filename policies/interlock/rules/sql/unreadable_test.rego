package interlock.rules_test

garbled := querying(changing, {"effect": "unknown", "problem": "its structure is not understood"}, {
	"parse_error": true,
	"read_only": false,
	"effects": ["unknown"],
	"errors": ["its structure is not understood"],
})

test_sql_unreadable_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("sql/unreadable") == {verdict} with input as garbled
			with data.interlock.settings.sql.unreadable as verdict
	}
	message := "the SQL could not be understood: its structure is not understood"
	messages("sql/unreadable") == {message} with input as garbled
}

test_sql_unreadable_denies_when_there_is_no_sql if {
	lost := object.union(querying(reading, {}, {}), {"call": {"facts": {"extracted": false, "error": "no SQL"}}})
	verdicts("sql/unreadable") == {"deny"} with input as without(lost, "call/facts/sql")
	messages("sql/unreadable") == {"the SQL could not be understood: no SQL"} with input as without(lost, "call/facts/sql")
}

test_sql_unreadable_does_so_where_no_statement_was_understood if {
	verdicts("sql/unreadable") == {"checkpoint"} with input as json.patch(
		garbled,
		[{"op": "replace", "path": "call/facts/sql/statements", "value": []}],
	)
		with data.interlock.settings.sql.unreadable as "checkpoint"
}

test_sql_unreadable_is_silent_when_it_was_understood if {
	silent("sql/unreadable") with input as querying(reading, {}, {})
	silent("sql/unreadable") with input as reading
}

test_sql_unreadable_holds_without_the_fields_it_reads if {
	paths := {
		"call/facts/sql/parse_error",
		"call/facts/sql/statements/0/problem",
		"call/facts/sql/statements/0/effect",
	}
	every path in paths {
		verdicts("sql/unreadable") == {"checkpoint"} with input as without(querying(reading, {}, {}), path)
			with data.interlock.settings.sql.unreadable as "checkpoint"
	}
	every path in {"call/facts/sql", "call/facts/extracted", "call/facts/class", "call/facts", "call"} {
		verdicts("sql/unreadable") == {"deny"} with input as without(querying(reading, {}, {}), path)
	}
	selecting := querying(reading, {"reads": [{"name": "t", "qualified": "app.t"}]}, {})
	silent("sql/unreadable") with input as selecting
	untold := {
		"call/facts/sql/statements",
		"call/facts/sql/statements/0/kind",
		"call/facts/sql/statements/0/object",
		"call/facts/sql/statements/0/reads",
		"call/facts/sql/statements/0/reads/0/name",
		"call/facts/sql/statements/0/reads/0/qualified",
		"call/facts/sql/statements/0/writes",
	}
	every path in untold {
		verdicts("sql/unreadable") == {"deny"} with input as without(selecting, path)
			with data.interlock.settings.sql.unreadable as "checkpoint"
	}
	verdicts("sql/unreadable") == {"checkpoint"} with input as without(garbled, "tool/metadata")
		with data.interlock.settings.sql.unreadable as "checkpoint"
}
