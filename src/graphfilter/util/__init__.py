"""What every room uses, and could serve another project as it is. Knows no graph and no model.

- :mod:`.errors`: errors of users, and checks of names and numbers; :mod:`.words`: counts and lists;
- :mod:`.files`: atomic writing, locks, folders for scratch, archives read within a budget;
- :mod:`.records`: typed JSON and tensors with checksums; :mod:`.machine`: threads, memory, devices;
- :mod:`.pictures`: colours and axes; :mod:`.plugins`: what other installed packages add.
"""
