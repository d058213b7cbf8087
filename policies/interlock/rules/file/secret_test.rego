package interlock.rules_test

named(name) := {"given": name, "segments": [name], "name": name, "given_name": name}

test_file_secret_denies_reading_and_writing if {
	every name in {".env", ".ENV", ".env.local", "id_rsa", "server.pem", "a.b.KEY", ".netrc", "secrets.yaml"} {
		verdicts("file/secret") == {"deny"} with input as touching(reading, named(name))
		verdicts("file/secret") == {"deny"} with input as touching(changing, named(name))
	}
}

test_file_secret_denies_whatever_lies_in_a_secret_directory if {
	argument := {"given": ".ssh/config", "segments": [".ssh", "config"], "name": "config", "given_name": "config"}
	verdicts("file/secret") == {"deny"} with input as touching(reading, argument)
}

test_file_secret_denies_a_link_to_a_secret_and_a_link_called_like_one if {
	verdicts("file/secret") == {"deny"} with input as touching(reading, {"name": ".env", "segments": [".env"]})
	verdicts("file/secret") == {"deny"} with input as touching(reading, {"given_name": ".env"})
}

test_file_secret_is_silent_for_other_files if {
	every name in {"notes.txt", ".env.example", "process.env", "prod.tfvars", "config.json", "key", "pem", ".gitignore", "environment.ts"} {
		silent("file/secret") with input as touching(reading, named(name))
	}
	silent("file/secret") with input as reading
}

test_file_secret_denies_names_of_what_programs_keep if {
	every name in {"prod.env", ".envrc", ".env~", ".netrc.bak", "terraform.tfstate", "kubeconfig", ".my.cnf"} {
		verdicts("file/secret") == {"deny"} with input as touching(reading, named(name))
	}
}

test_file_secret_denies_names_that_are_common_elsewhere_where_they_lie if {
	every place in [[".docker", "config.json"], [".cargo", "credentials.toml"], [".git", "credentials"], ["gh", "hosts.yml"]] {
		name := place[1]
		path := {"segments": array.concat(["home"], place), "name": name, "given_name": name}
		verdicts("file/secret") == {"deny"} with input as touching(reading, path)
		elsewhere := {"segments": ["home", "src", name], "name": name, "given_name": name}
		silent("file/secret") with input as touching(reading, elsewhere)
		silent("file/secret") with input as touching(reading, {"segments": [name], "name": name, "given_name": name})
	}
}

test_file_secret_holds_without_the_other_fields_it_reads if {
	every field in {"given", "given_name", "segments", "extension"} {
		path := concat("/", ["call/facts/file/arguments/0", field])
		verdicts("file/secret") == {"deny"} with input as without(touching(reading, named(".env")), path)
	}
	in_ssh := touching(reading, {"segments": [".ssh", "x"], "name": "x", "given_name": "x"})
	verdicts("file/secret") == {"deny"} with input as without(in_ssh, "call/facts/file/arguments/0/given_name")
	verdicts("file/secret") == {"deny"} with input as without(touching(reading, named(".env")), "tool/metadata")
}

test_file_secret_is_followed_by_another_rule_when_its_facts_are_missing if {
	every path in {"call/facts/file", "call/facts/file/patterns", "call/facts/extracted", "call/facts"} {
		verdicts("file/unknown") == {"deny"} with input as without(touching(reading, named(".env")), path)
	}
}

choosing(given, changes) := object.union(touching(reading, {}), {"call": {"facts": {"file": {"patterns": [object.union(
	{
		"argument": "/glob",
		"given": given,
		"broad": true,
		"name": `(?m)^(?:.*\x{2e}json)$`,
		"begins": `(?m)^(?:.*)$`,
		"ends": `(?m)^(?:(?:(?:(?:(?:(?:.*\x{2e})?j)?s)?o)?n)?)$`,
		"directory": `(?m)^(?:.*\x{2e}json)$`,
	},
	changes,
)]}}}})

beginning_like_one := choosing("cred*", {
	"broad": false,
	"name": `(?m)^(?:cred.*)$`,
	"begins": `(?m)^(?:(?:c(?:r(?:e(?:d.*)?)?)?)?)$`,
	"ends": `(?m)^(?:.*)$`,
	"directory": `(?m)^(?:cred.*)$`,
})

beginning_like_none := choosing("test*.py", {
	"broad": false,
	"name": `(?m)^(?:test.*\x{2e}py)$`,
	"begins": `(?m)^(?:(?:t(?:e(?:s(?:t.*)?)?)?)?)$`,
	"ends": `(?m)^(?:(?:(?:(?:.*\x{2e})?p)?y)?)$`,
	"directory": `(?m)^(?:test.*\x{2e}py)$`,
})

test_file_secret_denies_looking_for_secrets_by_name if {
	every given in {".env", "**/.env", "*.pem", ".ssh/**", "keys/ID_RSA"} {
		verdicts("file/secret") == {"deny"} with input as choosing(given, {})
	}
	verdicts("file/secret") == {"deny"} with input as beginning_like_one
	messages("file/secret") == {"may hold secrets: cred*"} with input as beginning_like_one
}

test_file_secret_is_silent_for_other_patterns if {
	every given in {"*.json", "**/*", "*.py"} {
		silent("file/secret") with input as choosing(given, {})
	}
	silent("file/secret") with input as beginning_like_none
}

test_file_secret_holds_without_the_fields_of_a_pattern if {
	every field in {"broad", "name", "begins", "ends", "directory", "given", "argument"} {
		path := concat("/", ["call/facts/file/patterns/0", field])
		verdicts("file/secret") == {"deny"} with input as without(beginning_like_one, path)
	}
	every field in {"name", "begins", "ends", "directory"} {
		path := concat("/", ["call/facts/file/patterns/0", field])
		verdicts("file/secret") == {"deny"} with input as without(beginning_like_none, path)
	}
}

test_file_secret_looks_at_the_links_that_a_file_is_called_by if {
	linked := {"given": "home/.SSH/config", "segments": ["keys", "config"], "name": "config", "given_name": "config"}
	call := touching(reading, object.union(linked, {"symlink": true}))
	verdicts("file/secret") == {"deny"} with input as call
	verdicts("file/secret") == {"deny"} with input as without(call, "call/facts/file/arguments/0/symlink")
	silent("file/secret") with input as touching(reading, linked)
}
