package interlock.rules

# Marks that are not known are taken for there.
tainted(mark) if not untainted(mark)

untainted(mark) if {
	taints := input.session.taints
	is_array(taints)
	not mark in taints
}

untrusted if tainted("untrusted")

sensitive if tainted("sensitive")

# Seen at once, and true of most calls: whatever a session has read, there is nothing to say about these.
stays_inside if {
	input.tool.open_world == false
	input.tool.external_effect == false
	input.tool.metadata.permission_class != "webfetch"
	tame
}

tame if read_only

tame if {
	input.tool.effect == "mutating"
	data.interlock.settings.taint.untrusted_changes == "allow"
}

tame if recoverable

# It reaches people or systems outside, as far as its tool says and as far as can be seen in it.
sends if {
	not contained
	not class_reads
}

sends if {
	input.tool.metadata.permission_class == "webfetch"
	not fetches_only
}

fetches_only if {
	fetch := input.call.facts.webfetch
	fetch.sends == false
	every url in fetch.urls {
		tells_little(url)
	}
}

tells_little(url) if {
	is_number(url.query_chars)
	url.query_chars <= data.interlock.settings.taint.most_query_chars
	data.interlock.rules.webfetch.short_path(url)
	count(url.path) <= data.interlock.settings.taint.most_path_chars
	is_string(url.host)
	count(url.host) <= data.interlock.settings.taint.most_host_chars
}

tells_little(url) if data.interlock.rules.webfetch.known(url)

# Nothing is dispatched yet: what can be previewed is asked about at apply, with the preview at hand.
taint_unconcerned if undoing

taint_unconcerned if external_effect_previewed
