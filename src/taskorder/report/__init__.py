"""One self-contained HTML page about a matrix, a plan, a pilot, a store of runs or an order audit.

    source (kinds told apart by content) -> numbers (plain arrays and records) -> sections with charts -> HTML

`plan_numbers`, `run_numbers` and `audit_numbers` compute; `plan_page`, `run_page` and `audit_page` say it in words and
figures, and `pilot_sections` what a pilot adds to a plan; `figures` draws SVG at a given width; `document` writes the
page. Nothing here needs a package beyond numpy and SciPy, and the page loads nothing.
"""
