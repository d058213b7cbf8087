package interlock.rules_test

test_confidence_below_denies if {
	messages("confidence/below") == {"confidence 69.5 below required 70"} with input as confident(69.5)
	messages("confidence/below") == {"confidence 0 below required 70"} with input as confident(0)
	verdicts("confidence/below") == {"deny"} with input as confident(0)
}

test_confidence_below_is_silent_when_equal_or_above if {
	every value in [70, 70.5, 100] {
		silent("confidence/below") with input as confident(value)
	}
}

test_confidence_below_leaves_what_is_no_number_to_its_own_rule if {
	every value in ["60", -1, null] {
		silent("confidence/below") with input as confident(value)
	}
	silent("confidence/below") with input as careful
}

test_confidence_below_holds_without_the_other_fields_it_reads if {
	every path in {"principal", "session", "tool/effect"} {
		verdicts("confidence/below") == {"deny"} with input as without(confident(60), path)
	}
}
