"""Parts of the server that are independent of Streamlit."""
