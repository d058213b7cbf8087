package interlock.rules_test

waiting(call, count, mode) := object.union(call, {"session": {"pending": {"count": count, "mode": mode}}})

test_pending_unresolved_denies_changes_in_mode_enforce if {
	verdicts("pending/unresolved") == {"deny"} with input as waiting(changing, 1, "enforce")
	message := "A preview is pending. Call the `resolve` tool to apply or discard it first."
	messages("pending/unresolved") == {message} with input as waiting(changing, 1, "enforce")
}

test_pending_unresolved_lets_reading_go_on if {
	silent("pending/unresolved") with input as waiting(reading, 1, "enforce")
}

test_pending_unresolved_is_silent_in_mode_steer if {
	silent("pending/unresolved") with input as waiting(changing, 3, "steer")
}

test_pending_unresolved_is_silent_when_nothing_is_pending if {
	silent("pending/unresolved") with input as waiting(changing, 0, "enforce")
}

test_pending_unresolved_lets_apply_and_undo_through if {
	every kind in {"apply", "undo"} {
		resolving := object.union(waiting(changing, 1, "enforce"), {"call": {"kind": kind}})
		silent("pending/unresolved") with input as resolving
	}
}

test_pending_unresolved_holds_without_the_fields_it_reads if {
	paths := {
		"session/pending/count",
		"session/pending/mode",
		"session/pending",
		"session",
		"call/kind",
		"call",
		"tool/effect",
		"tool/declared",
		"tool/pin_state",
	}
	every path in paths {
		verdicts("pending/unresolved") == {"deny"} with input as without(waiting(changing, 1, "enforce"), path)
	}
}
