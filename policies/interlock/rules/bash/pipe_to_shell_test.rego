package interlock.rules_test

piped := running({"commands": [
	command(["curl", "https://example.com"]),
	object.union(command(["sh"]), {"stdin": "pipe", "stdin_script": true}),
]})

test_bash_pipe_to_shell_denies if {
	verdicts("bash/pipe_to_shell") == {"deny"} with input as piped
	messages("bash/pipe_to_shell") == {"runs code that comes out of a pipe: sh"} with input as piped
}

test_bash_pipe_to_shell_is_silent_for_pipes_that_are_only_read if {
	silent("bash/pipe_to_shell") with input as one(["grep", "x"], {"stdin": "pipe"})
}

test_bash_pipe_to_shell_is_silent_for_scripts_that_were_read if {
	silent("bash/pipe_to_shell") with input as one(["sh"], {"stdin": "text", "stdin_script": true})
	silent("bash/pipe_to_shell") with input as destroying
}

test_bash_pipe_to_shell_holds_without_the_other_fields_it_reads if {
	every path in {"tool", "call/facts/bash/commands/1/text", "call/facts/bash/commands/1/name"} {
		verdicts("bash/pipe_to_shell") == {"deny"} with input as without(piped, path)
	}
}

test_bash_pipe_to_shell_is_followed_by_another_rule_when_its_facts_are_missing if {
	every field in {"stdin", "stdin_script"} {
		path := concat("/", ["call/facts/bash/commands/1", field])
		verdicts("bash/other") == {"checkpoint"} with input as without(piped, path)
	}
}
