package interlock.rules_test

opening(call) := object.union(call, {"tool": {"open_world": true}})

test_taint_marks_what_reaches_the_open_world if {
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as opening(reading)
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as undeclared
	verdicts("taint/marks") == {"none"} with input as opening(reading)
}

test_taint_marks_by_class_tool_and_label if {
	web := object.union(reading, {"tool": {"metadata": {"permission_class": "webfetch"}}})
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as web
	obligations("taint/marks") == {{"taint": ["private", "sensitive"]}} with input as reading
		with data.interlock.settings.taint.by_tool as {"notes.get": ["sensitive", "private"]}
	of_call := object.union(reading, {"call": {"labels": {"data": "secret"}}})
	of_session := object.union(reading, {"session": {"labels": {"data": "secret"}}})
	every call in [of_call, of_session] {
		obligations("taint/marks") == {{"taint": ["sensitive"]}} with input as call
			with data.interlock.settings.taint.by_label as {"data": {"secret": ["sensitive"]}}
	}
}

test_taint_marks_once if {
	marked := object.union(opening(reading), {"session": {"taints": ["untrusted"]}})
	silent("taint/marks") with input as marked
	obligations("taint/marks") == {{"taint": ["sensitive"]}} with input as marked
		with data.interlock.settings.taint.by_tool as {"notes.get": ["sensitive"]}
}

test_taint_marks_is_silent_about_what_stays_inside if {
	every call in [reading, changing, destroying, touching(reading, {})] {
		silent("taint/marks") with input as call
	}
	silent("taint/marks") with input as opening(reading)
		with data.interlock.settings.taint.open_world as []
}

test_taint_marks_is_silent_about_scripts_that_only_read_here if {
	silent("taint/marks") with input as opening(running({"commands": [command(["ls"])], "names": ["ls"]}))
	script := opening(running({"commands": [command(["curl"])], "names": ["curl"]}))
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as script
}

test_taint_marks_queries_of_databases_in_the_open_world if {
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as opening(querying(reading, {}, {}))
	silent("taint/marks") with input as querying(reading, {}, {})
}

test_taint_marks_holds_without_the_fields_it_reads if {
	every path in {"tool/open_world", "tool", "session/taints", "session"} {
		obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as without(opening(reading), path)
	}
	every path in {"tool/metadata", "tool"} {
		obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as without(reading, path)
	}
	every path in {"tool/name", "tool"} {
		some duty in obligations("taint/marks") with input as without(reading, path)
			with data.interlock.settings.taint.by_tool as {"other": ["sensitive"]}
		"sensitive" in duty.taint
	}
	every path in {"call/labels", "session/labels"} {
		obligations("taint/marks") == {{"taint": ["sensitive"]}} with input as without(reading, path)
			with data.interlock.settings.taint.by_label as {"data": {"secret": ["sensitive"]}}
	}
}
