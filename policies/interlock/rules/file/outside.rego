package interlock.rules

# METADATA
# title: Outside the workspace
# description: Every path lies inside the session's workspace, with symbolic links followed.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "outside_workspace",
	"message": sprintf("outside the workspace: %s", [shown(file_outside)]),
	"rule": "file/outside",
} if {
	file_facts
	not file_inside
}

file_inside if {
	file_facts.inside == true
	count(file_outside) == 0
}

file_outside contains sprintf("%s%s", [object.get(argument, "given", "a path"), file_linked(argument)]) if {
	some argument in file_facts.arguments
	not argument.inside
}

file_linked(argument) := " (through a symbolic link)" if argument.symlink

else := ""
