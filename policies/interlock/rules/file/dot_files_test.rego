package interlock.rules_test

test_file_dot_files_asks_for_a_person_when_the_settings_say_so if {
	verdicts("file/dot_files") == {"checkpoint"} with input as touching(changing, {"hidden": true})
		with data.interlock.settings.file.ask_for_dot_files as true
}

test_file_dot_files_is_silent_otherwise if {
	silent("file/dot_files") with input as touching(changing, {"hidden": true})
		with data.interlock.settings.file.ask_for_dot_files as false
	silent("file/dot_files") with input as touching(changing, {})
		with data.interlock.settings.file.ask_for_dot_files as true
	silent("file/dot_files") with input as touching(reading, {"hidden": true})
		with data.interlock.settings.file.ask_for_dot_files as true
	silent("file/dot_files") with input as changing
		with data.interlock.settings.file.ask_for_dot_files as true
}

test_file_dot_files_holds_without_the_fields_it_reads if {
	every path in {"call/facts/file/arguments/0/hidden", "call/facts/file", "tool/effect", "tool/metadata"} {
		hidden := touching(changing, {"hidden": true})
		verdicts("file/dot_files") == {"checkpoint"} with input as without(hidden, path)
			with data.interlock.settings.file.ask_for_dot_files as true
	}
}
