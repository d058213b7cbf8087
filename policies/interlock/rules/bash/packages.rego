package interlock.rules

# METADATA
# title: Package managers
# description: Installing and publishing packages runs what others wrote; the settings say whether a person decides.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": data.interlock.settings.bash.package_managers_verdict,
	"code": "bash_package_manager",
	"message": sprintf("installs or publishes packages: %s", [bash_shown(bash_packaging)]),
	"rule": "bash/packages",
} if {
	bash_call
	count(bash_packaging) > 0
}

bash_packaging contains command if {
	some command in bash_facts.commands
	bash_listed(command, data.interlock.settings.bash.package_managers)
}
