package interlock.rules_test

test_preview_required_for_whatever_is_not_read_only if {
	every call in [changing, destroying, reaching_out(changing)] {
		verdicts("preview/required") == {"preview"} with input as previewing(call)
	}
}

test_preview_required_is_silent_for_read_only_tools if {
	silent("preview/required") with input as previewing(reading)
}

test_preview_required_is_silent_without_a_dry_run if {
	silent("preview/required") with input as changing
	silent("preview/required") with input as undoable(changing)
}

test_preview_required_is_silent_at_apply if {
	silent("preview/required") with input as applying(previewing(changing))
}

test_preview_required_holds_without_the_fields_it_reads if {
	every path in {"call/phase", "call/kind", "call", "tool/effect", "tool/declared", "tool/pin_state", "tool/name"} {
		verdicts("preview/required") == {"preview"} with input as without(previewing(changing), path)
	}
}

test_preview_required_is_not_fooled_by_the_phase_alone if {
	phase := object.union(previewing(changing), {"call": {"phase": "apply"}})
	verdicts("preview/required") == {"preview"} with input as phase
}
