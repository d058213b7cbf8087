package interlock.rules_test

writing(location, inside) := running({"commands": [command(["echo", "x"])], "writes": [{
	"command": 0,
	"operator": ">",
	"given": "out.txt",
	"dynamic": false,
	"location": location,
	"normalised": "/w/out.txt",
	"inside": inside,
}]})

moving(name, inside) := running({"commands": [command([name, "x", "/y"])], "paths": [bash_path("/y", inside)]})

test_bash_write_outside_denies_redirections if {
	every location in {"outside", "unknown", "network"} {
		verdicts("bash/write_outside") == {"deny"} with input as writing(location, false)
	}
	messages("bash/write_outside") == {"writes outside the workspace: out.txt"} with input as writing("outside", false)
}

test_bash_write_outside_is_silent_inside if {
	silent("bash/write_outside") with input as writing("inside", true)
	silent("bash/write_outside") with input as writing("stream", true)
}

test_bash_write_outside_denies_writers_with_a_path_outside if {
	every name in {"cp", "mv", "tee", "touch", "rm", "ln", "mkdir"} {
		verdicts("bash/write_outside") == {"deny"} with input as moving(name, false)
		silent("bash/write_outside") with input as moving(name, true)
	}
}

test_bash_write_outside_leaves_reading_outside_to_a_person if {
	silent("bash/write_outside") with input as moving("cat", false)
	verdicts("bash/other") == {"checkpoint"} with input as moving("cat", false)
}

test_bash_write_outside_is_silent_for_other_tools if {
	silent("bash/write_outside") with input as destroying
}

test_bash_write_outside_holds_without_the_fields_it_reads if {
	every field in {"inside", "given", "location"} {
		path := concat("/", ["call/facts/bash/writes/0", field])
		verdicts("bash/write_outside") == {"deny"} with input as without(writing("outside", false), path)
	}
	every field in {"inside", "given"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/write_outside") == {"deny"} with input as without(moving("cp", false), path)
	}
	verdicts("bash/write_outside") == {"deny"} with input as without(writing("outside", false), "tool")
}

test_bash_write_outside_is_followed_by_another_rule_when_its_facts_are_missing if {
	every field in {"writes", "commands"} {
		path := concat("/", ["call/facts/bash", field])
		verdicts("bash/other") == {"checkpoint"} with input as without(writing("outside", false), path)
	}
	every field in {"role", "command"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/other") == {"checkpoint"} with input as without(moving("cp", false), path)
	}
}
