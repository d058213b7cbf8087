package interlock.rules

# METADATA
# title: Somebody else's rights
# description: Commands that run others as another user are refused.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_privilege",
	"message": sprintf("runs with other rights: %s", [bash_shown(bash_privileged)]),
	"rule": "bash/privilege",
} if {
	bash_call
	count(bash_privileged) > 0
}

bash_privileged contains command if {
	some command in bash_facts.commands
	bash_listed(command, data.interlock.settings.bash.privilege)
}
