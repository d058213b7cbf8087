package interlock.rules_test

test_bash_read_only_allows_the_listed_commands if {
	cases := [
		listing,
		one(["cat", "notes.txt"], {}),
		one(["git", "status"], {"subcommand": "status"}),
		one(["git", "log", "--oneline", "-n", "5"], {"subcommand": "log"}),
		one(["git", "branch", "-a"], {"subcommand": "branch"}),
		one(["sort", "-u", "notes.txt"], {}),
		one(["date", "+%F"], {}),
		one(["date"], {}),
		one(["find", ".", "-name", "x"], {}),
		running({"commands": [command(["grep", "x", "a"]), command(["wc", "-l"])]}),
		showing("/w/notes.txt"),
		writing_nowhere,
	]
	every call in cases {
		verdicts("bash/read_only") == {"allow"} with input as call
	}
}

writing_nowhere := object.union(listing, {"call": {"facts": {"bash": {"writes": [{
	"command": 0,
	"operator": "2>",
	"given": "/dev/null",
	"dynamic": false,
	"location": "stream",
	"normalised": "/dev/null",
	"inside": true,
}]}}}})

test_bash_read_only_is_silent_for_options_that_do_more if {
	cases := [
		one(["sort", "-o", "x", "x"], {}),
		one(["sort", "--out", "x", "x"], {}),
		one(["find", ".", "-delete"], {}),
		one(["find", ".", "-exec", "ls"], {}),
		one(["date", "-s", "now"], {}),
		one(["date", "010100002030"], {}),
		one(["test", "-v", "x[$(id)]"], {}),
		one(["printf", "-v", "x[$(id)]", "y"], {}),
		one(["uniq", "in", "out"], {}),
		one(["rg", "--pre", "sh", "x"], {}),
		one(["hostname", "other"], {}),
		one(["git", "-c", "core.pager=sh", "log"], {"subcommand": "log"}),
		one(["git", "log", "--output", "x"], {"subcommand": "log"}),
		one(["git", "branch", "-D", "x"], {"subcommand": "branch"}),
		one(["git", "branch", "-a", "new", "x"], {"subcommand": "branch", "operands": ["branch", "new"]}),
		one(["git", "commit", "-m", "x"], {"subcommand": "commit"}),
		one(["git", "config", "x", "y"], {"subcommand": "config"}),
	]
	every call in cases {
		silent("bash/read_only") with input as call
	}
}

test_bash_read_only_is_silent_for_commands_that_are_not_listed if {
	every argv in [["tee", "x"], ["env"], ["sed", "-i", "s/a/b/", "x"], ["awk", "1"], ["npm", "test"], ["python3", "-V"]] {
		silent("bash/read_only") with input as one(argv, {})
	}
	silent("bash/read_only") with input as running({"commands": [command(["ls"]), command(["make"])]})
	silent("bash/read_only") with input as running({"commands": []})
	silent("bash/read_only") with input as reading
}

test_bash_read_only_is_silent_for_programs_found_by_a_path if {
	silent("bash/read_only") with input as one(["./ls"], {"name": "ls"})
}

test_bash_read_only_is_silent_for_interpreters if {
	silent("bash/read_only") with input as one(["cat", "x"], {"interprets": {
		"language": "shell",
		"source": "file",
		"script": "x",
	}})
}

test_bash_read_only_is_silent_for_what_is_not_literal if {
	unusual := [
		{"dynamic": true, "open": true},
		{"assignments": [{"name": "X", "value": "1"}]},
		{"functions": ["ls"]},
		{"aliases": ["ls"]},
		{"paths": [bash_path("/etc/passwd", false)]},
		{"paths": [pattern_path("/w/.e*", {})]},
		{"directory": {"changed": true, "location": "unknown", "normalised": null, "inside": false}},
	]
	every facts in unusual {
		silent("bash/read_only") with input as running(object.union({"commands": [command(["ls", "x"])]}, facts))
	}
	silent("bash/read_only") with input as writing("inside", true)
}

test_bash_read_only_needs_to_know_where_a_script_reads if {
	nowhere := {"directory": {"changed": false, "location": "unknown", "normalised": null, "inside": false}}
	verdicts("bash/read_only") == {"allow"} with input as running(object.union({"commands": [command(["ls"])]}, nowhere))
	silent("bash/read_only") with input as running(object.union({"commands": [command(["cat", "x"])]}, nowhere))
}

test_bash_read_only_is_silent_for_names_of_secrets if {
	silent("bash/read_only") with input as one(["cat", ".env"], {})
	silent("bash/read_only") with input as one(["cat", "keys/ID_RSA"], {})
	silent("bash/read_only") with input as one(["git", "show", "HEAD:.env"], {"subcommand": "show"})
}

