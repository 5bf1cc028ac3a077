"""One self-contained HTML page about a matrix, a plan, a pilot, a store of runs or an order audit.

    source (its kind is known by its content) -> numbers (plain arrays and records) -> sections with charts -> HTML

`plan_numbers`, `run_numbers` and `audit_numbers` compute what the plan, the store or the audit does not hold already;
`plan_page`, `run_page` and `audit_page` present it, and `pilot_sections` what a pilot adds to a plan; `charts` says
what each chart shows; `document` writes the page. Nothing here needs a package beyond numpy and SciPy.

The modules in static/ draw every chart of the report and of the explorer, in the browser: one SVG stack for both, since
the explorer redraws while a task is dragged. A page carries them and its numbers, so that it loads nothing; where
scripts are off it shows its tables in place of charts. Figures of the paper are drawn by `plots` (matplotlib), which
makes PNG and SVG files for print; the colors of the rules are the same in both (`plots.style.ROLES`).
"""
