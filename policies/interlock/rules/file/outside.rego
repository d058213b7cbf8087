package interlock.rules.file

# METADATA
# title: Outside the workspace
# description: Every path lies inside the session's workspace, with symbolic links followed.
# custom:
#   requirements: [POL-3, POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "outside_workspace",
	"message": sprintf("outside the workspace: %s", [data.interlock.rules.shown(outside)]),
	"rule": "file/outside",
} if {
	paths
	not inside
}

inside if {
	paths.inside == true
	count([argument | some argument in paths.arguments; not argument.inside == true]) == 0
}

outside contains sprintf("%s%s", [object.get(argument, "given", "a path"), linked(argument)]) if {
	some argument in paths.arguments
	not argument.inside == true
}

linked(argument) := " (through a symbolic link)" if argument.symlink

else := ""
