"""What a person looks at: self-contained pages and pictures. Nothing here trains or prints.

- :mod:`.page`: the report of a fit, and the page of a prediction; :mod:`.classes`, :mod:`.filter`
  and :mod:`.vertices`: its sections; their templates are in ``templates/``;
- :mod:`.html`: what all pages share; :mod:`.pictures`: files beside them;
- :mod:`.tables`: tables as text, Markdown, CSV and LaTeX.
"""
