package interlock.rules_test

careful := object.union(reading, {"tool": {"capability": {"min_confidence": 70}}})

confident(value) := object.union(careful, {"call": {"confidence": value}})

test_confidence_missing_denies if {
	messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=70"} with input as careful
	verdicts("confidence/missing") == {"deny"} with input as careful
}

test_confidence_missing_is_silent_when_confidence_is_stated if {
	silent("confidence/missing") with input as confident(0)
}

test_confidence_missing_is_silent_with_the_gate_off if {
	silent("confidence/missing") with input as reading
}

test_confidence_missing_denies_an_input_that_is_no_object if {
	verdicts("confidence/missing") == {"deny"} with input as object.union(confident(90), {"call": {"input": ["x"]}})
}

test_confidence_missing_names_the_configured_field if {
	renamed := object.union(careful, {"call": {"confidence_field": "sure"}})
	messages("confidence/missing") == {"requires sure (0-100) in input, min=70"} with input as renamed
}

test_confidence_missing_lets_previews_and_undo_resume if {
	every kind in {"apply", "undo"} {
		silent("confidence/missing") with input as object.union(careful, {"call": {"kind": kind}})
	}
}

test_confidence_missing_holds_without_the_fields_it_reads if {
	every path in {"call/confidence_field", "call/kind", "call/input", "call", "principal", "session", "tool/effect"} {
		verdicts("confidence/missing") == {"deny"} with input as without(careful, path)
	}
}

test_confidence_missing_holds_when_the_minimum_is_no_number if {
	odd := object.union(careful, {"tool": {"capability": {"min_confidence": "70"}}})
	messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=100"} with input as odd
}

test_confidence_missing_is_raised_by_each_setting if {
	raising := [
		{"minimum_by_effect": {"read_only": 71.5}},
		{"minimum_by_principal": {"agent-1": 71.5}},
		{"minimum_by_role": {"agent": 71.5}},
		{"minimum_by_session_label": {"env": {"prod": 71.5}}},
	]
	labelled := object.union(careful, {"session": {"labels": {"env": "prod"}}})
	every settings in raising {
		messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=71.5"} with input as labelled
			with data.interlock.settings.confidence as object.union(no_minimums, settings)
	}
}

test_confidence_missing_is_raised_by_what_is_not_told if {
	raising := {
		"tool/effect": {"minimum_by_effect": {"destructive": 71.5, "mutating": 60}},
		"principal/id": {"minimum_by_principal": {"agent-2": 71.5}},
		"principal/roles": {"minimum_by_role": {"deployer": 71.5}},
		"session/labels/env": {"minimum_by_session_label": {"env": {"prod": 71.5}}},
		"session/labels": {"minimum_by_session_label": {"env": {"prod": 71.5}}},
		"session": {"minimum_by_session_label": {"env": {"prod": 71.5}}},
	}
	labelled := object.union(reading, {"session": {"labels": {"env": "staging"}}})
	every path, settings in raising {
		silent("confidence/missing") with input as labelled
			with data.interlock.settings.confidence as object.union(no_minimums, settings)
		messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=71.5"} with input as without(labelled, path)
			with data.interlock.settings.confidence as object.union(no_minimums, settings)
	}
}

test_confidence_missing_holds_without_what_the_tool_asks_for if {
	every path in {"tool/capability/min_confidence", "tool/capability", "tool"} {
		messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=100"} with input as without(careful, path)
	}
	silent("confidence/missing") with input as undeclared
}

test_confidence_missing_is_never_lowered_by_a_setting if {
	lower := object.union(no_minimums, {"minimum_by_principal": {"agent-1": 10}})
	messages("confidence/missing") == {"requires _flyto_confidence (0-100) in input, min=70"} with input as careful
		with data.interlock.settings.confidence as lower
}

no_minimums := {
	"minimum_by_effect": {},
	"minimum_by_principal": {},
	"minimum_by_role": {},
	"minimum_by_session_label": {},
}
