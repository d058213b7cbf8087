package interlock.rules

# METADATA
# title: Protected files
# description: |
#   What decides how other programs behave, such as a repository's own files and the shell's start-up files, is not
#   written. The settings say which files these are.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "protected_path",
	"message": sprintf("protected: %s", [shown(file_protected)]),
	"rule": "file/protected",
} if {
	file_call
	not read_only
	count(file_protected) > 0
}

file_protected contains object.get(argument, "given", "a file") if {
	some argument in file_facts.arguments
	some segment in argument.segments
	data.interlock.settings.file.protected_directories[lower(segment)]
}

file_protected contains object.get(argument, "given", "a file") if {
	some argument in file_facts.arguments
	some name in file_names(argument)
	data.interlock.settings.file.protected_names[name]
}
