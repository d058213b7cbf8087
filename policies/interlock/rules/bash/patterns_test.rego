package interlock.rules_test

copying_by(path) := running({"commands": [command(["cp", "a.py", path.given])], "paths": [path]})

test_bash_patterns_asks_about_what_may_be_a_secret if {
	verdicts("bash/patterns") == {"checkpoint"} with input as reading_by(unseen_pattern)
	message := "it is not known which files a pattern stands for: /w/i*; write their names out"
	messages("bash/patterns") == {message} with input as reading_by(unseen_pattern)
	directory := pattern_path("/w/.s*/x.py", {"known": false, "directory": `(?m)^(?:\x{2e}s.*)$`})
	verdicts("bash/patterns") == {"checkpoint"} with input as reading_by(directory)
	beginning := pattern_path("/w/.e*", {"known": false, "begins": `(?m)^(?:(?:\x{2e}(?:e.*)?)?)$`})
	verdicts("bash/patterns") == {"checkpoint"} with input as reading_by(beginning)
	ending := pattern_path("/w/*.p?m", {"known": false, "ends": `(?m)^(?:(?:(?:(?:(?:.*\x{2e})?p)?.)?m)?)$`})
	verdicts("bash/patterns") == {"checkpoint"} with input as reading_by(ending)
}

test_bash_patterns_asks_where_it_writes_and_not_all_is_known if {
	verdicts("bash/patterns") == {"checkpoint"} with input as copying_by(pattern_path("/w/e*/f", {"known": false}))
	silent("bash/routine") with input as copying_by(pattern_path("/w/e*/f", {"known": false}))
}

test_bash_patterns_is_silent_when_all_is_known if {
	silent("bash/patterns") with input as copying_by(pattern_path("/w/src/*.py", {}))
	verdicts("bash/routine") == {"allow"} with input as copying_by(pattern_path("/w/src/*.py", {}))
	silent("bash/patterns") with input as reading_by(pattern_path("/w/src/*.py", {"known": false}))
	silent("bash/patterns") with input as reading_by(bash_path("/w/x", true))
	silent("bash/patterns") with input as destroying
}

test_bash_patterns_is_silent_where_only_names_are_shown if {
	naming := running({"commands": [command(["ls", "/w/i*"])], "paths": [unseen_pattern]})
	silent("bash/patterns") with input as naming
	verdicts("bash/patterns") == {"checkpoint"} with input as without(naming, "call/facts/bash/paths/0/role")
	verdicts("bash/patterns") == {"checkpoint"} with input as without(naming, "call/facts/bash/paths/0/command")
	fed := object.union(naming, {"call": {"facts": {"bash": {"paths": [object.union(unseen_pattern, {"role": "redirection"})]}}}})
	verdicts("bash/patterns") == {"checkpoint"} with input as fed
	elsewhere := {"commands": [object.union(command(["./ls", "/w/i*"]), {"name": "ls"})], "paths": [unseen_pattern]}
	verdicts("bash/patterns") == {"checkpoint"} with input as running(elsewhere)
}

test_bash_patterns_holds_without_the_fields_it_reads if {
	every field in {"pattern/known", "pattern/name", "pattern/matches", "pattern", "given", "inside", "normalised"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/patterns") == {"checkpoint"} with input as without(reading_by(unseen_pattern), path)
		verdicts("bash/patterns") == {"checkpoint"} with input as without(copying_by(unseen_pattern), path)
	}
	call := copying_by(pattern_path("/w/e*/f", {"known": false}))
	every field in {"pattern/known", "pattern"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/patterns") == {"checkpoint"} with input as without(call, path)
	}
}

test_bash_patterns_is_followed_by_another_rule_when_its_facts_are_missing if {
	every field in {"glob", "command"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/other") == {"checkpoint"} with input as without(copying_by(unseen_pattern), path)
	}
}
