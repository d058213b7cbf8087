package interlock.rules.bash

# METADATA
# title: Code from a pipe
# description: An interpreter that takes its script from a pipe runs what nobody has seen.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "bash_pipe_to_shell",
	"message": sprintf("runs code that comes out of a pipe: %s", [commands_shown(piped)]),
	"rule": "bash/pipe_to_shell",
} if {
	count(piped) > 0
}

piped contains command if {
	some command in script.commands
	command.stdin_script
	command.stdin == "pipe"
}
