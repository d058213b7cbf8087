package interlock.scope_test

covered(matchers, call) if data.interlock.scope.covers(matchers, "bash/other") with input as call

reading := data.interlock.rules_test.reading

test_scope_of_nothing_covers_nothing if {
	not covered({}, reading)
	not covered({"colour": {"red": true}}, reading)
}

test_scope_of_everything_covers_all_calls if {
	covered({"everything": true}, reading)
	covered({"everything": true}, {})
	not covered({"everything": false}, reading)
}

test_scope_needs_every_matcher if {
	covered({"principals": {"agent-1": true}, "tools": {"notes.get": true}}, reading)
	not covered({"principals": {"agent-1": true}, "tools": {"notes.set": true}}, reading)
}

test_scope_by_who_calls if {
	call := object.union(reading, {"principal": {"groups": ["staff", "night"]}})
	covered({"principals": {"other": true, "agent-1": true}}, call)
	not covered({"principals": {"other": true}}, call)
	covered({"roles": {"agent": true}}, call)
	not covered({"roles": {"operator": true}}, call)
	covered({"groups": {"night": true}}, call)
	not covered({"groups": {"day": true}}, call)
}

test_scope_by_what_is_called if {
	covered({"tools": {"notes.get": true}}, reading)
	covered({"providers": {"notes": true}}, reading)
	not covered({"providers": {"other": true}}, reading)
	covered({"effects": {"read_only": true}}, reading)
	not covered({"effects": {"destructive": true}}, reading)
}

test_scope_by_session_labels if {
	call := object.union(reading, {"session": {"labels": {"env": "dev", "team": "a"}}})
	covered({"session_labels": {"env": {"dev": true, "test": true}, "team": {"a": true}}}, call)
	not covered({"session_labels": {"env": {"dev": true}, "team": {"b": true}}}, call)
	not covered({"session_labels": {"env": {"dev": true}}}, reading)
	not covered({"session_labels": {"env": {"true": true}}}, object.union(call, {"session": {"labels": {"env": true}}}))
}

test_scope_matches_nothing_that_is_missing if {
	every field, matcher in {
		"principal/id": {"principals": {"agent-1": true}},
		"principal/roles": {"roles": {"agent": true}},
		"principal/groups": {"groups": {"staff": true}},
		"tool/name": {"tools": {"notes.get": true}},
		"tool/provider": {"providers": {"notes": true}},
		"tool/effect": {"effects": {"read_only": true}},
		"session/labels": {"session_labels": {"env": {"dev": true}}},
	} {
		call := object.union(reading, {"principal": {"groups": ["staff"]}, "session": {"labels": {"env": "dev"}}})
		covered(matcher, call)
		not covered(matcher, data.interlock.rules_test.without(call, field))
	}
}

fetching(urls) := object.union(reading, {"call": {"facts": {"class": "webfetch", "webfetch": {"urls": urls}}}})

url(more) := object.union({"error": null, "hazards": [], "domains": ["api.example.com", "example.com", "com"]}, more)

test_scope_by_domains_covers_every_url if {
	wanted := {"domains": {"example.com": true, "10.0.0.1": true}}
	covered(wanted, fetching([url({})]))
	covered(wanted, fetching([url({}), url({"domains": ["10.0.0.1"]})]))
	not covered(wanted, fetching([url({}), url({"domains": ["example.org", "org"]})]))
	not covered(wanted, fetching([url({"error": "not a URL"})]))
	not covered(wanted, fetching([url({"hazards": ["backslash"]})]))
	not covered(wanted, fetching([url({"domains": []})]))
	not covered(wanted, fetching([]))
	not covered(wanted, reading)
	not covered(wanted, data.interlock.rules_test.without(fetching([url({})]), "call/facts/extracted"))
}

running(commands, more) := data.interlock.rules_test.running(object.union({"commands": commands}, more))

deleting := data.interlock.rules_test.command(["kubectl", "delete", "pod", "x"])

sub(command, subcommand) := object.union(command, {"subcommand": subcommand})

