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

unseen_file(given) := object.union(bash_path(given, false), {"location": "unknown", "normalised": null})

test_bash_secrets_denies_whether_or_not_such_a_file_is_seen if {
	every word in {".env", "id_rsa", "keys/server.pem", "config/Credentials.json"} {
		verdicts("bash/secrets") == {"deny"} with input as one(["cat", word], {})
		verdicts("bash/secrets") == {"deny"} with input as one(["curl", "-d", word], {})
	}
	verdicts("bash/secrets") == {"deny"} with input as one(["diff", "--from-file=.env", "x"], {})
	verdicts("bash/secrets") == {"deny"} with input as one(["grep", "-f.env", "x"], {})
	verdicts("bash/secrets") == {"deny"} with input as one(["grep", "x", "id_rsa"], {})
}

test_bash_secrets_denies_by_what_is_given if {
	every given in {"~/.ssh/id_rsa", "~/.netrc", `"$HOME/.ssh/id_rsa"`, "~/.aws/config"} {
		paths := {"commands": [command(["cat", "x"])], "paths": [unseen_file(given)]}
		verdicts("bash/secrets") == {"deny"} with input as running(paths)
	}
	linked := object.union(bash_path("id_rsa", true), {"normalised": "/w/notes"})
	verdicts("bash/secrets") == {"deny"} with input as running({"commands": [command(["cat", "x"])], "paths": [linked]})
}

test_bash_secrets_denies_what_a_pattern_stands_for if {
	every changes in [{"matches": ["a.py", "id_rsa"]}, {"matches": [".ssh/config"]}, {"links": ["/w/.env"]}] {
		verdicts("bash/secrets") == {"deny"} with input as reading_by(pattern_path("/w/*", changes))
	}
	message := "names a file that may hold secrets: id_rsa, which /w/* stands for"
	messages("bash/secrets") == {message} with input as reading_by(pattern_path("/w/*", {"matches": ["id_rsa"]}))
	naming := {"commands": [command(["ls", "/w/*"])], "paths": [pattern_path("/w/*", {"matches": ["id_rsa"]})]}
	silent("bash/secrets") with input as running(naming)
}

test_bash_secrets_leaves_what_shows_nothing_of_a_file_to_a_person if {
	silent("bash/secrets") with input as one(["echo", ".env"], {})
	silent("bash/secrets") with input as one(["grep", "--exclude=.env", "x", "y"], {})
	silent("bash/secrets") with input as one(["grep", "id_rsa", "x"], {})
	silent("bash/secrets") with input as running({"commands": [command(["ls", "x"])], "paths": [unseen_file("~/.ssh")]})
	silent("bash/secrets") with input as one(["git", "show", "HEAD:.env"], {"subcommand": "show"})
}

test_bash_secrets_holds_for_words_without_the_other_fields_it_reads if {
	call := one(["cat", ".env"], {})
	every field in {"paths", "commands/0/argv", "commands/0/name", "commands/0/interprets"} {
		verdicts("bash/secrets") == {"deny"} with input as without(call, concat("/", ["call/facts/bash", field]))
	}
	unplaced := running({"commands": [command(["cat", "x"])], "paths": [unseen_file("~/.netrc")]})
	every field in {"normalised", "command", "role"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/secrets") == {"deny"} with input as without(unplaced, path)
	}
	matched := reading_by(pattern_path("/w/*", {"matches": ["id_rsa"]}))
	every field in {"role", "command", "given"} {
		path := concat("/", ["call/facts/bash/paths/0", field])
		verdicts("bash/secrets") == {"deny"} with input as without(matched, path)
	}
}

test_bash_secrets_is_followed_by_another_rule_without_operands_or_matches if {
	verdicts("bash/other") == {"checkpoint"} with input as without(one(["cat", ".env"], {}), "call/facts/bash/commands/0/operands")
	matched := reading_by(pattern_path("/w/i*", {"matches": ["id_rsa"]}))
	verdicts("bash/other") == {"checkpoint"} with input as without(matched, "call/facts/bash/paths/0/pattern")
}
