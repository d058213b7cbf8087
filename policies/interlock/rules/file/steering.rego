package interlock.rules.file

# METADATA
# title: Files that others act on
# description: |
#   What build servers, editors and agents are told by files is run elsewhere, with other rights. A person decides about
#   writing them. The settings say which files these are.
# custom:
#   requirements: [POL-4]
write_findings contains {
	"verdict": "checkpoint",
	"code": "steering_path",
	"message": sprintf("build servers, editors or agents act on it: %s", [data.interlock.rules.shown(steered)]),
	"rule": "file/steering",
} if {
	count(steered) > 0
}

steered contains object.get(argument, "given", "a file") if {
	some argument in paths.arguments
	some segment in argument.segments
	steering(lower(segment))
}

# Whoever reads a link reads what is written through it.
steered contains argument.given if {
	some argument in paths.arguments
	not argument.symlink == false
	some name in split(lower(argument.given), "/")
	steering(name)
}
