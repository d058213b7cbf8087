package interlock.rules.bash

# METADATA
# title: Routine work
# description: |
#   Building, testing, checking, local version control and looking at clusters, as the settings list it, inside the
#   workspace. What the project's own code does when it is run is not seen: the settings say whether a person decides.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": data.interlock.settings.bash.routine_verdict,
	"code": "bash_routine",
	"message": "builds, tests or works in the repository",
	"rule": "bash/routine",
} if {
	not reads_only
	routine
}
