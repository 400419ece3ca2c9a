"""What a person looks at: self-contained pages and pictures. Nothing here trains or prints.

``run_page`` is the report of one fit, ``benchmark_page`` that of a file of records; each section
of them has a file of its own (``conclusion``, ``sentences``, ``ranking``, ``classes``, ``curves``,
``learned_filters``) and its template in ``templates/``. ``figures`` makes whole figures of the
parts of ``plot``, ``html`` holds what the pages share.
"""
