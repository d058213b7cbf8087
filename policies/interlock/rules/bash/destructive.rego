package interlock.rules

# METADATA
# title: Destructive commands
# description: What these commands destroy cannot be brought back. The settings list them.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_destructive",
	"message": sprintf("destructive command: %s", [bash_shown(bash_destroying)]),
	"rule": "bash/destructive",
} if {
	bash_call
	count(bash_destroying) > 0
}

bash_destroying contains command if {
	some command in bash_facts.commands
	bash_listed(command, data.interlock.settings.bash.destructive)
}

# `find -delete` and the like: nobody wrote the command down, and it is given names that nobody knows.
bash_destroying contains command if {
	some command in bash_facts.commands
	command.implied
	command.name in {"rm", "unlink"}
}
