"""Can these numbers be trusted, before anybody compares them?"""
