"""Parts of the server without Streamlit: limits, scheduler, jobs, guard and logs."""
