"""Does a model score more on items it may have seen? Old against new items, breaks at a date, twins, orders."""
