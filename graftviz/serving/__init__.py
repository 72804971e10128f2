"""Parts of the server that are independent of Streamlit: limits, scheduler, jobs, guard and logs."""
