package interlock.rules.file

# Where every path leads.
paths := input.call.facts.file if {
	input.call.facts.class == "file"
	input.call.facts.extracted == true
}

# A path's last part, as it leads and as it was given, in lower case.
names(argument) := {lower(argument[key]) | some key in {"name", "given_name"}}

# A file that may hold secrets, by its name and the directories it lies in, all in lower case.
secret(_, segments) if {
	some segment in segments
	data.interlock.settings.file.secret_directories[segment]
}

secret(name, _) if data.interlock.settings.file.secret_names[name]

secret(name, _) if {
	some prefix in data.interlock.settings.file.secret_prefixes
	startswith(name, prefix)
	not data.interlock.settings.file.public_names[name]
}

secret(name, _) if {
	parts := split(name, ".")
	count(parts) > 1
	data.interlock.settings.file.secret_extensions[parts[count(parts) - 1]]
}

# What is never written, and what others act on: a name or a directory, in lower case.
guarded(name) if data.interlock.settings.file.protected_directories[name]

guarded(name) if data.interlock.settings.file.protected_names[name]

guarded(name) if steering(name)

# Build servers, editors and agents act on what these files say.
steering(name) if data.interlock.settings.file.steering_directories[name]

steering(name) if data.interlock.settings.file.steering_names[name]
