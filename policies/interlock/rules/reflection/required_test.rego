package interlock.rules_test

pondering(value) := object.union(changing, {"tool": {"metadata": {"requires_reverse_thinking": value}}})

reflected_on(deliverable) := object.union(pondering(true), {"call": {"deliverable": object.union(
	{
		"hidden_assumptions": ["the table is empty"],
		"failure_scenarios": ["it is not"],
		"verdict": "proceed",
		"verdict_reason": "checked",
	},
	deliverable,
)}})

test_reflection_required_asks_for_a_deliverable if {
	verdicts("reflection/required") == {"reflect"} with input as pondering(true)
}

test_reflection_required_is_silent_with_a_deliverable_that_proceeds if {
	silent("reflection/required") with input as reflected_on({})
}

test_reflection_required_holds_for_deliverables_that_do_not_do if {
	every deliverable in [
		{"hidden_assumptions": []},
		{"failure_scenarios": []},
		{"verdict": "revise"},
		{"verdict": "abort"},
		{"verdict": ""},
	] {
		verdicts("reflection/required") == {"reflect"} with input as reflected_on(deliverable)
	}
}

test_reflection_required_is_silent_when_the_tool_does_not_ask if {
	silent("reflection/required") with input as pondering(false)
	silent("reflection/required") with input as undeclared
}

test_reflection_required_lets_previews_and_undo_resume if {
	silent("reflection/required") with input as applying(previewing(pondering(true)))
	silent("reflection/required") with input as object.union(pondering(true), {"call": {"kind": "undo"}})
}

test_reflection_required_takes_anything_but_false_for_yes if {
	every value in ["no", 0, null, []] {
		verdicts("reflection/required") == {"reflect"} with input as pondering(value)
	}
}

test_reflection_required_holds_without_the_fields_it_reads if {
	every path in {
		"call/deliverable",
		"call/kind",
		"call",
		"tool/name",
		"tool/metadata/requires_reverse_thinking",
		"tool/metadata",
		"tool",
	} {
		verdicts("reflection/required") == {"reflect"} with input as without(pondering(true), path)
	}
	every name in {"hidden_assumptions", "failure_scenarios", "verdict"} {
		path := concat("/", ["call/deliverable", name])
		verdicts("reflection/required") == {"reflect"} with input as without(reflected_on({}), path)
	}
}
