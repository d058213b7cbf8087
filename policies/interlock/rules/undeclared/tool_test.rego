package interlock.rules_test

test_undeclared_tool_asks_for_a_person if {
	verdicts("undeclared/tool") == {"checkpoint"} with input as undeclared
}

test_undeclared_tool_asks_until_somebody_has_confirmed_the_declaration if {
	unconfirmed := object.union(reading, {"tool": {"pin_state": "unconfirmed"}})
	verdicts("undeclared/tool") == {"checkpoint"} with input as unconfirmed
}

test_undeclared_tool_is_silent_for_declared_tools if {
	every call in [reading, changing, destroying] {
		silent("undeclared/tool") with input as call
	}
}

test_undeclared_tool_holds_without_the_fields_it_reads if {
	every path in {"tool/declared", "tool/pin_state", "tool/effect", "tool"} {
		verdicts("undeclared/tool") == {"checkpoint"} with input as without(reading, path)
	}
}
