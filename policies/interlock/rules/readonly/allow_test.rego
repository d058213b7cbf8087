package interlock.rules_test

test_readonly_allow_allows if {
	verdicts("readonly/allow") == {"allow"} with input as reading
}

test_readonly_allow_is_silent_for_other_effects if {
	every call in [changing, destroying, undeclared] {
		silent("readonly/allow") with input as call
	}
}

test_readonly_allow_leaves_scripts_to_their_own_rules if {
	claimed := object.union(running({}), {"tool": {"effect": "read_only"}})
	silent("readonly/allow") with input as claimed
}

test_readonly_allow_is_silent_without_the_fields_it_reads if {
	every path in {"tool/effect", "tool/declared", "tool/pin_state", "tool"} {
		silent("readonly/allow") with input as without(reading, path)
	}
}

test_readonly_allow_is_silent_until_the_declaration_is_confirmed if {
	silent("readonly/allow") with input as object.union(reading, {"tool": {"pin_state": "unconfirmed"}})
}
