package interlock.rules_test

test_file_steering_asks_about_files_that_others_act_on if {
	cases := [
		touching(changing, {"segments": [".github", "workflows", "build.yml"]}),
		touching(changing, {"segments": ["web", ".VSCode", "tasks.json"]}),
		touching(changing, {"segments": ["CLAUDE.md"]}),
		touching(previewing(changing), {"segments": ["Jenkinsfile"]}),
	]
	every call in cases {
		verdicts("file/steering") == {"checkpoint"} with input as call
	}
}

test_file_steering_lets_them_be_read if {
	silent("file/steering") with input as touching(reading, {"segments": [".github", "workflows", "build.yml"]})
}

test_file_steering_is_silent_for_other_files if {
	silent("file/steering") with input as touching(changing, {"segments": ["src", "github.py"]})
}

test_file_steering_lets_checkouts_be_worked_on if {
	every segments in [[".claude", "worktrees", "fix", "src", "a.py"], ["ada", ".Cursor", "Worktrees", "app", "a.py"]] {
		silent("file/steering") with input as touching(changing, {"segments": segments})
	}
	telling := [
		[".claude", "worktrees", "settings.json"],
		[".claude", "worktrees", "fix", ".claude", "settings.json"],
		[".claude", "worktrees", "fix", "CLAUDE.md"],
		[".claude", "skills", "fix", "a.md"],
		[".github", "worktrees", "fix", "a.md"],
	]
	every segments in telling {
		verdicts("file/steering") == {"checkpoint"} with input as touching(changing, {"segments": segments})
	}
}

test_file_steering_looks_at_the_links_that_a_file_is_called_by if {
	every given in ["CLAUDE.md", ".github/workflows/build.yml", "/w/.Cursor/rules.md"] {
		linked := {"given": given, "segments": ["docs", "notes.md"], "symlink": true}
		verdicts("file/steering") == {"checkpoint"} with input as touching(changing, linked)
		untold := without(touching(changing, linked), "call/facts/file/arguments/0/symlink")
		verdicts("file/steering") == {"checkpoint"} with input as untold
	}
	plain := {"given": "notes/claude", "segments": ["docs", "notes.md"], "symlink": true}
	silent("file/steering") with input as touching(changing, plain)
}

test_file_steering_holds_when_it_is_not_known_what_the_tool_does if {
	call := touching(reading, {"segments": [".github", "workflows", "build.yml"]})
	every field in ["tool/effect", "tool/declared", "tool/pin_state"] {
		verdicts("file/steering") == {"checkpoint"} with input as without(call, field)
	}
}

test_file_steering_names_a_file_that_is_not_given if {
	call := without(touching(changing, {"segments": [".vscode"]}), "call/facts/file/arguments/0/given")
	verdicts("file/steering") == {"checkpoint"} with input as call
	every field in ["segments"] {
		silent("file/steering") with input as without(call, concat("/", ["call/facts/file/arguments/0", field]))
	}
}
