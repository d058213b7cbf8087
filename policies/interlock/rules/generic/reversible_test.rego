package interlock.rules_test

test_generic_reversible_allows_a_change if {
	verdicts("generic/reversible") == {"allow"} with input as undoable(changing)
}

test_generic_reversible_does_with_destruction_what_the_settings_say if {
	every verdict in {"allow", "checkpoint", "deny"} {
		verdicts("generic/reversible") == {verdict} with input as undoable(destroying)
			with data.interlock.settings.generic.reversible_destruction as verdict
	}
}

test_generic_reversible_is_silent_for_what_cannot_be_undone if {
	silent("generic/reversible") with input as changing
	silent("generic/reversible") with input as previewing(changing)
}

test_generic_reversible_is_silent_for_effects_outside if {
	silent("generic/reversible") with input as reaching_out(undoable(changing))
}

test_generic_reversible_leaves_scripts_to_their_own_rules if {
	silent("generic/reversible") with input as undoable(running({}))
}

test_generic_reversible_is_silent_for_read_only_tools if {
	silent("generic/reversible") with input as undoable(reading)
}

test_generic_reversible_is_silent_without_the_fields_it_reads if {
	paths := {
		"tool/declared",
		"tool/pin_state",
		"tool/effect",
		"tool/safety_level",
		"tool/external_effect",
		"tool",
	}
	every path in paths {
		silent("generic/reversible") with input as without(undoable(changing), path)
	}
}
