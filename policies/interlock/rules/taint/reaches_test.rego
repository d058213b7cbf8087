package interlock.rules_test

both := ["sensitive", "untrusted"]

test_taint_reaches_asks_before_reading_outside_with_both_marks if {
	verdicts("taint/reaches") == {"checkpoint"} with input as marked(opening(reading), both)
	verdicts("taint/reaches") == {"checkpoint"} with input as marked(web_call({}, {}), both)
	message := concat("", [
		"notes.get reaches the open world, and this session has read what strangers wrote, ",
		"and what is not for others",
	])
	messages("taint/reaches") == {message} with input as marked(opening(reading), both)
}

test_taint_reaches_does_what_the_settings_say if {
	verdicts("taint/reaches") == {"deny"} with input as marked(opening(reading), both)
		with data.interlock.settings.taint.both_reaches as "deny"
	silent("taint/reaches") with input as marked(opening(reading), both)
		with data.interlock.settings.taint.both_reaches as "allow"
}

test_taint_reaches_is_silent_with_one_mark_and_inside if {
	every marks in [[], ["untrusted"], ["sensitive"]] {
		silent("taint/reaches") with input as marked(opening(reading), marks)
	}
	silent("taint/reaches") with input as marked(reading, both)
	looking := opening(running({"commands": [command(["ls"])], "names": ["ls"]}))
	silent("taint/reaches") with input as marked(looking, both)
}

test_taint_reaches_holds_without_the_fields_it_reads if {
	every path in {"session/taints", "session", "tool/open_world", "tool/name", "tool/metadata", "call", "tool"} {
		verdicts("taint/reaches") == {"checkpoint"} with input as without(marked(opening(reading), both), path)
	}
}
