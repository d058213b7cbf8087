package interlock.rules_test

test_bash_other_asks_for_a_person if {
	verdicts("bash/other") == {"checkpoint"} with input as one(["curl", "-O", "x"], {})
	verdicts("bash/other") == {"checkpoint"} with input as running({})
}

test_bash_other_names_what_it_is_about if {
	words := "the command does more than read, or is not known to"
	messages("bash/other") == {sprintf("%s: curl -O x", [words])} with input as one(["curl", "-O", "x"], {})
	setting := object.union(one(["make"], {}), {"call": {"facts": {"bash": {"assignments": [
		{"name": "EDITOR", "value": "/bin/x"},
		{"name": null, "value": "x"},
	]}}}})
	messages("bash/other") == {sprintf("%s: it sets EDITOR", [words])} with input as setting
	messages("bash/other") == {words} with input as running({})
	long := concat("", [text | some _ in numbers.range(1, 100); text := "x"])
	named := object.union(one(["make"], {}), {"call": {"facts": {"bash": {"assignments": [{"name": long, "value": "x"}]}}}})
	messages("bash/other") == {sprintf("%s: it sets %s", [words, substring(long, 0, 60)])} with input as named
	messages("bash/other") == {sprintf("%s: it writes out.txt", [words])} with input as writing("inside", true)
	outside := running({"commands": [command(["cat", "/etc/x"])], "paths": [bash_path("/etc/x", false)]})
	messages("bash/other") == {sprintf("%s: it leads out of the workspace, or may: /etc/x", [words])} with input as outside
	unknown := running({"dynamic": true, "open": true, "commands": [object.union(command(["cat"]), {"dynamic": true})]})
	messages("bash/other") == {sprintf("%s: what it is given is known only at run time: cat", [words])} with input as unknown
}

test_bash_other_is_silent_for_what_only_reads if {
	silent("bash/other") with input as listing
}

test_bash_other_is_silent_for_routine_work if {
	silent("bash/other") with input as one(["make"], {})
}

test_bash_other_is_silent_for_other_tools if {
	silent("bash/other") with input as destroying
}

test_bash_other_holds_without_the_fields_it_reads if {
	every path in {"call/facts/bash/commands", "call/facts/bash/paths", "call/facts/bash", "call/facts", "call"} {
		verdicts("bash/other") == {"checkpoint"} with input as without(listing, path)
	}
	verdicts("bash/other") == {"checkpoint"} with input as without(one(["curl", "-O", "x"], {}), "tool")
}
