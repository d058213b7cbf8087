package interlock.rules_test

test_redaction_results_masks_by_tool_class_and_label if {
	obligations("redaction/results") == {{"redact": ["/a", "/b"]}} with input as reading
		with data.interlock.settings.redaction.by_tool as {"notes.get": ["/b", "/a"]}
	obligations("redaction/results") == {{"redact": ["/c"]}} with input as touching(reading, {})
		with data.interlock.settings.redaction.by_class as {"file": ["/c"]}
	obligations("redaction/results") == {{"redact": ["/d"]}} with input as object.union(
		reading,
		{"session": {"labels": {"who": "guest"}}},
	)
		with data.interlock.settings.redaction.by_session_label as {"who": {"guest": ["/d"]}}
}

test_redaction_results_decides_nothing if {
	verdicts("redaction/results") == {"none"} with input as reading
		with data.interlock.settings.redaction.by_tool as {"notes.get": ["/a"]}
}

test_redaction_results_is_silent_for_others if {
	silent("redaction/results") with input as changing
		with data.interlock.settings.redaction.by_tool as {"notes.get": ["/a"]}
		with data.interlock.settings.redaction.by_session_label as {"who": {"guest": ["/d"]}}
	silent("redaction/results") with input as reading
}

test_redaction_results_masks_all_that_may_be_meant_without_the_fields_it_reads if {
	every path in {"tool/name", "tool"} {
		obligations("redaction/results") == {{"redact": ["/a"]}} with input as without(reading, path)
			with data.interlock.settings.redaction.by_tool as {"another": ["/a"]}
	}
	every path in {"tool/metadata", "tool"} {
		obligations("redaction/results") == {{"redact": ["/a"]}} with input as without(reading, path)
			with data.interlock.settings.redaction.by_class as {"file": ["/a"]}
	}
	every path in {"session/labels", "session"} {
		obligations("redaction/results") == {{"redact": ["/a"]}} with input as without(reading, path)
			with data.interlock.settings.redaction.by_session_label as {"who": {"guest": ["/a"]}}
	}
}
