package interlock.rules

# METADATA
# title: Writing outside the workspace
# description: |
#   Files are opened for writing inside the session's workspace only, and programs that write, move or remove files are
#   given no path outside of it. A place that is only known at run time counts as outside.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_write_outside",
	"message": sprintf("writes outside the workspace: %s", [shown(bash_written_outside)]),
	"rule": "bash/write_outside",
} if {
	bash_call
	count(bash_written_outside) > 0
}

bash_written_outside contains object.get(write, "given", "an unknown file") if {
	some write in bash_facts.writes
	not write.inside
}

bash_written_outside contains object.get(path, "given", "an unknown file") if {
	some path in bash_facts.paths
	not path.inside
	path.role == "argument"
	bash_listed(bash_facts.commands[path.command], data.interlock.settings.bash.writers)
}
