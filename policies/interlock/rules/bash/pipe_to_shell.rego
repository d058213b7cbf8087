package interlock.rules

# METADATA
# title: Code from a pipe
# description: An interpreter that takes its script from a pipe runs what nobody has seen.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_pipe_to_shell",
	"message": sprintf("runs code that comes out of a pipe: %s", [bash_shown(bash_piped)]),
	"rule": "bash/pipe_to_shell",
} if {
	bash_call
	count(bash_piped) > 0
}

bash_piped contains command if {
	some command in bash_facts.commands
	command.stdin_script
	command.stdin == "pipe"
}
