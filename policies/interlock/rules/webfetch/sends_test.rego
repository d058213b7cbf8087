package interlock.rules_test

posting(call) := object.union(visiting(call, {}), {"call": {"facts": {"webfetch": {"method": "POST", "sends": true}}}})

test_webfetch_sends_asks_when_a_tool_that_only_reads_sends_something if {
	verdicts("webfetch/sends") == {"checkpoint"} with input as posting(reading)
	silent("readonly/allow") with input as posting(reading)
}

test_webfetch_sends_is_silent_for_requests_that_only_ask if {
	silent("webfetch/sends") with input as visiting(reading, {})
	verdicts("readonly/allow") == {"allow"} with input as visiting(reading, {})
}

test_webfetch_sends_leaves_tools_that_change_things_to_the_rules_about_their_effect if {
	silent("webfetch/sends") with input as posting(reaching_out(changing))
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as posting(reaching_out(changing))
}

test_webfetch_sends_holds_without_the_fields_it_reads if {
	every path in {"call/facts/webfetch/sends", "call/facts/webfetch", "call/facts/extracted", "tool/metadata"} {
		verdicts("webfetch/sends") == {"checkpoint"} with input as without(posting(reading), path)
		silent("readonly/allow") with input as without(posting(reading), path)
	}
	silent("readonly/allow") with input as without(posting(reading), "tool/effect")
}
