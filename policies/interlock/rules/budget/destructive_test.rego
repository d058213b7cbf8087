package interlock.rules_test

having_destroyed(call, in_session, in_a_day) := object.union(call, {
	"session": {"counters": {"destructive_calls": in_session}},
	"principal": {"recent": called([0, 0, in_a_day])},
})

test_budget_destructive_asks_beyond_the_number_in_a_session if {
	verdicts("budget/destructive") == {"checkpoint"} with input as having_destroyed(undoable(destroying), 20, 0)
	silent("budget/destructive") with input as having_destroyed(undoable(destroying), 19, 0)
	message := "notes.drop can destroy, and there were many such calls: at most 20 in a session without a person"
	messages("budget/destructive") == {message} with input as having_destroyed(undoable(destroying), 20, 0)
}

test_budget_destructive_asks_beyond_the_number_in_a_day if {
	verdicts("budget/destructive") == {"checkpoint"} with input as having_destroyed(undoable(destroying), 0, 100)
	silent("budget/destructive") with input as having_destroyed(undoable(destroying), 0, 99)
}

test_budget_destructive_does_what_the_settings_say if {
	verdicts("budget/destructive") == {"deny"} with input as having_destroyed(destroying, 3, 0)
		with data.interlock.settings.budget.destructive_per_session as 3
		with data.interlock.settings.budget.verdict as "deny"
}

test_budget_destructive_is_silent_for_other_effects_and_for_undo if {
	every call in [reading, changing, object.union(destroying, {"call": {"kind": "undo"}})] {
		silent("budget/destructive") with input as having_destroyed(call, 99, 999)
	}
}

test_budget_destructive_is_asked_at_apply_for_what_can_be_previewed if {
	previewed := having_destroyed(previewing(destroying), 99, 0)
	silent("budget/destructive") with input as previewed
	verdicts("budget/destructive") == {"checkpoint"} with input as applying(previewed)
}

test_budget_destructive_is_silent_for_a_script_that_only_reads if {
	looking := running({"commands": [command(["ls"])], "names": ["ls"]})
	silent("budget/destructive") with input as having_destroyed(looking, 99, 999)
	verdicts("budget/destructive") == {"checkpoint"} with input as having_destroyed(running({"commands": [command(["curl"])]}), 99, 999)
}

test_budget_destructive_holds_without_the_fields_it_reads if {
	paths := {
		"session/counters/destructive_calls",
		"session/counters",
		"session",
		"principal/recent/destructive/day",
		"principal/recent/destructive",
		"principal/recent",
		"principal",
	}
	every path in paths {
		verdicts("budget/destructive") == {"checkpoint"} with input as without(undoable(destroying), path)
	}
	spent := having_destroyed(undoable(destroying), 20, 0)
	every path in {"tool/effect", "tool/name", "tool/safety_level", "tool/metadata", "call/kind", "call/phase", "call", "tool"} {
		verdicts("budget/destructive") == {"checkpoint"} with input as without(spent, path)
	}
}
