# What the tests of the rules have in common: calls to start from, and questions to ask about them.
package interlock.rules_test

# A declared, confirmed, read-only tool is called in a fresh session.
reading := {
	"version": 1,
	"principal": {"id": "agent-1", "kind": "token", "roles": ["agent"], "groups": [], "claims": {}, "recent": called([0, 0, 0])},
	"session": {
		"id": "session-1",
		"intent": "",
		"labels": {},
		"age_s": 1,
		"counters": {"calls": 0, "destructive_calls": 0, "denials": {}, "calls_by_tool": {}},
		"previous": [],
		"taints": [],
		"pending": {"count": 0, "mode": "steer"},
	},
	"call": {
		"id": "call-1",
		"kind": "call",
		"phase": "call",
		"input": {"name": "x"},
		"input_bytes": 12,
		"digest": "d",
		"facts": {"class": "", "extracted": true},
		"confidence_field": "_flyto_confidence",
		"deliverable": null,
		"checkpoint": null,
		"labels": {},
		"intent": "",
		"workdir": "",
		"time": "2026-01-01T00:00:00.000+00:00",
		"time_unix_s": 1767225600,
	},
	"tool": {
		"name": "notes.get",
		"provider": "notes",
		"declared": true,
		"effect": "read_only",
		"safety_level": 0,
		"open_world": false,
		"external_effect": false,
		"audit_operation": "read",
		"metadata": {
			"concurrency_safe": false,
			"read_only": true,
			"destructive": false,
			"open_world": false,
			"permission_class": "",
			"audit_operation": "",
			"requires_checkpoint": false,
			"requires_reverse_thinking": false,
		},
		"capability": {
			"dry_run": false,
			"reversible": false,
			"undo_method": "",
			"undo_tool": "",
			"min_confidence": 0,
			"affected_resources": [],
		},
		"pin_state": "pinned",
	},
	"gateway": {"replica": "r", "mode": "standard", "revision": "0"},
}

# As many calls in the last minute, hour and day, of the tool, of all and of destructive ones alike.
called(counts) := {name: {"minute": counts[0], "hour": counts[1], "day": counts[2]} |
	some name in ["tool", "all", "destructive"]
}

changing := object.union(reading, {"tool": {
	"name": "notes.set",
	"effect": "mutating",
	"metadata": {"read_only": false},
}})

destroying := object.union(changing, {"tool": {
	"name": "notes.drop",
	"effect": "destructive",
	"metadata": {"destructive": true},
}})

previewing(call) := object.union(call, {"tool": {"safety_level": 2, "capability": {"dry_run": true}}})

undoable(call) := object.union(call, {"tool": {"safety_level": 1, "capability": {"reversible": true}}})

reaching_out(call) := object.union(call, {"tool": {"open_world": true, "external_effect": true}})

applying(call) := object.union(call, {"call": {"kind": "apply", "phase": "apply"}})

undeclared := object.union(json.remove(reading, ["tool/metadata", "tool/capability"]), {"tool": {
	"declared": false,
	"effect": "undeclared",
	"open_world": true,
	"external_effect": true,
	"metadata": {},
	"capability": {},
}})

# A call of a tool that runs scripts, with what was found out about the script.
running(bash) := object.union(destroying, {
	"tool": {"name": "bash", "metadata": {"permission_class": "bash"}},
	"call": {"facts": {"class": "bash", "bash": object.union(
		{
			"parse_error": false,
			"errors": [],
			"dynamic": false,
			"open": false,
			"dynamic_name": false,
			"hazards": [],
			"bash_only": false,
			"names": [],
			"commands": [],
			"pipelines": [],
			"writes": [],
			"paths": [],
			"searches": [],
			"assignments": [],
			"functions": [],
			"aliases": [],
			"directory": {"changed": false, "location": "inside", "normalised": "/w", "inside": true},
		},
		bash,
	)}},
})

# One command of a script, with nothing unusual about it.
command(argv) := {
	"name": argv[0],
	"argv": argv,
	"text": concat(" ", argv),
	"dynamic": false,
	"dynamic_name": false,
	"dynamic_args": false,
	"glob": false,
	"flags": [word | some word in argv; startswith(word, "-")],
	"operands": [word | some word in array.slice(argv, 1, count(argv)); not startswith(word, "-")],
	"subcommand": null,
	"wrappers": [],
	"implied": false,
	"feeds": false,
	"fed": false,
	"moved": false,
	"env": [],
	"redirections": [],
	"pipeline": null,
	"stage": null,
	"stdin": "inherited",
	"stdin_script": false,
	"interprets": null,
}

# A path of the first command of a script.
bash_path(given, inside) := {
	"command": 0,
	"role": "argument",
	"given": given,
	"dynamic": false,
	"glob": false,
	"tilde": false,
	"symlink": false,
	"pattern": null,
	"location": {true: "inside", false: "outside"}[inside],
	"normalised": given,
	"inside": inside,
}