test_scope_by_commands_covers_every_command if {
	wanted := {"commands": {"kubectl delete": true, "docker": true}}
	covered(wanted, running([sub(deleting, "delete")], {}))
	covered(wanted, running([data.interlock.rules_test.command(["cd", "x"]), sub(deleting, "delete")], {}))
	covered(wanted, running([sub(deleting, "delete"), data.interlock.rules_test.command(["docker", "ps"])], {}))
	not covered(wanted, running([sub(deleting, "delete"), data.interlock.rules_test.command(["rm", "-rf", "/"])], {}))
	not covered(wanted, running([sub(deleting, "get")], {}))
	not covered(wanted, running([deleting], {}))
	not covered(wanted, running([], {}))
	not covered(wanted, reading)
}

test_scope_by_commands_is_for_commands_that_stand_there if {
	every more in [
		{"argv": ["/tmp/kubectl", "delete", "pod", "x"]},
		{"env": [{"name": "PATH", "value": "/tmp"}]},
		{"wrappers": ["xargs"]},
		{"implied": true},
		{"moved": true},
		{"interprets": {"language": "sh", "source": "argument", "script": "rm x"}},
		{"name": "kubectl.evil"},
	] {
		command := object.union(sub(deleting, "delete"), more)
		not covered({"commands": {"kubectl": true, "kubectl delete": true}}, running([command], {}))
	}
}

test_scope_by_commands_is_for_scripts_that_are_written_out if {
	every more in [
		{"parse_error": true},
		{"dynamic": true},
		{"hazards": ["alias"]},
		{"assignments": [{"name": "PATH", "value": "/tmp"}]},
		{"functions": ["kubectl"]},
		{"aliases": ["kubectl"]},
		{"paths": [data.interlock.rules_test.bash_path("/etc/passwd", false)]},
		{"writes": [{"location": "inside"}]},
	] {
		not covered({"commands": {"kubectl": true}}, running([deleting], more))
	}
	covered({"commands": {"kubectl": true}}, running([deleting], {
		"paths": [data.interlock.rules_test.bash_path("notes.txt", true)],
		"writes": [{"location": "stream"}],
	}))
}

test_scope_by_commands_matches_nothing_that_is_missing if {
	call := running([deleting], {})
	every field in [
		"parse_error", "dynamic", "hazards", "assignments", "functions", "aliases", "paths", "writes",
		"commands/0/argv", "commands/0/env", "commands/0/wrappers", "commands/0/implied", "commands/0/moved",
		"commands/0/interprets", "commands/0/name", "commands",
	] {
		mutilated := json.remove(call, [sprintf("call/facts/bash/%s", [field])])
		not covered({"commands": {"kubectl": true}}, mutilated)
	}
}

test_scope_by_commands_looks_at_those_that_a_rule_is_about if {
	settings := {
		"destructive": {"kubectl delete": {}},
		"privilege": {"sudo": {}},
		"package_managers": {"npm": {}},
	}
	commands := [
		sub(deleting, "delete"),
		data.interlock.rules_test.command(["sudo", "ls"]),
		data.interlock.rules_test.command(["npm", "install"]),
		data.interlock.rules_test.command(["make"]),
	]
	every rule, name in {"bash/destructive": "kubectl delete", "bash/privilege": "sudo", "bash/packages": "npm"} {
		call := running(commands, {"writes": [{"location": "inside"}]})
		data.interlock.scope.covers({"commands": {name: true}}, rule) with input as call with data.interlock.settings.bash as settings
		not data.interlock.scope.covers({"commands": {"make": true}}, rule) with input as call with data.interlock.settings.bash as settings
		not data.interlock.scope.covers({"commands": {name: true}}, "bash/other") with input as call
			with data.interlock.settings.bash as settings
	}
}

touching(argument) := data.interlock.rules_test.touching(data.interlock.rules_test.changing, argument)

test_scope_by_paths_covers_every_path if {
	wanted := {"paths": {"build": true, "docs/draft.md": true}}
	every segments in [["build"], ["build", "a", "b"], ["docs", "draft.md"]] {
		covered(wanted, touching({"segments": segments}))
	}
	every segments in [[], ["builds"], ["docs"], ["docs", "draft.md.bak"], ["x", "build"]] {
		not covered(wanted, touching({"segments": segments}))
	}
	inside := {"segments": ["build", "a"]}
	every more in [{"inside": false}, {"error": "no"}, {"glob": true}] {
		not covered(wanted, touching(object.union(inside, more)))
	}
	every field in ["inside", "error", "glob", "segments"] {
		whole := touching(inside)
		not covered(wanted, json.remove(whole, [sprintf("call/facts/file/arguments/0/%s", [field])]))
	}
	two := object.union(touching(inside), {"call": {"facts": {"file": {"arguments": [
		touching(inside).call.facts.file.arguments[0],
		touching({"segments": ["other"]}).call.facts.file.arguments[0],
	]}}}})
	not covered(wanted, two)
	none := object.union(touching(inside), {"call": {"facts": {"file": {"arguments": []}}}})
	not covered(wanted, none)
	not covered(wanted, reading)
}

