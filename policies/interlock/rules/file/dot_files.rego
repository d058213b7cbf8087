package interlock.rules.file

# METADATA
# title: Dot-files
# description: A person decides about writing to hidden files, when the settings ask for it.
# custom:
#   requirements: [POL-4]
write_findings contains {
	"verdict": "checkpoint",
	"code": "dot_file",
	"message": "writes to a hidden file or directory",
	"rule": "file/dot_files",
} if {
	data.interlock.settings.file.ask_for_dot_files == true
	not all_visible
}

all_visible if {
	every argument in paths.arguments {
		argument.hidden == false
	}
}