test_bash_read_only_allows_patterns_for_visible_files if {
	verdicts("bash/read_only") == {"allow"} with input as reading_by(pattern_path("/w/src/*.py", {}))
	verdicts("bash/read_only") == {"allow"} with input as reading_by(pattern_path("/w/src/*.py", {"known": false}))
}

test_bash_read_only_lets_names_of_whatever_it_is_be_shown if {
	naming := running({"commands": [command(["ls", "/w/i*"])], "paths": [unseen_pattern]})
	verdicts("bash/read_only") == {"allow"} with input as naming
}

reading_by(path) := running({"commands": [command(["cat", path.given])], "paths": [path]})

test_bash_read_only_is_silent_without_the_fields_of_a_pattern if {
	call := reading_by(pattern_path("/w/src/*.py", {"known": false}))
	every field in {"name", "begins", "ends", "directory"} {
		silent("bash/read_only") with input as without(call, concat("/", ["call/facts/bash/paths/0/pattern", field]))
	}
	every field in {"pattern", "inside", "given"} {
		silent("bash/read_only") with input as without(call, concat("/", ["call/facts/bash/paths/0", field]))
	}
	silent("bash/read_only") with input as without(reading_by(bash_path("/w/x", true)), "call/facts/bash/paths/0/glob")
	seen := reading_by(object.union(unseen_pattern, {"pattern": {"known": true, "matches": ["i.py"]}}))
	verdicts("bash/read_only") == {"allow"} with input as seen
	every field in {"known", "matches", "links"} {
		silent("bash/read_only") with input as without(seen, concat("/", ["call/facts/bash/paths/0/pattern", field]))
	}
}

test_bash_read_only_is_silent_without_the_fields_it_reads if {
	shown_file := showing("/w/notes.txt")
	every field in {
		"parse_error", "open", "assignments", "functions", "aliases", "commands", "paths", "searches", "writes", "directory",
		"commands/0/name", "commands/0/argv", "commands/0/flags", "commands/0/operands", "commands/0/interprets",
		"paths/0/inside",
	} {
		silent("bash/read_only") with input as without(shown_file, concat("/", ["call/facts/bash", field]))
	}
	silent("bash/read_only") with input as without(shown_file, "call/facts/extracted")
}

# `find src -exec ... {} +`, with what it runs.
handed_on(changes) := running({"dynamic": true, "commands": [
	object.union(command(["find", "src", "-exec"]), {"feeds": true}),
	object.union(command(["cat"]), object.union({"argv": ["cat", null], "dynamic": true, "fed": true, "operands": [null]}, changes)),
]})

test_bash_read_only_allows_reading_files_that_are_found if {
	verdicts("bash/read_only") == {"allow"} with input as handed_on({})
	verdicts("bash/read_only") == {"allow"} with input as handed_on({"argv": ["sort", "-r", null], "name": "sort", "flags": ["-r"]})
}

test_bash_read_only_is_silent_for_more_than_reading_files_that_are_found if {
	cases := [
		{"fed": false},
		{"argv": ["rm", null], "name": "rm"},
		{"argv": ["./cat", null]},
		{"argv": ["sort", "-o", null], "name": "sort", "flags": ["-o"]},
		{"argv": ["uniq", null], "name": "uniq"},
		{"argv": ["git", "show", null], "name": "git", "subcommand": "show"},
		{"operands": [".env", null]},
		{"flags": null},
		{"interprets": {"language": "shell", "source": "argument", "script": null, "code": "x"}},
	]
	every changes in cases {
		silent("bash/read_only") with input as handed_on(changes)
	}
	silent("bash/read_only") with input as object.union(handed_on({}), {"call": {"facts": {"bash": {"open": true}}}})
	silent("bash/read_only") with input as running({"commands": [object.union(command(["find", ".env"]), {"feeds": true})]})
	silent("bash/read_only") with input as running({"commands": [object.union(command(["./find"]), {"feeds": true, "name": "find"})]})
	silent("bash/routine") with input as handed_on({})
}

test_bash_read_only_lets_loops_have_a_variable if {
	shown := {"commands": [command(["ls"])], "assignments": [{"name": "f", "value": null, "loop": true}]}
	verdicts("bash/read_only") == {"allow"} with input as running(shown)
	cases := [
		{"name": "f", "value": "x", "loop": false},
		{"name": "f", "value": "x"},
		{"name": "http_proxy", "value": null, "loop": true},
		{"name": "IFS", "value": null, "loop": true},
		{"value": null, "loop": true},
	]
	every assignment in cases {
		silent("bash/read_only") with input as running(object.union(shown, {"assignments": [assignment]}))
	}
}
