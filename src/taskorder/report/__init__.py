"""One self-contained HTML page about a matrix, a plan or a store of runs.

    source (kinds told apart by content) -> numbers (plain arrays and records) -> sections with charts -> HTML

`plan_numbers` and `run_numbers` compute; `plan_page` and `run_page` say it in words and figures; `figures` draws SVG at
a given width; `document` writes the page. Nothing here needs a package beyond numpy, and the page loads nothing.
"""
