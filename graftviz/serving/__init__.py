"""Parts of the server that are independent of Streamlit: limits, scheduler, guard and logs."""
