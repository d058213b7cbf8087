package interlock.rules.webfetch

# METADATA
# title: URLs that carry something away
# description: |
#   A long query tells a host that is not listed more than which page is wanted. The settings say how long it may be, and
#   what is done with a longer one.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.webfetch.long_query,
	"code": "long_query",
	"message": sprintf("a long query to a domain that is not listed: %s", [data.interlock.rules.shown(carried)]),
	"rule": "webfetch/carries",
} if {
	asked_for(data.interlock.settings.webfetch.long_query)
	count(carried) > 0
}

carried contains host_of(url) if {
	some url in fetch.urls
	not known(url)
	not short(url)
}

short(url) if {
	url.query_chars <= data.interlock.settings.webfetch.longest_query
	short_path(url)
}

# A path tells whoever answers as much as a query does.
short_path(url) if {
	is_string(url.path)
	count(url.path) <= data.interlock.settings.webfetch.longest_query
}
