package interlock.rules_test

test_bash_routine_allows_what_is_listed if {
	cases := [
		one(["pytest", "-q"], {}),
		one(["make", "test"], {}),
		one(["mypy", "--strict", "src"], {}),
		one(["git", "commit", "-m", "Mend it"], {"subcommand": "commit"}),
		one(["git", "switch", "-c", "new"], {"subcommand": "switch"}),
		one(["git", "checkout", "-b", "new"], {"subcommand": "checkout"}),
		one(["git", "checkout", "feature/x"], {"subcommand": "checkout"}),
		one(["git", "restore", "--staged", "x"], {"subcommand": "restore"}),
		one(["git", "fetch", "origin"], {"subcommand": "fetch"}),
		one(["npm", "run", "build"], {"subcommand": "run"}),
		one(["gh", "pr", "view", "1"], {"subcommand": "pr"}),
		one(["kubectl", "get", "pods"], {"subcommand": "get"}),
		one(["kubectl", "-n", "shop", "get", "pods"], {"subcommand": "get"}),
		one(["./gradlew", "test"], {"name": "gradlew"}),
		one(["mv", "a.txt", "b.txt"], {}),
		one(["node", "--version"], {}),
		one(["java", "-version"], {}),
		routine_in("pytest", {"assignments": [{"name": "CI", "value": "1"}]}),
		running({"commands": [command(["npx", "tsc"]), command(["tsc"])]}),
		running({"commands": [command(["pytest"]), command(["tail", "-5"])]}),
		running_file("python", "scripts/report.py"),
		one(["./scripts/test.sh", "-v", "unit"], {"name": "test.sh"}),
		one([".venv/bin/pytest", "-q"], {"name": "pytest"}),
		one(["./.venv/bin/python", "x.py"], {
			"name": "python",
			"interprets": {"language": "python", "source": "file", "script": "x.py"},
		}),
		running({"commands": [object.union(command([".venv/bin/pytest"]), {"name": "pytest"})], "paths": [installed]}),
		one(["python", "-u", "x.py", "--in", "x.csv"], {"interprets": {"language": "python", "source": "file", "script": "x.py"}}),
		routine_in("pytest", {"assignments": [{"name": "PYTHONPATH", "value": "src"}]}),
		script_of("sed", ["sed", "-n", "1,20p", "x.py"]),
		script_of("awk", ["awk", "{print $1}", "x.csv"]),
		one(["rm", "-r", "dist", "./node_modules/.cache"], {}),
		routine_in("pytest", {"paths": [object.union(bash_path("/dev/null", true), {"location": "stream", "role": "redirection"})]}),
	]
	every call in cases {
		verdicts("bash/routine") == {"allow"} with input as call
		silent("bash/other") with input as call
		silent("bash/destructive") with input as call
	}
}

test_bash_routine_is_silent_for_what_only_reads if {
	silent("bash/routine") with input as one(["ls"], {})
}

test_bash_routine_is_silent_for_what_does_more if {
	cases := [
		one(["git", "push"], {"subcommand": "push"}),
		one(["git", "-c", "core.editor=sh", "commit"], {"subcommand": "commit"}),
		one(["git", "commit", "--no-verify"], {"subcommand": "commit"}),
		one(["git", "checkout", "src"], {"subcommand": "checkout"}),
		one(["git", "restore", "x"], {"subcommand": "restore"}),
		one(["git", "fetch", "https://example.com/x"], {"subcommand": "fetch"}),
		one(["git", "fetch", "ext::sh"], {"subcommand": "fetch"}),
		one(["git", "fetch", "git@example.com:x"], {"subcommand": "fetch"}),
		one(["git", "fetch", "--upload-pack", "sh"], {"subcommand": "fetch"}),
		one(["gh", "pr", "merge", "1"], {"subcommand": "pr"}),
		one(["gh", "pr"], {"subcommand": "pr"}),
		one(["gh", "-R", "view", "pr", "merge"], {"subcommand": "pr"}),
		one(["kubectl", "get", "secrets"], {"subcommand": "get"}),
		one(["make", "CC=sh"], {}),
		one(["make", "deploy"], {}),
		one(["npm", "run", "db:reset"], {"subcommand": "run"}),
		one(["cargo", "run", "--", "--prod"], {"subcommand": "run"}),
		running_file("python", "scripts/deploy.py"),
		one(["kubectl", "get", "Secrets"], {"subcommand": "get"}),
		one(["alembic", "upgrade"], {}),
		one(["mypy", "--install-types", "--non-interactive", "."], {}),
		one(["mypy", "--inst", "."], {}),
		running({"commands": [command(["npx", "cowsay"]), command(["cowsay"])]}),
		one(["mv", "x", ".git/hooks/post-merge"], {}),
		one(["cp", "x", "CLAUDE.md"], {}),
		one(["cp", "x", ".bashrc"], {}),
		one(["mv", "src", "dist"], {}),
		one(["git", "mv", "x", ".github/workflows/x.yml"], {"subcommand": "mv"}),
		one(["cp", "id_rsa", "x"], {}),
		one(["/tmp/pytest"], {"name": "pytest"}),
		one(["./scripts/deploy.sh"], {"name": "deploy.sh"}),
		one(["./scripts/test.sh", "--prod"], {"name": "test.sh"}),
		one(["./scripts/test.sh", "https://example.com"], {"name": "test.sh"}),
		one(["./scripts/test"], {"name": "test"}),
		one(["test.sh"], {}),
		one([".venv/bin/ls"], {"name": "ls"}),
		one([".venv/bin/../pytest"], {"name": "pytest"}),
		one(["../.venv/bin/pytest"], {"name": "pytest"}),
		one(["node_modules/.bin/netlify", "deploy"], {"name": "netlify"}),
		running({"commands": [object.union(command(["./x.sh"]), {"name": "x.sh"})], "paths": [object.union(installed, {"given": "./x.sh"})]}),
		running({"commands": [command(["pytest"])], "paths": [object.union(installed, {"role": "argument"})]}),
		running({"commands": [command(["pytest"])], "paths": [object.union(installed, {"glob": true})]}),
		one(["./pytest"], {"name": "pytest"}),
		script_of("sed", ["sed", "1e id", "x"]),
		script_of("sed", ["sed", "-i", "s/a/b/", ".vscode/tasks.json"]),
		script_of("awk", ["awk", "BEGIN {system(\"id\")}"]),
		script_of("awk", ["awk", "{print > \"x\"}"]),
		script_of("perl", ["perl", "1,20p"]),
		object.union(running_file("python", "x.py"), {"call": {"facts": {"bash": {"paths": [bash_path("/x.py", false)]}}}}),
		running_file("lua", "x.lua"),
		one(["node", "-r", "x", "y.js"], {"interprets": {"language": "node", "source": "file", "script": "y.js"}}),
		one(["python", "-c", "x"], {"interprets": {"language": "python", "source": "argument", "script": "x"}}),
	]
	every call in cases {
		silent("bash/routine") with input as call
	}
}

