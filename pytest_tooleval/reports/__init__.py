"""Reports, all made from the result document that `document.py` builds."""
