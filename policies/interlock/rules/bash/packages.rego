package interlock.rules.bash

# METADATA
# title: Package managers
# description: Installing and publishing packages runs what others wrote; the settings say whether a person decides.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": data.interlock.settings.bash.package_managers_verdict,
	"code": "bash_package_manager",
	"message": sprintf("installs or publishes packages: %s", [commands_shown(packaging)]),
	"rule": "bash/packages",
} if {
	count(packaging) > 0
}

packaging contains command if some command in listed(data.interlock.settings.bash.package_managers)
