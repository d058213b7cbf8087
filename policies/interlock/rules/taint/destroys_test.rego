package interlock.rules_test

test_taint_destroys_asks_when_nothing_brings_it_back if {
	every call in [destroying, undeclared] {
		verdicts("taint/destroys") == {"checkpoint"} with input as marked(call, ["untrusted"])
	}
	message := "notes.drop destroys what cannot be brought back, and this session has read what strangers wrote"
	messages("taint/destroys") == {message} with input as marked(destroying, ["untrusted"])
}

test_taint_destroys_does_what_the_settings_say if {
	verdicts("taint/destroys") == {"deny"} with input as marked(destroying, ["untrusted"])
		with data.interlock.settings.taint.untrusted_destroys as "deny"
	silent("taint/destroys") with input as marked(destroying, ["untrusted"])
		with data.interlock.settings.taint.untrusted_destroys as "allow"
}

test_taint_destroys_is_silent_about_edits_and_what_can_be_undone if {
	every call in [changing, reading, undoable(destroying), undoable(previewing(destroying))] {
		silent("taint/destroys") with input as marked(call, ["untrusted"])
	}
	every marks in [[], ["sensitive"]] {
		silent("taint/destroys") with input as marked(destroying, marks)
	}
}

test_taint_destroys_is_asked_at_apply_and_never_of_an_undo if {
	silent("taint/destroys") with input as marked(previewing(destroying), ["untrusted"])
	verdicts("taint/destroys") == {"checkpoint"} with input as applying(marked(previewing(destroying), ["untrusted"]))
	silent("taint/destroys") with input as object.union(marked(destroying, ["untrusted"]), {"call": {"kind": "undo"}})
}

test_taint_destroys_is_silent_about_scripts_that_only_read if {
	silent("taint/destroys") with input as marked(running({"commands": [command(["ls"])], "names": ["ls"]}), ["untrusted"])
	verdicts("taint/destroys") == {"checkpoint"} with input as marked(running({"commands": [command(["curl"])]}), ["untrusted"])
}

test_taint_destroys_holds_without_the_fields_it_reads if {
	every path in {"session/taints", "session", "tool/effect", "tool/capability", "tool/name", "tool/metadata", "call", "tool"} {
		verdicts("taint/destroys") == {"checkpoint"} with input as without(marked(destroying, ["untrusted"]), path)
	}
}
