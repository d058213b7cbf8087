package interlock.rules_test

listing := running({"commands": [command(["ls"])]})

test_bash_unreadable_denies_a_parse_error if {
	broken := running({"parse_error": true, "errors": ["line 1: unexpected end"]})
	verdicts("bash/unreadable") == {"deny"} with input as broken
	message := "the command could not be understood: line 1: unexpected end; write it in a simpler way"
	messages("bash/unreadable") == {message} with input as broken
}

test_bash_unreadable_denies_when_nothing_was_extracted if {
	missing := object.union(listing, {"call": {"facts": {"extracted": false, "error": "no command"}}})
	verdicts("bash/unreadable") == {"deny"} with input as missing
	message := "the command could not be understood: no command; write it in a simpler way"
	messages("bash/unreadable") == {message} with input as missing
}

test_bash_unreadable_denies_facts_of_another_class if {
	verdicts("bash/unreadable") == {"deny"} with input as object.union(listing, {"call": {"facts": {"class": "file"}}})
}

test_bash_unreadable_is_silent_for_a_script_that_was_understood if {
	silent("bash/unreadable") with input as listing
}

test_bash_unreadable_is_silent_for_other_tools if {
	silent("bash/unreadable") with input as destroying
}

test_bash_unreadable_holds_without_the_fields_it_reads if {
	paths := {
		"call/facts/class",
		"call/facts/extracted",
		"call/facts/bash/parse_error",
		"call/facts/bash",
		"call/facts",
		"call",
	}
	every path in paths {
		verdicts("bash/unreadable") == {"deny"} with input as without(listing, path)
	}
}

test_bash_unreadable_denies_what_is_not_all_told if {
	all_of_it := object.union(listing, {"call": {"facts": {"bash": {"paths": [
		bash_path("src", true),
		object.union(pattern_path("*.py", {}), {"command": 1}),
		object.union(unseen_pattern, {"pattern": null, "command": null}),
	]}}}})
	silent("bash/unreadable") with input as all_of_it
	lists := {name | some name in ["hazards", "commands", "writes", "paths", "searches"]}
	commands := {path |
		some field in [
			"name", "subcommand", "interprets", "argv", "flags",
			"operands", "implied", "stdin_script", "stdin",
		]
		path := concat("/", ["commands/0", field])
	}
	paths := {path |
		some index in ["0", "1", "2"]
		some field in ["command", "normalised", "role", "given", "glob"]
		path := concat("/", ["paths", index, field])
	}
	patterns := {"paths/1/pattern", "paths/1/pattern/matches", "paths/1/pattern/links", "paths/2/pattern"}
	every path in ((lists | commands) | paths) | patterns {
		verdicts("bash/unreadable") == {"deny"} with input as without(all_of_it, concat("/", ["call/facts/bash", path]))
	}
}

test_bash_unreadable_holds_by_the_facts_alone if {
	broken := running({"parse_error": true})
	verdicts("bash/unreadable") == {"deny"} with input as without(broken, "tool/metadata")
}
