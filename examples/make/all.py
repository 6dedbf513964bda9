"""Makes every example model and its data."""

import digits
import simple
import wine

for module in (simple, wine, digits):
    module.main()
