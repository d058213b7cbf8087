package interlock.rules_test

undone(call) := object.union(call, {"call": {"kind": "undo"}})

test_undo_recorded_allows_what_takes_an_operation_back if {
	every call in [changing, destroying, previewing(changing), previewing(destroying)] {
		verdicts("undo/recorded") == {"allow"} with input as undone(call)
	}
}

test_undo_recorded_does_what_the_settings_say if {
	every verdict in {"allow", "checkpoint", "deny"} {
		verdicts("undo/recorded") == {verdict} with input as undone(destroying)
			with data.interlock.settings.undo.recorded as verdict
	}
}

test_undo_recorded_is_silent_for_every_other_kind_of_call if {
	every kind in {"call", "apply", "edit", "", null} {
		silent("undo/recorded") with input as object.union(destroying, {"call": {"kind": kind}})
	}
}

test_undo_recorded_leaves_what_can_be_undone_again_to_its_own_rule if {
	silent("undo/recorded") with input as undone(undoable(changing))
	verdicts("generic/reversible") == {"allow"} with input as undone(undoable(changing))
}

test_undo_recorded_leaves_scripts_to_their_own_rules if {
	silent("undo/recorded") with input as undone(running({}))
}

test_undo_recorded_leaves_effects_outside_to_a_person if {
	every call in [reaching_out(changing), reaching_out(previewing(changing))] {
		silent("undo/recorded") with input as undone(call)
		verdicts("checkpoint/external_effect") == {"checkpoint"} with input as undone(call)
	}
}

test_undo_recorded_is_asked_neither_for_a_preview_nor_about_destruction if {
	every call in [previewing(changing), destroying, previewing(destroying)] {
		silent("preview/required") with input as undone(call)
		silent("checkpoint/destructive") with input as undone(call)
	}
}

test_undo_recorded_does_not_lift_what_the_paths_deny if {
	verdicts("file/protected") == {"deny"} with input as undone(touching(changing, {"segments": [".git", "config"]}))
	verdicts("file/outside") == {"deny"} with input as undone(touching(changing, {"inside": false}))
	verdicts("file/secret") == {"deny"} with input as undone(touching(changing, {"name": ".env"}))
	verdicts("pins/changed") == {"deny"} with input as undone(object.union(changing, {"tool": {"pin_state": "changed"}}))
}

test_undo_recorded_leaves_what_its_tool_requires if {
	asking_tool := object.union(destroying, {"tool": {"metadata": {"requires_checkpoint": true}}})
	verdicts("checkpoint/required") == {"checkpoint"} with input as undone(asking_tool)
	verdicts("undeclared/tool") == {"checkpoint"} with input as undone(undeclared)
}

test_undo_recorded_is_silent_without_the_fields_it_reads if {
	paths := {
		"call/kind",
		"call",
		"tool/declared",
		"tool/pin_state",
		"tool/effect",
		"tool/external_effect",
		"tool",
	}
	every path in paths {
		silent("undo/recorded") with input as without(undone(destroying), path)
	}
	verdicts("checkpoint/destructive") == {"checkpoint"} with input as without(undone(destroying), "call/kind")
	verdicts("preview/required") == {"preview"} with input as without(undone(previewing(changing)), "call/kind")
}
