"""The paper's published numbers as data, and one file a table or figure that remeasures them."""