asking(statements, more) := object.union(reading, {"call": {"facts": {"class": "sql", "sql": object.union(
	{"parse_error": false, "dynamic": false, "statements": statements},
	more,
)}}})

statement(more) := object.union(
	{
		"kind": "delete",
		"object": "from",
		"effect": "write",
		"reads": [{"name": "old", "qualified": "old"}],
		"writes": [{"name": "logs", "qualified": "app.logs"}],
		"functions": [],
		"files": false,
		"programs": false,
		"problem": null,
	},
	more,
)

test_scope_by_tables_covers_every_table_of_every_statement if {
	wanted := {"tables": {"old": true, "app.logs": true}}
	covered(wanted, asking([statement({})], {}))
	covered(wanted, asking([statement({}), statement({"kind": "truncate", "effect": "schema"})], {}))
	covered(wanted, asking([statement({"kind": "drop", "object": "table", "effect": "schema"})], {}))
	not covered({"tables": {"old": true, "logs": true}}, asking([statement({})], {}))
	not covered({"tables": {"app.logs": true}}, asking([statement({})], {}))
	other := statement({"writes": [{"name": "users", "qualified": "users"}]})
	not covered(wanted, asking([statement({}), other], {}))
	not covered(wanted, asking([statement({"reads": [], "writes": []})], {}))
	not covered(wanted, asking([], {}))
	not covered(wanted, reading)
}

test_scope_by_tables_is_for_what_is_known_of_tables_alone if {
	wanted := {"tables": {"old": true, "app.logs": true}}
	not covered(wanted, asking([statement({})], {"parse_error": true}))
	not covered(wanted, asking([statement({})], {"dynamic": true}))
	every more in [
		{"problem": "what is this"},
		{"files": true},
		{"programs": true},
		{"effect": "unknown"},
		{"kind": "drop", "object": "database", "effect": "schema"},
		{"functions": ["pg_read_file"]},
	] {
		not covered(wanted, asking([statement(more)], {}))
	}
	every field in ["problem", "files", "programs", "effect", "functions", "reads", "writes"] {
		not covered(wanted, json.remove(asking([statement({})], {}), [sprintf("call/facts/sql/statements/0/%s", [field])]))
	}
}

test_scope_by_tables_leaves_functions_to_other_rules_where_a_rule_is_about_tables if {
	call := asking([statement({"functions": ["now"]})], {})
	data.interlock.scope.covers({"tables": {"old": true, "app.logs": true}}, "sql/unconditional") with input as call
	not data.interlock.scope.covers({"tables": {"old": true, "app.logs": true}}, "sql/functions") with input as call
}

test_exemptions_are_filed_under_what_the_call_has if {
	call := object.union(reading, {"principal": {"groups": ["staff"]}})
	filed := {
		"principals": {"agent-1"},
		"roles": {"agent"},
		"groups": {"staff"},
		"tools": {"notes.get"},
		"providers": {"notes"},
		"effects": {"read_only"},
		"any": {""},
	}
	every matcher, keys in filed {
		data.interlock.scope.keys(matcher) == keys with input as call
	}
	data.interlock.scope.keys("domains") == {"api.example.com", "example.com", "com"} with input as fetching([url({}), url({"domains": ["x"]})])
	data.interlock.scope.keys("commands") == {"kubectl", "kubectl delete", "ls"} with input as running(
		[sub(deleting, "delete"), data.interlock.rules_test.command(["ls"]), object.union(deleting, {"name": null})],
		{},
	)
	data.interlock.scope.keys("paths") == {"a", "a/b"} with input as touching({"segments": ["a", "b"]})
	data.interlock.scope.keys("tables") == {"old", "app.logs"} with input as asking([statement({})], {})
}
