package interlock.rules.bash

# METADATA
# title: Writing outside the workspace
# description: |
#   Files are opened for writing inside the session's workspace only, and programs that write, move or remove files are
#   given no path outside of it. A place that is only known at run time counts as outside.
# custom:
#   requirements: [POL-3, POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "bash_write_outside",
	"message": sprintf("writes outside the workspace: %s", [data.interlock.rules.shown(written_outside)]),
	"rule": "bash/write_outside",
} if {
	count(written_outside) > 0
}

written_outside contains object.get(write, "given", "an unknown file") if {
	some write in script.writes
	not write.inside == true
}

written_outside contains object.get(path, "given", "an unknown file") if {
	some path in script.paths
	not path.inside == true
	path.role == "argument"
	script.commands[path.command] in writers
}

writers := listed(data.interlock.settings.bash.writers)
