// A page opened from disk may not read its neighbours, which excerpts of search results need.
"use strict";

if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
