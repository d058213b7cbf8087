package interlock.rules_test

asking(value) := object.union(reading, {"tool": {"metadata": {"requires_checkpoint": value}}})

test_checkpoint_required_asks_for_a_person if {
	verdicts("checkpoint/required") == {"checkpoint"} with input as asking(true)
	messages("checkpoint/required") == {"notes.get requires a checkpoint"} with input as asking(true)
}

test_checkpoint_required_is_silent_when_the_tool_does_not_ask if {
	silent("checkpoint/required") with input as asking(false)
}

test_checkpoint_required_takes_anything_but_false_for_yes if {
	every value in ["no", 0, null, []] {
		verdicts("checkpoint/required") == {"checkpoint"} with input as asking(value)
	}
}

test_checkpoint_required_is_silent_for_tools_that_declare_nothing if {
	silent("checkpoint/required") with input as undeclared
}

test_checkpoint_required_holds_without_the_field_itself if {
	every path in {"tool/metadata/requires_checkpoint", "tool/metadata", "tool"} {
		verdicts("checkpoint/required") == {"checkpoint"} with input as without(asking(true), path)
	}
}

test_checkpoint_required_holds_without_the_name if {
	messages("checkpoint/required") == {"the tool requires a checkpoint"} with input as without(asking(true), "tool/name")
}
