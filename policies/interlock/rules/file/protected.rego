package interlock.rules.file

# METADATA
# title: Protected files
# description: |
#   What decides how other programs behave, such as a repository's own files and the shell's start-up files, is not
#   written. The settings say which files these are.
# custom:
#   requirements: [POL-3, POL-4]
write_findings contains {
	"verdict": "deny",
	"code": "protected_path",
	"message": sprintf("protected: %s", [data.interlock.rules.shown(protected)]),
	"rule": "file/protected",
} if {
	count(protected) > 0
}

protected contains object.get(argument, "given", "a file") if {
	some argument in paths.arguments
	some segment in argument.segments
	data.interlock.settings.file.protected_directories[lower(segment)]
}

protected contains argument.given if {
	some argument in paths.arguments
	not argument.symlink == false
	some name in split(lower(argument.given), "/")
	data.interlock.settings.file.protected_directories[name]
}

protected contains object.get(argument, "given", "a file") if {
	some argument in paths.arguments
	some name in names(argument)
	data.interlock.settings.file.protected_names[name]
}
