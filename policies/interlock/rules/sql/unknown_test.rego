package interlock.rules_test

calling(call, names) := querying(call, {}, {"calls": names})

test_sql_unknown_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		every name in {"purge_all_users", "app.delete_customer", "app.count", "Count", "public.lower", "pg_catalog.purge"} {
			verdicts("sql/unknown") == {verdict} with input as calling(destroying, ["count", name])
				with data.interlock.settings.sql.unknown_functions as verdict
		}
	}
	silent("sql/unknown") with input as calling(destroying, ["purge_all_users"])
		with data.interlock.settings.sql.unknown_functions as "allow"
}

test_sql_unknown_says_which if {
	expected := concat("", [
		"it is not known that these functions only read: app.b, purge; ",
		"use the database's own, or ask for them to be listed",
	])
	messages("sql/unknown") == {expected} with input as calling(destroying, ["purge", "app.b", "count"])
}

test_sql_unknown_holds_for_reads_and_writes_through_any_tool if {
	every call in [reading, changing, destroying, previewing(destroying)] {
		count(verdicts("sql/unknown")) == 1 with input as calling(call, ["purge"])
		silent("sql/read_only") with input as calling(call, ["purge"])
		silent("readonly/allow") with input as calling(call, ["purge"])
	}
	writing := querying(changing, {"effect": "write"}, {"effects": ["write"], "read_only": false, "calls": ["purge"]})
	count(verdicts("sql/unknown")) == 1 with input as writing
}

test_sql_unknown_is_silent_for_the_databases_own if {
	every name in {"count", "pg_catalog.lower", "information_schema.lower", "date_trunc", "datediff", "json_each"} {
		silent("sql/unknown") with input as calling(destroying, [name])
		verdicts("sql/read_only") == {"allow"} with input as calling(destroying, [name])
	}
	silent("sql/unknown") with input as reading
}

test_sql_unknown_is_silent_for_the_operators_own_as_they_are_listed if {
	verdicts("sql/read_only") == {"allow"} with input as calling(destroying, ["app.total"])
		with data.interlock.settings.sql.own_reading_functions as {"app.total": true}
	count(verdicts("sql/unknown")) == 1 with input as calling(destroying, ["app.total", "total_of"])
		with data.interlock.settings.sql.own_reading_functions as {"app.total": true}
}

test_sql_unknown_leaves_those_on_other_lists_to_other_rules if {
	every name in {"nextval", "query_to_xml", "pg_read_file"} {
		silent("sql/unknown") with input as calling(destroying, [name])
		silent("sql/read_only") with input as calling(destroying, [name])
	}
}

# Lists name functions with their schema too, and then it is these rules that have to see them.
test_sql_unknown_leaves_a_function_with_its_schema_to_the_rule_that_speaks_of_it if {
	call := calling(destroying, ["app.purge"])
	every place in [["changing_functions", "sql/functions"], ["evaluating_functions", "sql/dynamic"], ["reaching_functions", "sql/files"]] {
		[list, rule] := place
		asked := object.union(data.interlock.settings.sql, {list: {"app.purge": true}})
		silent("sql/unknown") with input as call with data.interlock.settings.sql as asked
		count(verdicts(rule)) == 1 with input as call with data.interlock.settings.sql as asked
	}
}

test_sql_unknown_denies_what_another_rule_would_only_ask_about if {
	verdicts("sql/unknown") == {"deny"} with input as calling(destroying, ["query_to_xml"])
		with data.interlock.settings.sql.unknown_functions as "deny"
	silent("sql/unknown") with input as calling(destroying, ["query_to_xml"])
		with data.interlock.settings.sql.unknown_functions as "deny"
		with data.interlock.settings.sql.dynamic as "deny"
}

making(statement) := querying(
	changing,
	object.union({"kind": "create", "object": "table", "effect": "schema", "verbs": ["create"]}, statement),
	{"effects": ["schema"], "read_only": false, "calls": ["orders"]},
)

test_sql_unknown_is_silent_for_what_is_not_about_rows if {
	silent("sql/unknown") with input as making({})
	every object in {"index", "unique", "sequence"} {
		silent("sql/unknown") with input as making({"object": object, "verbs": []})
	}
	silent("sql/unknown") with input as making({"kind": "alter", "verbs": []})
}

test_sql_unknown_holds_for_queries_in_what_is_not_about_rows if {
	every verb in {"select", "values", "select into"} {
		count(verdicts("sql/unknown")) == 1 with input as making({"verbs": ["create", verb]})
	}
	every kind in {"select", "with", "values", "table", "explain"} {
		count(verdicts("sql/unknown")) == 1 with input as making({"kind": kind})
	}
	every object in {"table", "temp", "view"} {
		count(verdicts("sql/unknown")) == 1 with input as making({"object": object, "verbs": []})
	}
	every path in {"kind", "object", "verbs"} {
		given := concat("/", ["call/facts/sql/statements/0", path])
		count(verdicts("sql/unknown")) == 1 with input as without(making({}), given)
	}
	count(verdicts("sql/unknown")) == 1 with input as making({"verbs": [1]})
	count(verdicts("sql/unknown")) == 1 with input as without(making({}), "call/facts/sql/statements")
}

test_sql_unknown_holds_without_the_fields_it_reads if {
	every path in {"call/facts/sql/calls", "call/facts/sql/effects", "call/facts/sql/statements", "tool"} {
		count(verdicts("sql/unknown")) == 1 with input as without(calling(destroying, ["purge"]), path)
	}
	silent("sql/read_only") with input as without(calling(destroying, []), "call/facts/sql/calls")
	count(verdicts("sql/unknown")) == 1 with input as calling(destroying, "count")
	verdicts("sql/unreadable") == {"deny"} with input as without(calling(destroying, ["purge"]), "call/facts/sql")
}
