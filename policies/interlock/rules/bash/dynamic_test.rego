package interlock.rules_test

sourcing(source, script) := running({"commands": [object.union(command(["source", "x"]), {"interprets": {
	"language": "shell",
	"source": source,
	"script": script,
}})]})

test_bash_dynamic_denies_a_program_named_at_run_time if {
	verdicts("bash/dynamic") == {"deny"} with input as running({"dynamic_name": true})
}

test_bash_dynamic_denies_what_the_settings_call_hazards if {
	every hazard in {"dynamic_script", "invisible_characters"} {
		verdicts("bash/dynamic") == {"deny"} with input as running({"hazards": [hazard]})
	}
}

test_bash_dynamic_leaves_other_hazards_to_a_person if {
	silent("bash/dynamic") with input as running({"hazards": ["path"]})
}

test_bash_dynamic_denies_a_script_from_a_file_that_is_not_known if {
	verdicts("bash/dynamic") == {"deny"} with input as sourcing("file", null)
	verdicts("bash/dynamic") == {"deny"} with input as sourcing("unknown", null)
}

test_bash_dynamic_is_silent_when_the_file_is_known if {
	silent("bash/dynamic") with input as sourcing("file", "setup.sh")
	silent("bash/dynamic") with input as sourcing("argument", null)
}

test_bash_dynamic_is_silent_for_literal_scripts_and_other_tools if {
	silent("bash/dynamic") with input as listing
	silent("bash/dynamic") with input as destroying
}

test_bash_dynamic_holds_without_the_fields_it_reads if {
	every path in {"call/facts/bash/dynamic_name", "tool"} {
		verdicts("bash/dynamic") == {"deny"} with input as without(running({"dynamic_name": true}), path)
	}
	verdicts("bash/dynamic") == {"deny"} with input as without(listing, "call/facts/bash/dynamic_name")
	verdicts("bash/dynamic") == {"deny"} with input as without(sourcing("file", "x"), "call/facts/bash/commands/0/interprets/script")
}

test_bash_dynamic_leaves_missing_facts_to_another_rule if {
	every path in {"call/facts/bash", "call/facts", "call"} {
		silent("bash/dynamic") with input as without(listing, path)
		verdicts("bash/unreadable") == {"deny"} with input as without(listing, path)
	}
}
