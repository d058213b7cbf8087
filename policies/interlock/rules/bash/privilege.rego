package interlock.rules.bash

# METADATA
# title: Somebody else's rights
# description: Commands that run others as another user are refused.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "bash_privilege",
	"message": sprintf("runs with other rights: %s", [commands_shown(privileged)]),
	"rule": "bash/privilege",
} if {
	count(privileged) > 0
}

privileged contains command if some command in listed(data.interlock.settings.bash.privilege)
