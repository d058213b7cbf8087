package interlock.rules_test

test_confidence_malformed_denies_what_is_no_number_from_0_to_100 if {
	every value in ["90", "", true, false, null, [90], {"value": 90}, 101, 100.5, -1, -0.5] {
		verdicts("confidence/malformed") == {"deny"} with input as confident(value)
		messages("confidence/malformed") == {"_flyto_confidence must be a number from 0 to 100"} with input as confident(value)
	}
}

test_confidence_malformed_is_silent_in_range if {
	every value in [0, 0.5, 70, 99.9, 100] {
		silent("confidence/malformed") with input as confident(value)
	}
}

test_confidence_malformed_is_silent_with_the_gate_off if {
	silent("confidence/malformed") with input as object.union(reading, {"call": {"confidence": "high"}})
}

test_confidence_malformed_leaves_a_missing_value_to_its_own_rule if {
	silent("confidence/malformed") with input as careful
}

test_confidence_malformed_holds_without_the_other_fields_it_reads if {
	every path in {"call/confidence_field", "principal", "session", "tool/effect"} {
		verdicts("confidence/malformed") == {"deny"} with input as without(confident("90"), path)
	}
}