test_bash_routine_is_silent_for_what_is_not_literal if {
	unusual := [
		{"dynamic": true},
		{"assignments": [{"name": "LD_PRELOAD", "value": "x"}]},
		{"assignments": [{"name": "PYTHONPATH", "value": "/tmp/x"}]},
		{"assignments": [{"name": "PYTHONPATH", "value": "src:../x"}]},
		{"assignments": [{"name": "CI", "value": null}]},
		{"functions": ["pytest"]},
		{"aliases": ["pytest"]},
		{"paths": [bash_path("/etc/passwd", false)]},
		{"paths": [object.union(bash_path("/dev/null", true), {"location": "stream"})]},
		{"directory": {"changed": true, "location": "unknown", "normalised": null, "inside": false}},
		{"commands": []},
		{"writes": [{"command": 0, "operator": ">", "given": "x", "location": "inside", "normalised": "/w/x", "inside": true}]},
	]
	every facts in unusual {
		silent("bash/routine") with input as routine_in("pytest", facts)
	}
	silent("bash/routine") with input as one(["cp", "x"], {"operands": [null]})
}

test_bash_routine_removes_only_what_builds_make_again if {
	every operand in ["src", "/w/dist", "dist/../src", "dist/*", "../dist", "."] {
		silent("bash/routine") with input as one(["rm", "-r", operand], {})
		verdicts("bash/destructive") == {"deny"} with input as one(["rm", "-r", operand], {})
	}
	implied := one(["rm", "-r", "dist"], {"implied": true})
	silent("bash/routine") with input as implied
	verdicts("bash/destructive") == {"deny"} with input as implied
	verdicts("bash/destructive") == {"deny"} with input as one(["rm", "-r"], {})
	elsewhere := {"directory": {"changed": true, "location": "outside", "normalised": "/", "inside": false}}
	removing := running(object.union({"commands": [command(["rm", "-r", "dist"])]}, elsewhere))
	verdicts("bash/destructive") == {"deny"} with input as removing
}

test_bash_routine_does_as_the_settings_say if {
	asking := object.union(data.interlock.settings, {"bash": {"routine_verdict": "checkpoint"}})
	verdicts("bash/routine") == {"checkpoint"} with input as one(["pytest"], {}) with data.interlock.settings as asking
	removing := one(["rm", "-r", "dist"], {})
	verdicts("bash/destructive") == {"deny"} with input as removing with data.interlock.settings as asking
}

test_bash_routine_is_silent_without_the_fields_it_reads if {
	call := object.union(
		one(["git", "commit", "-m", "x"], {"subcommand": "commit"}),
		{"call": {"facts": {"bash": {"paths": [bash_path("/w/x", true)]}}}},
	)
	verdicts("bash/routine") == {"allow"} with input as call
	every field in {
		"parse_error", "dynamic", "assignments", "functions", "aliases", "commands", "paths", "searches", "writes", "directory",
		"commands/0/name", "commands/0/argv", "commands/0/flags", "commands/0/operands", "commands/0/interprets",
		"commands/0/subcommand", "paths/0/inside", "paths/0/location",
	} {
		silent("bash/routine") with input as without(call, concat("/", ["call/facts/bash", field]))
	}
	silent("bash/routine") with input as without(call, "call/facts/extracted")
}

# A program of an environment, which leads to where it was made from.
installed := object.union(bash_path(".venv/bin/pytest", false), {"role": "program"})

routine_in(name, facts) := running(object.union({"commands": [command([name])]}, facts))

test_bash_routine_marks_the_session_when_it_shows_what_strangers_wrote if {
	showing_others := object.union(one(["gh", "pr", "view"], {"subcommand": "pr"}), {"tool": {"open_world": true}})
	verdicts("bash/routine") == {"allow"} with input as showing_others
	obligations("taint/marks") == {{"taint": ["untrusted"]}} with input as showing_others
	silent("taint/marks") with input as object.union(one(["make"], {}), {"tool": {"open_world": true}})
}

running_file(language, file) := one([language, file], {"interprets": {
	"language": language,
	"source": "file",
	"script": file,
}})

script_of(language, argv) := one(argv, {"interprets": {
	"language": language,
	"source": "argument",
	"script": null,
	"code": [word | some word in array.slice(argv, 1, count(argv)); not startswith(word, "-")][0],
}})
