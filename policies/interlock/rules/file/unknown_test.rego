package interlock.rules_test

test_file_unknown_denies_when_nothing_was_extracted if {
	missing := object.union(touching(reading, {}), {"call": {"facts": {"extracted": false, "error": "no path"}}})
	verdicts("file/unknown") == {"deny"} with input as missing
	messages("file/unknown") == {"it is not known where the path leads: no path"} with input as missing
}

test_file_unknown_denies_facts_of_another_class if {
	swapped := object.union(touching(reading, {}), {"call": {"facts": {"class": "bash"}}})
	verdicts("file/unknown") == {"deny"} with input as swapped
}

test_file_unknown_is_silent_when_the_paths_are_known if {
	silent("file/unknown") with input as touching(reading, {})
}

test_file_unknown_is_silent_for_other_tools if {
	silent("file/unknown") with input as reading
}

test_file_unknown_holds_without_the_fields_it_reads if {
	every path in {"call/facts/class", "call/facts/extracted", "call/facts/file", "call/facts", "call"} {
		verdicts("file/unknown") == {"deny"} with input as without(touching(reading, {}), path)
	}
	every field in {"name", "given_name", "segments"} {
		path := concat("/", ["call/facts/file/arguments/0", field])
		verdicts("file/unknown") == {"deny"} with input as without(touching(reading, {}), path)
	}
	verdicts("file/unknown") == {"deny"} with input as without(touching(reading, {}), "call/facts/file/arguments")
	verdicts("file/unknown") == {"deny"} with input as without(touching(reading, {}), "call/facts/file/patterns")
	patterned := object.union(touching(reading, {}), {"call": {"facts": {"file": {"patterns": [{"broad": true}]}}}})
	verdicts("file/unknown") == {"deny"} with input as patterned
	unextracted := object.union(touching(reading, {}), {"call": {"facts": {"extracted": false}}})
	verdicts("file/unknown") == {"deny"} with input as without(unextracted, "tool/metadata")
}