# A path that is a pattern, for Python files unless the changes say otherwise.
pattern_path(given, changes) := object.union(bash_path(given, true), {
	"glob": true,
	"pattern": object.union(
		{
			"known": true,
			"matches": ["a.py"],
			"links": [],
			"name": `(?m)^(?:(?:[^.].*)?\x{2e}py)$`,
			"begins": `(?m)^(?:(?:[^.].*)?)$`,
			"ends": `(?m)^(?:(?:(?:(?:.*\x{2e})?p)?y)?)$`,
			"directory": `(?m)^(?:(?:[^.].*)?\x{2e}py)$`,
		},
		changes,
	),
})

# A pattern that can stand for a secret, of which nothing is known.
unseen_pattern := pattern_path("/w/i*", {
	"known": false,
	"matches": [],
	"name": `(?m)^(?:i.*)$`,
	"begins": `(?m)^(?:(?:i.*)?)$`,
	"ends": `(?m)^(?:.*)$`,
	"directory": `(?m)^(?:i.*)$`,
})

# A search through a directory that has been looked at, unless the changes say otherwise.
searching(changes) := running({"commands": [command(["grep", "-r", "x", "src"])], "searches": [object.union(
	{
		"command": 0,
		"given": "grep -r x src",
		"seen": true,
		"complete": true,
		"top": false,
		"hidden": true,
		"known": true,
		"names": ["a.json", ".github"],
		"endings": ["py"],
		"only": [],
	},
	changes,
)]})

# A call of a tool that takes a path, with what was found out about the path.
touching(call, argument) := object.union(call, {
	"tool": {"metadata": {"permission_class": "file"}},
	"call": {"facts": {"class": "file", "file": {
		"arguments": [object.union(
			{
				"argument": "/path",
				"given": "notes.txt",
				"implied": false,
				"normalised": "/w/notes.txt",
				"root": "/w",
				"inside": true,
				"relative": true,
				"symlink": false,
				"exists": true,
				"hidden": false,
				"tilde": false,
				"glob": false,
				"segments": ["notes.txt"],
				"name": "notes.txt",
				"given_name": "notes.txt",
				"extension": "txt",
				"resolved_on": "gateway",
				"error": null,
			},
			argument,
		)],
		"patterns": [],
		"inside": object.get(argument, "inside", true),
	}}},
})

# A call of a tool that fetches, with what was found out about its URL.
visiting(call, url) := object.union(call, {
	"tool": {"name": "web_fetch", "metadata": {"permission_class": "webfetch"}},
	"call": {"facts": {"class": "webfetch", "webfetch": {
		"urls": [object.union(
			{
				"argument": "/url",
				"given": "https://example.com/",
				"scheme": "https",
				"host": "example.com",
				"domains": ["example.com", "com"],
				"port": 443,
				"default_port": true,
				"userinfo": false,
				"path": "/",
				"query": false,
				"query_chars": 0,
				"fragment": false,
				"address": false,
				"reach": "public",
				"hazards": [],
				"error": null,
			},
			url,
		)],
		"hosts": ["example.com"],
		"method": "GET",
		"sends": false,
	}}},
})

# A call of a tool that runs SQL, with what was found out about its statement and about all of it.
querying(call, statement, found) := object.union(call, {
	"tool": {"name": "sql", "metadata": {"permission_class": "sql"}},
	"call": {"facts": {"class": "sql", "sql": object.union(
		{
			"parse_error": false,
			"errors": [],
			"read_only": true,
			"dynamic": false,
			"several": false,
			"dialect": null,
			"kinds": ["select"],
			"effects": ["read"],
			"functions": [],
			"calls": [],
			"statements": [object.union(
				{
					"argument": "/sql",
					"kind": "select",
					"object": "",
					"effect": "read",
					"text": "SELECT 1",
					"dialects": ["postgres"],
					"verbs": ["select"],
					"reads": [],
					"writes": [],
					"condition": null,
					"functions": [],
					"files": false,
					"programs": false,
					"problem": null,
				},
				statement,
			)],
		},
		found,
	)}},
})

# A statement that changes something.
stating(call, statement) := querying(call, statement, {"read_only": false, "effects": [statement.effect]})

without(call, path) := json.remove(call, [path])

# The verdicts of one rule.
verdicts(rule) := {finding.verdict | some finding in data.interlock.rules.findings; finding.rule == rule}

messages(rule) := {finding.message | some finding in data.interlock.rules.findings; finding.rule == rule}

obligations(rule) := {finding.obligations | some finding in data.interlock.rules.findings; finding.rule == rule}

silent(rule) if verdicts(rule) == set()

test_without_takes_the_field_away if {
	not without(reading, "tool/name").tool.name
	not without(reading, "tool").tool
	reading.tool.name
}
