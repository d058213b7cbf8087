package interlock.rules_test

elsewhere := {"given": "/etc/passwd", "inside": false, "root": null, "segments": ["etc", "passwd"], "name": "passwd"}

test_file_outside_denies_reading_and_writing if {
	every call in [reading, changing, destroying] {
		verdicts("file/outside") == {"deny"} with input as touching(call, elsewhere)
		messages("file/outside") == {"outside the workspace: /etc/passwd"} with input as touching(call, elsewhere)
	}
}

test_file_outside_denies_links_that_lead_out if {
	linked := object.union(elsewhere, {"given": "notes", "symlink": true})
	message := "outside the workspace: notes (through a symbolic link)"
	messages("file/outside") == {message} with input as touching(reading, linked)
}

test_file_outside_is_silent_inside if {
	silent("file/outside") with input as touching(reading, {})
	silent("file/outside") with input as touching(changing, {"symlink": true})
}

test_file_outside_is_silent_for_other_tools if {
	silent("file/outside") with input as changing
}

test_file_outside_denies_when_one_of_several_leads_out if {
	both := object.union(touching(reading, {}), {"call": {"facts": {"file": {
		"inside": true,
		"arguments": [{"given": "a", "inside": true}, {"given": "b", "inside": false}],
	}}}})
	messages("file/outside") == {"outside the workspace: b"} with input as both
}

test_file_outside_holds_without_the_fields_it_reads if {
	paths := {
		"call/facts/file/inside",
		"call/facts/file/arguments/0/inside",
	}
	every path in paths {
		verdicts("file/outside") == {"deny"} with input as without(touching(reading, {}), path)
	}
	every field in {"given", "symlink"} {
		path := concat("/", ["call/facts/file/arguments/0", field])
		verdicts("file/outside") == {"deny"} with input as without(touching(reading, elsewhere), path)
	}
	verdicts("file/outside") == {"deny"} with input as without(touching(reading, elsewhere), "tool/metadata")
}

test_file_outside_leaves_missing_facts_to_another_rule if {
	every path in {"call/facts/file", "call/facts/extracted", "call/facts", "call"} {
		silent("file/outside") with input as without(touching(reading, elsewhere), path)
		verdicts("file/unknown") == {"deny"} with input as without(touching(reading, elsewhere), path)
	}
}
