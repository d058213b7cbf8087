package interlock.rules

# The call takes paths: its tool says so, or its facts do.
file_call if input.tool.metadata.permission_class == "file"

file_call if input.call.facts.class == "file"

# Where every path leads.
file_facts := input.call.facts.file if {
	input.call.facts.class == "file"
	input.call.facts.extracted == true
}

# A path's last part, as it leads and as it was given, in lower case.
file_names(argument) := {lower(argument[key]) | some key in {"name", "given_name"}}

# A file that may hold secrets, by its name and the directories it lies in, all in lower case.
file_secret(_, segments) if {
	some segment in segments
	data.interlock.settings.file.secret_directories[segment]
}

file_secret(name, _) if data.interlock.settings.file.secret_names[name]

file_secret(name, _) if {
	some prefix in data.interlock.settings.file.secret_prefixes
	startswith(name, prefix)
	not data.interlock.settings.file.public_names[name]
}

file_secret(name, _) if {
	parts := split(name, ".")
	count(parts) > 1
	data.interlock.settings.file.secret_extensions[parts[count(parts) - 1]]
}
