package interlock.rules_test

test_generic_unguarded_does_what_the_settings_say if {
	every verdict in {"allow", "checkpoint", "deny"} {
		verdicts("generic/unguarded") == {verdict} with input as changing
			with data.interlock.settings.generic.unguarded_change as verdict
	}
}

test_generic_unguarded_is_silent_for_other_effects if {
	every call in [reading, destroying, undeclared] {
		silent("generic/unguarded") with input as call
	}
}

test_generic_unguarded_is_silent_with_a_way_back if {
	silent("generic/unguarded") with input as undoable(changing)
	silent("generic/unguarded") with input as previewing(changing)
}

test_generic_unguarded_is_silent_for_effects_outside if {
	silent("generic/unguarded") with input as reaching_out(changing)
}

test_generic_unguarded_is_silent_without_the_fields_it_reads if {
	paths := {
		"tool/declared",
		"tool/pin_state",
		"tool/effect",
		"tool/external_effect",
		"tool",
	}
	every path in paths {
		silent("generic/unguarded") with input as without(changing, path)
	}
	silent("generic/unguarded") with input as without(changing, "tool/safety_level")
}

test_generic_unguarded_holds_without_the_fields_it_reads_where_it_does_not_allow if {
	every field in {"declared", "pin_state", "effect", "external_effect", "safety_level", "name"} {
		every verdict in {"checkpoint", "deny", "nonsense"} {
			verdicts("generic/unguarded") == {verdict} with input as without(changing, concat("/", ["tool", field]))
				with data.interlock.settings.generic.unguarded_change as verdict
		}
	}
	every call in [destroying, undeclared, undoable(changing), previewing(changing), reaching_out(changing)] {
		silent("generic/unguarded") with input as call with data.interlock.settings.generic.unguarded_change as "deny"
	}
	unconfirmed := object.union(changing, {"tool": {"pin_state": "unconfirmed"}})
	silent("generic/unguarded") with input as unconfirmed with data.interlock.settings.generic.unguarded_change as "deny"
}
