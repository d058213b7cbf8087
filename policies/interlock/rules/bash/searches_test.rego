package interlock.rules_test

python_only := {
	"name": `(?m)^(?:(?:[^.].*)?\x{2e}py)$`,
	"begins": `(?m)^(?:(?:[^.].*)?)$`,
	"ends": `(?m)^(?:(?:(?:(?:.*\x{2e})?p)?y)?)$`,
	"directory": `(?m)^(?:.*\x{2e}py)$`,
}

whatever := {"name": `(?m)^(?:.*)$`, "begins": `(?m)^(?:.*)$`, "ends": `(?m)^(?:.*)$`, "directory": `(?m)^(?:.*)$`}

# What the gateway does not see, from the top of the workspace on.
all_unseen := {"seen": false, "complete": false, "top": true, "names": [], "endings": []}

test_bash_searches_asks_where_secrets_are_read if {
	cases := [
		{"names": [".env"]},
		{"names": ["a.json", "server.pem"]},
		{"names": [".ssh"]},
		{"complete": false},
		{"complete": false, "only": [python_only], "names": [".env.py"]},
		{"known": false, "complete": false, "only": [python_only]},
		{"complete": false, "only": [whatever]},
		{"complete": false, "only": [python_only, whatever]},
		all_unseen,
		object.union(all_unseen, {"top": false, "known": false}),
	]
	every changes in cases {
		verdicts("bash/searches") == {"checkpoint"} with input as searching(changes)
		silent("bash/read_only") with input as searching(changes)
		silent("bash/routine") with input as searching(changes)
	}
	some message in messages("bash/searches") with input as searching({"names": [".env"]})
	startswith(message, "searches files that may hold secrets: .env; leave them out")
}

test_bash_searches_is_silent_elsewhere if {
	cases := [
		{},
		{"complete": false, "only": [python_only]},
		object.union(all_unseen, {"top": false}),
		object.union(all_unseen, {"hidden": false}),
		object.union(all_unseen, {"only": [python_only]}),
	]
	every changes in cases {
		silent("bash/searches") with input as searching(changes)
		verdicts("bash/read_only") == {"allow"} with input as searching(changes)
	}
	given := {"commands": [object.union(command(["ls", "x"]), {"fed": true})]}
	silent("bash/searches") with input as object.union(searching({"names": [".env"]}), {"call": {"facts": {"bash": given}}})
	silent("bash/searches") with input as listing
	silent("bash/searches") with input as destroying
}

test_bash_searches_asks_when_the_settings_name_what_is_not_looked_at if {
	verdicts("bash/searches") == {"checkpoint"} with input as searching({})
		with data.interlock.settings.file.secret_names as {"token.py": true}
	verdicts("bash/searches") == {"checkpoint"} with input as searching({})
		with data.interlock.settings.file.secret_extensions as {"py": true}
	verdicts("bash/searches") == {"checkpoint"} with input as searching({})
		with data.interlock.settings.file.secret_prefixes as ["token"]
}

test_bash_searches_holds_without_the_fields_it_reads if {
	every field in {"complete", "names", "endings"} {
		path := concat("/", ["call/facts/bash/searches/0", field])
		verdicts("bash/searches") == {"checkpoint"} with input as without(searching({}), path)
	}
	every field in {"seen", "top", "known"} {
		path := concat("/", ["call/facts/bash/searches/0", field])
		verdicts("bash/searches") == {"checkpoint"} with input as without(searching(object.union(all_unseen, {"top": false})), path)
	}
	every field in {"seen", "hidden", "known"} {
		path := concat("/", ["call/facts/bash/searches/0", field])
		verdicts("bash/searches") == {"checkpoint"} with input as without(searching(object.union(all_unseen, {"hidden": false})), path)
	}
	every field in {"only", "names", "only/0/name", "only/0/begins", "only/0/ends", "only/0/directory", "known"} {
		path := concat("/", ["call/facts/bash/searches/0", field])
		verdicts("bash/searches") == {"checkpoint"} with input as without(searching({"complete": false, "only": [python_only]}), path)
	}
	verdicts("bash/searches") == {"checkpoint"} with input as without(searching({"names": [".env"]}), "call/facts/bash/searches/0/command")
}

test_bash_searches_is_followed_by_another_rule_when_its_facts_are_missing if {
	verdicts("bash/other") == {"checkpoint"} with input as without(searching({"names": [".env"]}), "call/facts/bash/searches")
}
