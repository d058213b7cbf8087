package interlock.rules_test

test_checkpoint_destructive_asks_for_a_person if {
	verdicts("checkpoint/destructive") == {"checkpoint"} with input as destroying
	message := "notes.drop is destructive and can be neither previewed nor undone"
	messages("checkpoint/destructive") == {message} with input as destroying
}

test_checkpoint_destructive_is_silent_with_a_way_back if {
	silent("checkpoint/destructive") with input as previewing(destroying)
	silent("checkpoint/destructive") with input as undoable(destroying)
}

test_checkpoint_destructive_is_silent_for_other_effects if {
	silent("checkpoint/destructive") with input as changing
	silent("checkpoint/destructive") with input as reading
}

test_checkpoint_destructive_leaves_scripts_to_their_own_rules if {
	silent("checkpoint/destructive") with input as running({})
}

test_checkpoint_destructive_holds_without_the_other_fields_it_reads if {
	every path in {"tool/safety_level", "tool/name", "tool/metadata", "call", "session"} {
		verdicts("checkpoint/destructive") == {"checkpoint"} with input as without(destroying, path)
	}
}

test_checkpoint_destructive_is_followed_by_another_rule_when_the_effect_is_missing if {
	verdicts("undeclared/tool") == {"checkpoint"} with input as without(destroying, "tool/effect")
}
