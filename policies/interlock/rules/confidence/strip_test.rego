package interlock.rules_test

test_confidence_strip_removes_the_field_with_the_gate_on if {
	obligations("confidence/strip") == {{"strip": ["_flyto_confidence"]}} with input as confident(80)
}

test_confidence_strip_removes_the_configured_field if {
	renamed := object.union(confident(80), {"call": {"confidence_field": "sure"}})
	obligations("confidence/strip") == {{"strip": ["sure"]}} with input as renamed
}

test_confidence_strip_is_silent_with_the_gate_off if {
	silent("confidence/strip") with input as object.union(reading, {"call": {"confidence": 80}})
}

test_confidence_strip_is_silent_without_the_field if {
	silent("confidence/strip") with input as careful
}

test_confidence_strip_decides_nothing if {
	verdicts("confidence/strip") == {"none"} with input as confident(80)
}
