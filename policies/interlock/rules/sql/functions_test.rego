package interlock.rules_test

setting_value := querying(reading, {"functions": ["setval"]}, {"functions": ["setval"]})

test_sql_functions_asks_about_the_listed_ones if {
	verdicts("sql/functions") == {"checkpoint"} with input as setting_value
	messages("sql/functions") == {"calls what changes something: setval"} with input as setting_value
}

test_sql_functions_is_silent_for_others if {
	silent("sql/functions") with input as querying(reading, {}, {"functions": ["count"]})
	silent("sql/functions") with input as reading
}

test_sql_functions_holds_without_the_other_fields_it_reads if {
	every path in {"call/facts/sql/statements", "call/facts/sql/effects", "tool"} {
		verdicts("sql/functions") == {"checkpoint"} with input as without(setting_value, path)
	}
	count(verdicts("sql/dynamic")) == 1 with input as without(setting_value, "call/facts/sql/functions")
}
