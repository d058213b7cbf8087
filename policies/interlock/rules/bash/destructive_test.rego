package interlock.rules_test

one(argv, facts) := running({"commands": [object.union(command(argv), facts)]})

test_bash_destructive_denies_the_listed_commands if {
	cases := [
		one(["rm", "-r", "src"], {}),
		one(["rm", "-rf", "src"], {"flags": ["-r", "-f", "-rf"]}),
		one(["rm", "--recursive", "src"], {}),
		one(["mkfs.ext4", "/dev/sda"], {}),
		one(["dd", "if=/dev/zero", "of=/dev/sda"], {}),
		one(["shred", "notes"], {}),
		one(["git", "reset", "--hard"], {"subcommand": "reset"}),
		one(["git", "clean", "-n"], {"subcommand": "clean"}),
		one(["git", "push", "--force"], {"subcommand": "push"}),
		one(["git", "push", "origin", "+main"], {"subcommand": "push"}),
		one(["git", "push", "origin", ":main"], {"subcommand": "push"}),
		one(["git", "checkout", "."], {"subcommand": "checkout"}),
		one(["chmod", "-R", "777", "."], {}),
		one(["kill", "1"], {}),
		one(["truncate", "-s", "0", "x"], {}),
	]
	every call in cases {
		verdicts("bash/destructive") == {"deny"} with input as call
	}
}

test_bash_destructive_sees_through_shortened_options if {
	verdicts("bash/destructive") == {"deny"} with input as one(["rm", "--recur", "src"], {})
}

test_bash_destructive_denies_what_find_deletes if {
	verdicts("bash/destructive") == {"deny"} with input as one(["rm"], {"implied": true, "argv": ["rm", null]})
}

test_bash_destructive_looks_at_every_command if {
	call := running({"commands": [command(["ls"]), command(["shred", "x"])]})
	messages("bash/destructive") == {"destructive command: shred x"} with input as call
}

test_bash_destructive_is_silent_for_other_commands if {
	cases := [
		one(["rm", "notes.txt"], {}),
		one(["dd", "if=notes"], {}),
		one(["git", "reset", "HEAD", "x"], {"subcommand": "reset"}),
		one(["git", "push", "origin", "main"], {"subcommand": "push"}),
		one(["git", "log", "--hard"], {"subcommand": "log"}),
		one(["git", "checkout", ".github/workflows"], {"subcommand": "checkout"}),
		one(["chmod", "644", "x"], {}),
		listing,
		destroying,
	]
	every call in cases {
		silent("bash/destructive") with input as call
	}
}

test_bash_destructive_holds_without_the_other_fields_it_reads if {
	removing := one(["rm", "-r", "src"], {})
	every field in {"subcommand", "text", "implied", "operands", "argv"} {
		path := concat("/", ["call/facts/bash/commands/0", field])
		verdicts("bash/destructive") == {"deny"} with input as without(removing, path)
	}
	verdicts("bash/destructive") == {"deny"} with input as without(removing, "tool")
}

test_bash_destructive_is_followed_by_another_refusal_when_its_facts_are_missing if {
	removing := one(["rm", "-r", "src"], {})
	every path in {"call/facts/bash/commands/0/flags", "call/facts/bash/commands/0/name", "call/facts/bash/commands"} {
		verdicts("bash/unreadable") == {"deny"} with input as without(removing, path)
	}
	verdicts("bash/unreadable") == {"deny"} with input as without(removing, "call/facts/bash")
}
