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
	some index, segment in argument.segments
	steering(lower(segment))
	not leads_to_checkout(argument.segments, index)
}

# Tools keep whole checkouts there, whose files are like any others.
leads_to_checkout(segments, index) if {
	data.interlock.settings.file.checkouts[lower(concat("/", array.slice(segments, index, index + 2)))]
	count(segments) > index + 3
}

# Whoever reads a link reads what is written through it.
steered contains argument.given if {
	some argument in paths.arguments
	not argument.symlink == false
	some name in split(lower(argument.given), "/")
	steering(name)
}
