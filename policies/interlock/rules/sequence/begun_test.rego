package interlock.rules_test

after_reading_notes := {"notes_out": {"after": {"tools": ["notes.get"]}, "then": {"effects": ["mutating"]}}}

test_sequence_begun_marks_the_session if {
	obligations("sequence/begun") == {{"taint": ["sequence:notes_out"]}} with input as reading
		with data.interlock.settings.sequence.rules as after_reading_notes
	verdicts("sequence/begun") == {"none"} with input as reading
		with data.interlock.settings.sequence.rules as after_reading_notes
}

test_sequence_begun_is_silent_once_marked_and_for_other_calls if {
	marked := object.union(reading, {"session": {"taints": ["sequence:notes_out"]}})
	every call in [marked, changing] {
		silent("sequence/begun") with input as call
			with data.interlock.settings.sequence.rules as after_reading_notes
	}
	silent("sequence/begun") with input as reading
}

test_sequence_begun_holds_without_the_fields_it_reads if {
	every path in {"tool/name", "tool", "session/taints", "session"} {
		obligations("sequence/begun") == {{"taint": ["sequence:notes_out"]}} with input as without(reading, path)
			with data.interlock.settings.sequence.rules as after_reading_notes
	}
}
