package interlock.rules_test

test_pins_changed_denies if {
	every call in [reading, changing, destroying] {
		changed := object.union(call, {"tool": {"pin_state": "changed"}})
		verdicts("pins/changed") == {"deny"} with input as changed
	}
}

test_pins_changed_is_silent_for_known_definitions if {
	silent("pins/changed") with input as reading
	silent("pins/changed") with input as object.union(reading, {"tool": {"pin_state": "unconfirmed"}})
}

test_pins_changed_holds_without_the_field_it_reads if {
	every path in {"tool/pin_state", "tool"} {
		verdicts("pins/changed") == {"deny"} with input as without(reading, path)
	}
}

test_pins_changed_denies_states_it_does_not_know if {
	verdicts("pins/changed") == {"deny"} with input as object.union(reading, {"tool": {"pin_state": "new"}})
}
