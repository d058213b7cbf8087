package interlock.rules_test

test_taint_changes_does_what_the_settings_say if {
	silent("taint/changes") with input as marked(changing, ["untrusted"])
	every verdict in {"checkpoint", "deny"} {
		verdicts("taint/changes") == {verdict} with input as marked(changing, ["untrusted"])
			with data.interlock.settings.taint.untrusted_changes as verdict
	}
	message := "notes.set changes something for good, and this session has read what strangers wrote"
	messages("taint/changes") == {message} with input as marked(changing, ["untrusted"])
		with data.interlock.settings.taint.untrusted_changes as "deny"
}

test_taint_changes_is_silent_about_what_can_be_looked_at_or_taken_back if {
	undo := object.union(changing, {"call": {"kind": "undo"}})
	looking := running({"commands": [command(["ls"])], "names": ["ls"]})
	every call in [reading, undoable(changing), previewing(changing), undo, looking] {
		silent("taint/changes") with input as marked(call, ["untrusted"])
			with data.interlock.settings.taint.untrusted_changes as "checkpoint"
	}
	every marks in [[], ["sensitive"]] {
		silent("taint/changes") with input as marked(changing, marks)
			with data.interlock.settings.taint.untrusted_changes as "checkpoint"
	}
}

test_taint_changes_holds_without_the_fields_it_reads if {
	paths := {
		"session/taints",
		"session",
		"tool/effect",
		"tool/declared",
		"tool/capability",
		"tool/safety_level",
		"tool/metadata",
		"tool/name",
		"call/kind",
		"call",
		"tool",
	}
	every path in paths {
		verdicts("taint/changes") == {"checkpoint"} with input as without(marked(changing, ["untrusted"]), path)
			with data.interlock.settings.taint.untrusted_changes as "checkpoint"
	}
}
