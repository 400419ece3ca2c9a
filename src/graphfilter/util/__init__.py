"""Files on disk: written atomically, read without ever running code. Knows no graph and no model.

What belongs here is whatever reads or writes bytes and could serve another project as it is:

- :mod:`.atomic`: the one writer, which every other file of the package goes through;
- :mod:`.places`: whether a file or folder may be written to;
- :mod:`.locks`: locks that end with their process; :mod:`.scratch`: folders that do;
- :mod:`.convert`: dataclasses from JSON and back, types checked;
- :mod:`.json_files`, :mod:`.lines`, :mod:`.tensors`: the formats.
"""
