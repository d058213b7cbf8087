package interlock.rules_test

having_begun(call) := object.union(call, {"session": {"taints": ["sequence:notes_out"]}})

test_sequence_follows_needs_a_person if {
	verdicts("sequence/follows") == {"checkpoint"} with input as having_begun(changing)
		with data.interlock.settings.sequence.rules as after_reading_notes
	message := "notes.set follows what it may not follow without a person (notes_out)"
	messages("sequence/follows") == {message} with input as having_begun(changing)
		with data.interlock.settings.sequence.rules as after_reading_notes
}

test_sequence_follows_denies_where_the_settings_say_so if {
	verdicts("sequence/follows") == {"deny"} with input as having_begun(changing)
		with data.interlock.settings.sequence.rules as {"notes_out": object.union(
			after_reading_notes.notes_out,
			{"verdict": "deny"},
		)}
}

test_sequence_follows_is_silent_before_for_others_and_for_undo if {
	every call in [changing, having_begun(reading), having_begun(object.union(changing, {"call": {"kind": "undo"}}))] {
		silent("sequence/follows") with input as call
			with data.interlock.settings.sequence.rules as after_reading_notes
	}
}

to_the_public_in_production := {"notes_out": {"after": {}, "then": {
	"tools": ["notes.set"],
	"providers": ["notes"],
	"effects": ["mutating"],
	"classes": [""],
	"labels": {"to": ["public"]},
	"session_labels": {"env": ["prod"]},
}}}

test_sequence_follows_needs_all_that_the_settings_name if {
	labelled := object.union(having_begun(changing), {
		"call": {"labels": {"to": "public"}},
		"session": {"labels": {"env": "prod"}},
	})
	verdicts("sequence/follows") == {"checkpoint"} with input as labelled
		with data.interlock.settings.sequence.rules as to_the_public_in_production
	others := [
		{"tool": {"name": "other"}},
		{"tool": {"provider": "other"}},
		{"tool": {"effect": "destructive"}},
		{"tool": {"metadata": {"permission_class": "file"}}},
		{"call": {"labels": {"to": "me"}}},
		{"session": {"labels": {"env": "dev"}}},
	]
	every other in others {
		silent("sequence/follows") with input as object.union(labelled, other)
			with data.interlock.settings.sequence.rules as to_the_public_in_production
	}
	paths := {
		"tool/name",
		"tool/provider",
		"tool/effect",
		"tool/metadata",
		"tool",
		"call/labels",
		"call",
		"session/labels/env",
		"session/labels",
	}
	every path in paths {
		verdicts("sequence/follows") == {"checkpoint"} with input as without(labelled, path)
			with data.interlock.settings.sequence.rules as to_the_public_in_production
	}
}

test_sequence_follows_holds_without_the_marks if {
	every path in {"session/taints", "session"} {
		verdicts("sequence/follows") == {"checkpoint"} with input as without(changing, path)
			with data.interlock.settings.sequence.rules as after_reading_notes
	}
}

test_sequence_follows_takes_what_cannot_be_compared_for_fitting if {
	odd := [{"tools": "notes.set"}, {"effects": null}, {"labels": {"to": "public"}}, {"tool": ["other"]}]
	every which in odd {
		verdicts("sequence/follows") == {"checkpoint"} with input as having_begun(changing)
			with data.interlock.settings.sequence.rules as {"notes_out": {"after": {}, "then": which}}
	}
}
