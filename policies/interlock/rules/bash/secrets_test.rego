package interlock.rules_test

showing(path) := running({"commands": [command(["cat", path])], "paths": [bash_path(path, true)]})

test_bash_secrets_denies if {
	paths := {"/w/.env", "/w/.ENV", "/w/.env.production", "/home/a/.ssh/config", "/w/id_rsa", "/w/tls/server.KEY", "/w/.npmrc"}
	every path in paths {
		verdicts("bash/secrets") == {"deny"} with input as showing(path)
	}
}

test_bash_secrets_is_silent_for_other_files if {
	every path in {"/w/notes.txt", "/w/.env.example", "/w/environment", "/w/key", "/w/.gitignore"} {
		silent("bash/secrets") with input as showing(path)
	}
	silent("bash/secrets") with input as destroying
}

test_bash_secrets_holds_without_the_other_fields_it_reads if {
	every path in {"tool", "call/facts/bash/paths/0/given", "call/facts/bash/paths/0/inside"} {
		verdicts("bash/secrets") == {"deny"} with input as without(showing("/w/.env"), path)
	}
}

test_bash_secrets_is_followed_by_another_rule_when_its_facts_are_missing if {
	every path in {"call/facts/bash/paths/0/normalised", "call/facts/bash/paths"} {
		verdicts("bash/other") == {"checkpoint"} with input as without(showing(".env"), path)
	}
}

test_bash_secrets_takes_paths_that_are_not_known if {
	unknown := object.union(showing("/w/x"), {"call": {"facts": {"bash": {"paths": [object.union(
		bash_path("$x", false),
		{"normalised": null},
	)]}}}})
	silent("bash/secrets") with input as unknown
}
