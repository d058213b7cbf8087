package interlock.rules_test

test_results_limit_asks_for_the_least_that_applies if {
	obligations("results/limit") == {{"max_result_bytes": 100}} with input as reading
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 100}
		with data.interlock.settings.results.max_bytes_by_effect as {"read_only": 200}
	obligations("results/limit") == {{"max_result_bytes": 50}} with input as reading
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 100}
		with data.interlock.settings.results.max_bytes_by_effect as {"read_only": 50}
}

test_results_limit_decides_nothing if {
	verdicts("results/limit") == {"none"} with input as reading
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 100}
}

test_results_limit_is_silent_for_others if {
	silent("results/limit") with input as changing
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 100}
		with data.interlock.settings.results.max_bytes_by_effect as {"read_only": 50}
}

test_results_limit_keeps_the_one_that_is_left_without_the_other_field if {
	obligations("results/limit") == {{"max_result_bytes": 50}} with input as without(reading, "tool/name")
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 10}
		with data.interlock.settings.results.max_bytes_by_effect as {"read_only": 50}
	obligations("results/limit") == {{"max_result_bytes": 10}} with input as without(reading, "tool/effect")
		with data.interlock.settings.results.max_bytes_by_tool as {"notes.get": 10}
		with data.interlock.settings.results.max_bytes_by_effect as {"read_only": 50}
}
