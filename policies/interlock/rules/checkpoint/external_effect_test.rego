package interlock.rules_test

test_checkpoint_external_effect_asks_for_a_person if {
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as reaching_out(changing)
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as reaching_out(undoable(changing))
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as reaching_out(destroying)
}

test_checkpoint_external_effect_waits_for_the_preview if {
	silent("checkpoint/external_effect") with input as previewing(reaching_out(changing))
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as applying(previewing(reaching_out(changing)))
}

test_checkpoint_external_effect_is_silent_inside if {
	silent("checkpoint/external_effect") with input as changing
}

test_checkpoint_external_effect_is_silent_for_read_only_tools if {
	silent("checkpoint/external_effect") with input as object.union(reading, {"tool": {"open_world": true}})
}

test_checkpoint_external_effect_leaves_scripts_to_their_own_rules if {
	silent("checkpoint/external_effect") with input as reaching_out(running({}))
}

test_checkpoint_external_effect_holds_without_the_fields_it_reads if {
	paths := {
		"tool/external_effect",
		"tool/effect",
		"tool/declared",
		"tool/pin_state",
		"tool/safety_level",
		"tool/metadata",
		"tool/name",
		"call/phase",
		"call",
		"tool",
	}
	every path in paths {
		verdicts("checkpoint/external_effect") == {"checkpoint"} with input as without(reaching_out(changing), path)
	}
	taking_back := object.union(previewing(reaching_out(changing)), {"call": {"kind": "undo"}})
	verdicts("checkpoint/external_effect") == {"checkpoint"} with input as without(taking_back, "call/kind")
}
