"""Where do models break: success by model and scenario type, partially pooled, and what of it is noise."""
