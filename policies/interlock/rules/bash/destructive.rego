package interlock.rules.bash

# METADATA
# title: Destructive commands
# description: What these commands destroy cannot be brought back. The settings list them.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "bash_destructive",
	"message": sprintf("destructive command: %s", [commands_shown(destroying)]),
	"rule": "bash/destructive",
} if {
	count(destroying) > 0
}

destroying contains command if {
	some command in listed(data.interlock.settings.bash.destructive)
	not disposing(command)
}

# `find -delete` and the like: nobody wrote the command down, and it is given names that nobody knows.
destroying contains command if {
	some command in script.commands
	command.implied
	command.name in {"rm", "unlink"}
}
