package interlock.rules_test

having_called(call, counts) := object.union(call, {"principal": {"recent": called(counts)}})

test_rate_exceeded_denies_a_tool_that_was_called_too_often if {
	every counts in [[3, 0, 0], [4, 9, 9]] {
		verdicts("rate/exceeded") == {"deny"} with input as having_called(reading, counts)
			with data.interlock.settings.rate.by_tool as {"notes.get": {"minute": 3}}
	}
	message := "notes.get was called too often: at most 3 in a minute; try again in a minute at the latest"
	messages("rate/exceeded") == {message} with input as having_called(reading, [3, 0, 0])
		with data.interlock.settings.rate.by_tool as {"notes.get": {"minute": 3}}
}

test_rate_exceeded_is_silent_below_the_limit if {
	silent("rate/exceeded") with input as having_called(reading, [2, 99, 999])
		with data.interlock.settings.rate.by_tool as {"notes.get": {"minute": 3, "hour": 100, "day": 1000}}
}

test_rate_exceeded_looks_at_each_window if {
	every counts in [[0, 5, 0], [0, 0, 9]] {
		verdicts("rate/exceeded") == {"deny"} with input as having_called(reading, counts)
			with data.interlock.settings.rate.by_tool as {"notes.get": {"hour": 5, "day": 9}}
	}
}

test_rate_exceeded_looks_at_all_calls_and_at_effects if {
	verdicts("rate/exceeded") == {"deny"} with input as having_called(reading, [3, 3, 3])
		with data.interlock.settings.rate.calls as {"hour": 3}
	verdicts("rate/exceeded") == {"deny"} with input as having_called(changing, [3, 3, 3])
		with data.interlock.settings.rate.by_effect as {"mutating": {"day": 3}}
	silent("rate/exceeded") with input as having_called(reading, [3, 3, 3])
		with data.interlock.settings.rate.by_effect as {"mutating": {"day": 3}}
}

test_rate_exceeded_counts_destruction_for_what_can_destroy if {
	every call in [destroying, undeclared] {
		verdicts("rate/exceeded") == {"deny"} with input as having_called(call, [3, 3, 3])
			with data.interlock.settings.rate.destructive as {"day": 3}
	}
	silent("rate/exceeded") with input as having_called(changing, [3, 3, 3])
		with data.interlock.settings.rate.destructive as {"day": 3}
}

test_rate_exceeded_does_not_count_again_what_goes_on if {
	approved := object.union(destroying, {"call": {"checkpoint": {"id": "c", "outcome": "approved", "approvers": []}}})
	edited := object.union(destroying, {"call": {"kind": "edit"}})
	every call in [applying(destroying), approved, edited] {
		silent("rate/exceeded") with input as having_called(call, [9, 9, 9])
			with data.interlock.settings.rate.calls as {"minute": 3}
	}
}

test_rate_exceeded_is_silent_as_shipped if {
	silent("rate/exceeded") with input as having_called(destroying, [100000, 100000, 100000])
}

test_rate_exceeded_holds_without_the_counts if {
	paths := {
		"principal/recent/all/minute",
		"principal/recent/all",
		"principal/recent",
		"principal",
	}
	every path in paths {
		verdicts("rate/exceeded") == {"deny"} with input as without(reading, path)
			with data.interlock.settings.rate.calls as {"minute": 3}
	}
	verdicts("rate/exceeded") == {"deny"} with input as without(reading, "principal/recent/tool/hour")
		with data.interlock.settings.rate.by_tool as {"notes.get": {"hour": 3}}
	verdicts("rate/exceeded") == {"deny"} with input as without(destroying, "principal/recent/destructive")
		with data.interlock.settings.rate.destructive as {"hour": 3}
}

test_rate_exceeded_takes_every_limit_when_the_call_is_not_known if {
	exceeding := having_called(reading, [3, 3, 3])
	every path in {"tool/name", "tool"} {
		verdicts("rate/exceeded") == {"deny"} with input as without(exceeding, path)
			with data.interlock.settings.rate.by_tool as {"another": {"minute": 3}}
	}
	every path in {"tool/effect", "tool"} {
		verdicts("rate/exceeded") == {"deny"} with input as without(exceeding, path)
			with data.interlock.settings.rate.by_effect as {"mutating": {"minute": 3}}
		verdicts("rate/exceeded") == {"deny"} with input as without(exceeding, path)
			with data.interlock.settings.rate.destructive as {"minute": 3}
	}
	every path in {"call/kind", "call/checkpoint", "call"} {
		verdicts("rate/exceeded") == {"deny"} with input as without(exceeding, path)
			with data.interlock.settings.rate.calls as {"minute": 3}
	}
}

test_rate_exceeded_holds_for_limits_that_cannot_be_read if {
	every limits in [{"minutes": 5}, {"minute": "5"}, {"minute": null}] {
		verdicts("rate/exceeded") == {"deny"} with input as reading
			with data.interlock.settings.rate.calls as limits
	}
}
